internal import CFuse
internal import CLinux
internal import Glibc
internal import StorePrimitives
public import SystemPackage
internal import Synchronization

/// One mount's conversation with the kernel: set up, served by named threads, ended.
public final class FuseSession: @unchecked Sendable {
    let fileSystem: any FileSystemOperations
    let channel: KernelChannel
    private let tuning: Tuning
    private var session: OpaquePointer!
    private var mountPoint: [UInt8] = []
    private let dispatcher: Dispatcher
    private let serving = Mutex<[NamedThread]>([])
    private let running = Atomic<Int>(0)
    private let allEnded = Signal()
    private let isDetached = Atomic<Bool>(false)
    public private(set) var notifier: Notifier!

    public struct Tuning: Sendable {
        /// Threads that serve requests: as many may wait for the disk at once. Two read at a time, see `Dispatcher`.
        public var threads = 24
        /// Asks for kernel passthrough of reads and writes (Linux 6.9, CAP_SYS_ADMIN).
        public var passthrough = false
        /// The largest write request, in bytes; the kernel's limit is 1 MiB.
        public var maximumWrite: UInt32 = 1 << 20
        public init() {}
    }

    /// - Parameter options: mount options as libfuse takes them (`fsname=…`, `allow_other`, `ro`, …), in bytes: a store's name
    ///   need not be UTF-8.
    /// Throws .invalidArgument when libfuse refuses an option; it has then said which on standard error.
    public init(fileSystem: any FileSystemOperations, options: [[UInt8]], tuning: Tuning) throws(Errno) {
        self.fileSystem = fileSystem
        self.tuning = tuning
        channel = KernelChannel(wantsPassthrough: tuning.passthrough)
        dispatcher = Dispatcher(threads: tuning.threads, cores: Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
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
    public func mount(at mountPoint: [UInt8]) throws(Errno) {
        let mounted = (mountPoint + [0]).withUnsafeBytes {
            fuse_session_mount(session, $0.assumingMemoryBound(to: CChar.self).baseAddress!)
        }
        guard mounted == 0 else { throw .ioError }
        self.mountPoint = mountPoint
        var callbacks = KernelChannel.callbacks()
        let result = fuse_session_custom_io(session, &callbacks, fuse_session_fd(session))
        guard result == 0 else {
            detach()
            throw Errno(rawValue: -result)
        }
        notifier = Notifier(session)
    }

    /// The descriptor of /dev/fuse.
    var device: Int32 { fuse_session_fd(session) }

    /// Whether the kernel granted passthrough. Known once the first request was served.
    public var passthroughGranted: Bool { channel.passthroughGranted }

    /// Serves until the mount is gone: unmounted by anyone, or `unmount()`. Files still open fail from then on.
    public func serve() {
        running.store(dispatcher.slots.count, ordering: .relaxed)
        let threads = dispatcher.slots.enumerated().map { index, slot in
            NamedThread("quire-serve-\(index)") { [self] in serveRequests(slot) }
        }
        let pulse = NamedThread("quire-pulse") { [dispatcher] in dispatcher.watch() }
        serving.withLock { $0 = threads }
        while running.load(ordering: .relaxed) > 0 { allEnded.wait(seconds: 1) }
        // Nobody interrupts a thread that was joined.
        serving.withLock { $0 = [] }
        for thread in threads + [pulse] { thread.join() }
        notifier.stop()
        disconnect()
    }

    /// Ends the connection, so that no app waits while the daemon puts its things away. Not by closing the descriptor: other
    /// threads may still answer parked requests, and its number must not become another file's.
    private func disconnect() {
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        guard nothing >= 0 else { return }
        dup2(nothing, device)
        close(nothing)
    }

    private func serveRequests(_ slot: Dispatcher.Slot) {
        fileSystem.prepareThread()
        var buffer = fuse_buf()
        defer { free(buffer.mem) }
        while fuse_session_exited(session) == 0, dispatcher.takeSeat(slot) {
            let asked = Self.microseconds
            let received = fuse_session_receive_buf(session, &buffer)
            if received == -EINTR { continue }
            if received <= 0 { break }
            // What is there already is read in less.
            dispatcher.began(slot, waited: Self.microseconds - asked > 5)
            if KernelChannel.mayWait(buffer) { dispatcher.giveSeat(slot) }
            if !answersStatx(buffer) { fuse_session_process_buf(session, &buffer) }
            dispatcher.ended(slot)
        }
        fuse_session_exit(session)
        dispatcher.finish()
        if running.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { allEnded.signal() }
    }

    private static var microseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }

    /// How long files may still be open, and requests under way, once the mount point is gone.
    private static let grace = Duration.seconds(1)

    /// Takes the mount point away. Requests under way are answered; `serve` returns when the last file is closed, or a second
    /// later. From any thread; again: does nothing, as something else may be mounted there.
    ///
    /// Not by fuse_session_unmount, which closes the kernel's descriptor under the threads that answer through it.
    public func unmount() {
        guard !isDetached.exchange(true, ordering: .relaxed) else { return }
        detach()
        let ending = NamedThread("quire-end") { [self] in
            let deadline = ContinuousClock.now + Self.grace
            while running.load(ordering: .relaxed) > 0, isInUse, ContinuousClock.now < deadline { usleep(5_000) }
            // While requests are answered: the kernel may hold it up until one of them is.
            notifier.stop()
            fuse_session_exit(session)
            // Out of their reads; each has answered what it was at. Again for one that was just about to read.
            while running.load(ordering: .relaxed) > 0 {
                serving.withLock { for thread in $0 { thread.interrupt() } }
                usleep(50_000)
            }
        }
        ending.detach()
    }

    /// Whether files are open, or requests waiting or being worked on.
    private var isInUse: Bool {
        var requests = pollfd(fd: device, events: Int16(POLLIN), revents: 0)
        return fileSystem.hasOpenFiles || dispatcher.isBusy
            || poll(&requests, 1, 0) == 1 && requests.revents & Int16(POLLIN) != 0
    }

    private func detach() {
        var path = mountPoint.map { CChar(bitPattern: $0) } + [0]
        if geteuid() == 0 {
            umount2(&path, Int32(MNT_DETACH))
            return
        }
        var child = pid_t()
        let words: [UnsafeMutablePointer<CChar>?] =
            [strdup("fusermount3"), strdup("-u"), strdup("-z"), strdup("--"), strdup(path), nil]
        defer { for word in words { free(word) } }
        if posix_spawnp(&child, "fusermount3", nil, nil, words, environ) == 0 { waitpid(child, nil, 0) }
    }

    /// The INIT exchange: what the kernel offers and what we take.
    func negotiate(_ connection: UnsafeMutablePointer<fuse_conn_info>) {
        func want(_ capability: Int, _ wanted: Bool = true) {
            let bit = UInt32(truncatingIfNeeded: capability) & connection.pointee.capable
            if wanted { connection.pointee.want |= bit } else { connection.pointee.want &= ~bit }
        }
        want(Int(FUSE_CAP_ATOMIC_O_TRUNC))
        want(Int(FUSE_CAP_DONT_MASK))  // the store's default ACLs and the caller's umask decide together
        want(Int(FUSE_CAP_POSIX_ACL))
        want(Int(FUSE_CAP_PARALLEL_DIROPS))
        want(Int(FUSE_CAP_IOCTL_DIR))
        want(Int(FUSE_CAP_POSIX_LOCKS))
        want(Int(FUSE_CAP_FLOCK_LOCKS))
        want(Int(FUSE_CAP_CACHE_SYMLINKS))  // a node's target never changes
        want(Int(FUSE_CAP_AUTO_INVAL_DATA))
        want(Int(FUSE_CAP_READDIRPLUS))
        want(Int(FUSE_CAP_READDIRPLUS_AUTO))
        want(Int(FUSE_CAP_ASYNC_DIO))
        want(Int(FUSE_CAP_WRITEBACK_CACHE), false)  // it turned a document to 0 bytes under a stream
        want(Int(FUSE_CAP_HANDLE_KILLPRIV), false)  // its second version instead, see KernelChannel
        // A splice reads a request in two calls where read(2) takes one: worth it only for data that comes to the daemon.
        want(Int(FUSE_CAP_SPLICE_READ), !tuning.passthrough)
        want(Int(FUSE_CAP_SPLICE_WRITE), !tuning.passthrough)
        want(Int(FUSE_CAP_SPLICE_MOVE), !tuning.passthrough)
        connection.pointee.max_write = tuning.maximumWrite
        connection.pointee.max_background = 64
        connection.pointee.congestion_threshold = 48
    }
}
