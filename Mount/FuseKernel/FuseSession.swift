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
    private let serving = Mutex<[NamedThread]>([])
    private let running = Atomic<Int>(0)
    private let allEnded = Signal()
    public private(set) var notifier: Notifier!

    public struct Tuning: Sendable {
        /// Threads that serve requests: as many may wait for the disk at once. Two read at a time, see `Dispatcher`.
        public var threads = 24
        /// Asks for kernel passthrough of reads and writes (Linux 6.9, CAP_SYS_ADMIN).
        public var passthrough = false
        /// Asks for requests by io_uring instead of read(2) of the device (Linux 6.14, see `KernelRings`).
        public var rings = false
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
        let rings = tuning.rings ? KernelRings(threads: tuning.threads, capacity: Int(tuning.maximumWrite)) : nil
        channel = KernelChannel(wantsPassthrough: tuning.passthrough, rings: rings)
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

    /// Whether requests come by io_uring. Known once the mount answers.
    public var ringsGranted: Bool { channel.ringsGranted }

    var isEnding: Bool { fuse_session_exited(session) != 0 }

    /// Serves until the mount is gone: unmounted by anyone, or `unmount()`. Throws what the kernel refused its rings with, after
    /// it had agreed to them: no request was served.
    public func serve() throws(Errno) {
        let cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let dispatcher = Dispatcher(threads: tuning.threads, cores: cores)
        // The first request is INIT: its answer decides how the others come.
        start("quire-serve-0") { [self] in serveRequests(dispatcher, dispatcher.slots[0]) }
        channel.agreed.wait()
        let refusal = Mutex<Errno?>(nil)
        if channel.ringsGranted, let rings = channel.rings {
            dispatcher.readsByOne()
            startRings(rings) { [self] error in
                refusal.withLock { $0 = $0 ?? error }
                detach()
            }
        } else {
            for (index, slot) in dispatcher.slots.enumerated().dropFirst() {
                start("quire-serve-\(index)") { [self] in serveRequests(dispatcher, slot) }
            }
        }
        let pulse = NamedThread("quire-pulse") { dispatcher.watch() }
        while running.load(ordering: .relaxed) > 0 { allEnded.wait(seconds: 1) }
        // Nobody interrupts a thread that was joined.
        let threads = serving.withLock { serving in
            defer { serving = [] }
            return serving
        }
        for thread in threads + [pulse] { thread.join() }
        notifier.stop()
        if let refused = refusal.withLock({ $0 }) { throw refused }
    }

    private func startRings(_ rings: KernelRings, onRefusal refused: @escaping @Sendable (Errno) -> Void) {
        do throws(Errno) {
            for (index, server) in try rings.servers(self).enumerated() {
                start("quire-ring-\(index)") { [self] in
                    fileSystem.prepareThread()
                    do throws(Errno) { try server.run() } catch { refused(error) }
                }
            }
        } catch {
            refused(error)
        }
    }

    private func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        running.wrappingAdd(1, ordering: .relaxed)
        let thread = NamedThread(name) { [self] in
            body()
            if running.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { allEnded.signal() }
        }
        serving.withLock { $0.append(thread) }
    }

    private func serveRequests(_ dispatcher: Dispatcher, _ slot: Dispatcher.Slot) {
        fileSystem.prepareThread()
        var buffer = fuse_buf()
        defer { free(buffer.mem) }
        while !isEnding, dispatcher.takeSeat(slot) {
            let asked = Self.microseconds
            let received = fuse_session_receive_buf(session, &buffer)
            if received == -EINTR { continue }
            if received <= 0 { break }
            // What is there already is read in less.
            dispatcher.began(slot, waited: Self.microseconds - asked > 5)
            if KernelChannel.mayWait(buffer) { dispatcher.giveSeat(slot) }
            answer(&buffer)
            dispatcher.ended(slot)
            // Only FORGET and INTERRUPT come this way then: many at once cost less.
            if channel.ringsGranted { usleep(1_000) }
        }
        fuse_session_exit(session)
        dispatcher.finish()
        channel.agreed.signal()
    }

    /// A request that came by a ring.
    func process(_ buffer: inout fuse_buf) {
        channel.received(buffer.mem, count: buffer.size)
        answer(&buffer)
    }

    private func answer(_ buffer: inout fuse_buf) {
        if !answersStatx(buffer) { fuse_session_process_buf(session, &buffer) }
    }

    private static var microseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }

    /// Takes the mount point away. Requests under way are answered; `serve` returns when the last file is closed, or a second
    /// later: files still open fail from then on. From any thread.
    ///
    /// Not by fuse_session_unmount, which closes the kernel's descriptor under the threads that answer through it.
    public func unmount() {
        detach()
        let ending = NamedThread("quire-end") { [self] in
            sleep(1)
            fuse_session_exit(session)
            // Out of their reads; each has answered what it was at. Again for one that was just about to read.
            while running.load(ordering: .relaxed) > 0 {
                serving.withLock { for thread in $0 { thread.interrupt() } }
                usleep(50_000)
            }
        }
        ending.detach()
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
        let splices = !tuning.passthrough && !channel.ringsOffered
        want(Int(FUSE_CAP_SPLICE_READ), splices)
        want(Int(FUSE_CAP_SPLICE_WRITE), splices)
        want(Int(FUSE_CAP_SPLICE_MOVE), splices)
        connection.pointee.max_write = tuning.maximumWrite
        connection.pointee.max_background = 64
        connection.pointee.congestion_threshold = 48
    }
}
