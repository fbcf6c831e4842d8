import Glibc
import StorePrimitives

/// What is known of other users' rights to an item while it is decided whom somebody has to wait for.
///
/// A claim or a presenter counts only for what its user may write at that moment: what stood at a path when it was claimed, or
/// nothing, may be somebody else's by now. Rights are asked of the file that is there, with the user's own identity, and with no
/// lock held: a check under the lock notes which it needs in `wanted`, and is made again when they are known.
struct ItemRights {
    private(set) var known: [Credentials: Bool] = [:]
    private(set) var wanted: Set<Credentials> = []

    var isComplete: Bool { wanted.isEmpty }

    /// False, and noted, if it is not known yet.
    mutating func has(_ user: Credentials) -> Bool {
        if let answer = known[user] { return answer }
        wanted.insert(user)
        return false
    }

    mutating func learn(_ ask: (Credentials) -> Bool) {
        for user in wanted { known[user] = ask(user) }
        wanted = []
    }
}

extension AccessChecker {
    /// Whether a user's rights need no check: who asks is the same user, or nothing is kept from it.
    func isTrusted(_ user: Credentials, by asker: uid_t) -> Bool { user.uid == asker || isUnlimited(user) }

    /// Whether a user may use what is at a path in the way of `mode`, or, if nothing is there, make it.
    func mayUseOrMake(_ user: Credentials, _ path: StorePath, _ mode: Int32) -> Bool {
        may(user, path, mode) || !isThere(path) && may(user, path.parent, mode | X_OK)
    }

    /// Whether a user may keep others from writing an item: who may write it, or owns its folder and so could take it away.
    func mayExclude(_ user: Credentials, from path: StorePath) -> Bool {
        mayUseOrMake(user, path, W_OK) || owner(of: path.parent) == user.uid
    }

    private func isThere(_ path: StorePath) -> Bool { (try? store.held(path)) != nil }
}
