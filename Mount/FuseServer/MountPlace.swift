/// Where a mount is, and which one.
public struct MountPlace: Sendable {
    /// The mount point's path when it was mounted. Whoever may rename a folder on it can have it lead elsewhere.
    public let path: [UInt8]
    /// The number by which the kernel lists the connection: the minor number of the mount's st_dev. 0 if it is not known.
    public let connection: UInt32

    public init(path: [UInt8], connection: UInt32) {
        self.path = path
        self.connection = connection
    }
}
