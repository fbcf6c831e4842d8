public import MountProtocol
public import StorePrimitives
public import SystemPackage

/// Everything the daemon of one mount is told at its start. Validated by whoever makes it.
public struct MountConfiguration: Sendable {
    /// The store's canonical path, in bytes, without a slash at its end.
    public var store: [UInt8]
    /// The mount point's canonical path; equal to `store` when mounted in place.
    public var mountPoint: [UInt8]
    /// Which folders these are: nothing else that the paths may lead to when it is mounted.
    public var storeIdentity, mountPointIdentity: FileIdentity
    public var options: MountOptions
    /// Whether the daemon runs as root and keeps its state in the system's folders.
    public var isSystem: Bool
    /// Holds the index, the lock and the log of this store; exists, mode 0700, not in the store.
    public var stateFolder: String
    /// Holds the sockets of this user's mounts; exists, not in the store.
    public var runtimeFolder: String
    /// Where the service listens, inside `runtimeFolder`.
    public var socketPath: String
    /// Where thumbnails are kept: the desktop's own folder of whoever mounts; not in the store.
    public var thumbnailFolder: String
    /// The program that renders them.
    public var workerProgram: String
    public var startReplay: StartReplay
    /// Quire's own, and how earlier daemons of the store died, for `quire status`.
    public var version: String
    public var deaths: @Sendable () -> [MountStatus.Death]
    /// Called just before the mount is made: takes away what it is to replace.
    public var willMount: (@Sendable () throws(MountFailure) -> Void)?

    /// Starts a process that calls `cl_serve_replay` with the descriptor, its end of a channel. Returns its pid.
    public typealias StartReplay = @Sendable (Descriptor) throws(Errno) -> Int32

    public init(
        store: [UInt8], mountPoint: [UInt8], storeIdentity: FileIdentity, mountPointIdentity: FileIdentity, options: MountOptions, isSystem: Bool, stateFolder: String,
        runtimeFolder: String, socketPath: String, thumbnailFolder: String, workerProgram: String, startReplay: @escaping StartReplay,
        version: String, deaths: @escaping @Sendable () -> [MountStatus.Death]
    ) {
        self.store = store
        self.mountPoint = mountPoint
        self.storeIdentity = storeIdentity
        self.mountPointIdentity = mountPointIdentity
        self.options = options
        self.isSystem = isSystem
        self.stateFolder = stateFolder
        self.runtimeFolder = runtimeFolder
        self.socketPath = socketPath
        self.thumbnailFolder = thumbnailFolder
        self.workerProgram = workerProgram
        self.startReplay = startReplay
        self.version = version
        self.deaths = deaths
    }

    public var isInPlace: Bool { store == mountPoint }
}
