import Glibc

/// The extended attributes that every file of the mount answers, unlisted: how to find the mount's service.
struct MountAttributes: Sendable {
    private let socketPath: [UInt8]

    init(socketPath: String) { self.socketPath = Array(socketPath.utf8) }

    /// Nil for a name that is the store's affair.
    func value(of name: UnsafePointer<CChar>) -> [UInt8]? {
        strcmp(name, "user.quire.socket") == 0 ? socketPath : nil
    }
}
