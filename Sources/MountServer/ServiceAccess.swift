/// Who may connect at all. What a connected peer may do is for the MountService to decide.
public enum ServiceAccess: Sendable {
    /// The user who mounts, and root: the socket file has mode 0600.
    case owner(uid: UInt32)
    /// Every user of the machine: mode 0666.
    case everyone

    var mode: UInt32 {
        switch self {
        case .owner: 0o600
        case .everyone: 0o666
        }
    }

    func allows(_ user: UInt32) -> Bool {
        switch self {
        case .owner(let uid): user == uid || user == 0
        case .everyone: true
        }
    }
}
