/// What one connection may ask of the service at most. What users may have of it together is in `BoundedResource`.
public struct ServiceLimits: Sendable {
    /// The longest message, in bytes.
    public var messageSize = 1 << 20
    /// A message that has begun must be whole within this time.
    public var messageTimeout = Duration.seconds(10)
    /// A connection on which nothing is asked for this long is dropped.
    public var idleTimeout = Duration.seconds(300)
    /// A reply must be taken within this time.
    public var replyTimeout = Duration.seconds(10)

    public init() {}
}

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
