internal import CFuse
internal import CLinux
internal import Glibc
public import StorePrimitives
public import SystemPackage
internal import Synchronization

/// One mount's conversation with the kernel: set up, served by named threads, ended.
public final class FuseSession: @unchecked Sendable {
    let fileSystem: any FileSystemOperations
    let channel: KernelChannel
    let tuning: Tuning
    var session: OpaquePointer!
    /// Of the mount, once it is made.
    public private(set) var place = MountPlace(path: [], connection: 0)
    let dispatcher: RequestDispatcher
    let serving = Mutex<[NamedThread]>([])
    let running = Atomic<Int>(0)
    let allEnded = Signal()
    let isDetached = Atomic<Bool>(false)
    public private(set) var notifier: Notifier!

    public struct Tuning: Sendable {
        /// Threads that serve requests: as many may wait for the disk at once. Two read at a time, see `RequestDispatcher`.
        public var threads = 24
        /// Each user has a share of the threads: there are several.
        public var sharesByUser = false
        /// Asks for kernel passthrough of reads and writes (Linux 6.9, CAP_SYS_ADMIN).
        public var passthrough = false
        /// The largest write request, in bytes; the kernel's limit is 1 MiB.
        public var maximumWrite: UInt32 = 1 << 20
        public init() {}
    }

    /// - Parameters:
    ///   - options: mount options as libfuse takes them (`fsname=…`, `allow_other`, `ro`, …), in bytes: a store's name need not be
    ///     UTF-8.
    ///   - limits: what users have of what waits here, among others.
    /// Throws .invalidArgument when libfuse refuses an option; it has then said which on standard error.
    public init(
        fileSystem: any FileSystemOperations, options: [[UInt8]], tuning: Tuning, limits: UserShares
    ) throws(Errno) {
        self.fileSystem = fileSystem
        self.tuning = tuning
        channel = KernelChannel(wantsPassthrough: tuning.passthrough)
        dispatcher = RequestDispatcher(threads: tuning.threads, cores: Int(cl_usable_processors()), limits: limits)
        defer { dispatcher.onLate = { [unowned self] in fail($0, .resourceBusy) } }
        var arguments = fuse_args()
        fuse_opt_add_arg(&arguments, "quire")
        for option in options {
            fuse_opt_add_arg(&arguments, "-o")
            (option + [0]).withUnsafeBytes {
                _ = fuse_opt_add_arg(&arguments, $0.assumingMemoryBound(to: CChar.self).baseAddress!)
            }
        }
        defer { fuse_opt_free_args(&arguments) }
        var callbacks = Self.callbacks()
        let userData = Unmanaged.passUnretained(self).toOpaque()
        guard let made = fuse_session_new(&arguments, &callbacks, MemoryLayout<fuse_lowlevel_ops>.size, userData)
        else { throw .invalidArgument }
        session = made
    }

    deinit { if session != nil { fuse_session_destroy(session) } }

    /// Mounts; requests wait in the kernel until `serve`. Throws .ioError when mount(2) or fusermount3 failed: the reason went
    /// to standard error.
    ///
    /// - Parameters:
    ///   - mountPoint: its canonical path.
    ///   - folder: what was found there, open as O_PATH. Root mounts on it, wherever the path leads by now. fusermount3(1) takes nothing
    ///     but a path, and mounts on what is the user's own.
    public func mount(at mountPoint: [UInt8], on folder: Descriptor) throws(Errno) {
        let path = geteuid() == 0 ? Array("/proc/self/fd/\(folder.number)".utf8) : mountPoint
        let mounted = (path + [0]).withUnsafeBytes {
            fuse_session_mount(session, $0.assumingMemoryBound(to: CChar.self).baseAddress!)
        }
        guard mounted == 0 else { throw .ioError }
        place = MountPlace(path: mountPoint, connection: connection(at: mountPoint))
        var callbacks = KernelChannel.callbacks()
        let result = fuse_session_custom_io(session, &callbacks, fuse_session_fd(session))
        guard result == 0 else {
            detach()
            throw Errno(rawValue: -result)
        }
        notifier = Notifier(session, fileSystem)
    }

    private func connection(at mountPoint: [UInt8]) -> UInt32 {
        let number = cl_fuse_connection(device)
        if number != 0 { return number }
        // Before Linux 6.16 only the mount itself tells.
        guard let root = try? Descriptor(openingCanonical: mountPoint) else { return 0 }
        return cl_unnamed_device(root.number)
    }

    /// The descriptor of /dev/fuse.
    var device: Int32 { fuse_session_fd(session) }

    /// Another descriptor of the device, closed on exec. The connection lasts until all are closed.
    public func duplicateDevice() throws(Errno) -> Descriptor {
        let number = fcntl(device, F_DUPFD_CLOEXEC, 0)
        guard number >= 0 else { throw Errno(rawValue: errno) }
        return Descriptor(owning: number)
    }

    /// Whether the kernel granted passthrough. Known once the first request was served.
    public var passthroughGranted: Bool { channel.passthroughGranted }
    /// Files whose reads and writes come to the daemon can be mapped shared (Linux 6.6).
    public var directMapsGranted: Bool { channel.directMapsGranted }

    /// The INIT exchange: what the kernel offers and what we take.
    func negotiate(_ connection: UnsafeMutablePointer<fuse_conn_info>) {
        func want(_ capability: Int, _ wanted: Bool = true) {
            let bit = UInt32(truncatingIfNeeded: capability) & connection.pointee.capable
            if wanted { connection.pointee.want |= bit } else { connection.pointee.want &= ~bit }
        }
        want(Int(FUSE_CAP_ATOMIC_O_TRUNC))
        want(Int(FUSE_CAP_DONT_MASK))  // the store's default ACLs and the caller's umask decide together
        want(Int(FUSE_CAP_POSIX_ACL))
        want(Int(FUSE_CAP_PARALLEL_DIROPS))  // passed on by KernelChannel
        want(Int(FUSE_CAP_IOCTL_DIR))
        want(Int(FUSE_CAP_POSIX_LOCKS))
        want(Int(FUSE_CAP_FLOCK_LOCKS))
        want(Int(FUSE_CAP_CACHE_SYMLINKS))  // a node's target never changes
        want(Int(FUSE_CAP_AUTO_INVAL_DATA))
        want(Int(FUSE_CAP_READDIRPLUS))
        want(Int(FUSE_CAP_READDIRPLUS_AUTO))
        // Where users have shares a write(2) by O_DIRECT sends one request at a time, not as many as its user may have wait.
        want(Int(FUSE_CAP_ASYNC_DIO), !tuning.sharesByUser)
        want(Int(FUSE_CAP_WRITEBACK_CACHE), false)  // it turned a document to 0 bytes under a stream
        want(Int(FUSE_CAP_HANDLE_KILLPRIV), false)  // its second version instead, see KernelChannel
        connection.pointee.max_write = tuning.maximumWrite
        // RELEASE comes in the background: with few, closes fall behind opens, and the daemon's descriptors run out.
        connection.pointee.max_background = 4096
        connection.pointee.congestion_threshold = 3072
    }
}
