import SystemCalls

/// Who a part of a check runs as.
struct Identity {
    let uid: UInt32
    let gid: UInt32
    var groups: [UInt32] = []

    /// Three ordinary users without anything in common, and the group they share in some checks. No account needs to exist.
    static let alice = Identity(uid: 61001, gid: 61001)
    static let bob = Identity(uid: 61002, gid: 61002)
    static let carol = Identity(uid: 61003, gid: 61003)
    static let sharedGroup: UInt32 = 61100

    func joining(_ groups: UInt32...) -> Identity { Identity(uid: uid, gid: gid, groups: groups) }
}

/// Runs `body` as someone else, in a child; its mismatches and errnos are thrown here. Works as root only.
func asUser(_ identity: Identity, line: Int = #line, _ body: @escaping () throws -> Void) throws {
    try Child(as: identity) { _ in try body() }.finish(line: line)
}

/// Makes a file or folder and gives it away.
func makeFile(_ path: String, _ content: String = "", mode: UInt32 = 0o644, owner: Identity) throws {
    try makeFile(path, content)
    try chown(path, Int(owner.uid), Int(owner.gid))
    try chmod(path, mode)
}
func makeFolder(_ path: String, mode: UInt32 = 0o755, owner: Identity) throws {
    try makeFolder(path)
    try chown(path, Int(owner.uid), Int(owner.gid))
    try chmod(path, mode)
}
