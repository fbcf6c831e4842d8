internal import CFuse
internal import CLinux
internal import Glibc
internal import StorePrimitives
internal import Synchronization
public import SystemPackage

extension FuseSession {
    var isEnding: Bool { fuse_session_exited(session) != 0 }

    /// Serves until the mount is gone: unmounted by anyone, or `unmount()`.
    ///
    /// - Parameter lettingGo: called when requests are served no more; other descriptors of the device are to be closed by then.
    public func serve(lettingGo: () -> Void) {
        // The first request is INIT: its answer decides how the others come.
        start("quire-serve-0") { [self] in serveRequests(dispatcher.slots[0]) }
        channel.agreed.wait()
        for (index, slot) in dispatcher.slots.enumerated().dropFirst() {
            start("quire-serve-\(index)") { [self] in serveRequests(slot) }
        }
        let pulse = NamedThread("quire-pulse") { [dispatcher] in dispatcher.watch() }
        while running.load(ordering: .relaxed) > 0 { allEnded.wait() }
        // Nobody interrupts a thread that was joined.
        let threads = serving.withLock { serving in
            defer { serving = [] }
            return serving
        }
        for thread in threads + [pulse] { thread.join() }
        notifier.stop()
        lettingGo()
        disconnect()
    }

    private func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        running.wrappingAdd(1, ordering: .relaxed)
        let thread = NamedThread(name) { [self] in
            body()
            if running.wrappingSubtract(1, ordering: .relaxed).newValue == 0 { allEnded.signal() }
        }
        serving.withLock { $0.append(thread) }
    }

    /// Of threads that read while others' requests are put aside, in nanoseconds: one with a short slice is run as soon as it wakes,
    /// before those with longer ones. At other times it costs: apps' first stat(2) takes a quarter longer.
    private static let shortSlice: CUnsignedLongLong = 100_000
    /// Of threads that do what was put aside: others are run before them, and they get their part of the processors all the same.
    private static let longSlice: CUnsignedLongLong = 20_000_000

    private func serveRequests(_ slot: RequestDispatcher.Slot) {
        fileSystem.prepareThread()
        if slot.isAside { _ = cl_set_thread_slice(Self.longSlice) }
        var isPreferred = false
        var buffer = fuse_buf()
        defer { free(buffer.mem) }
        var spins = false
        while !isEnding {
            switch dispatcher.takeTurn(slot) {
            case .over: return ended()
            case .request(let waiting):
                serve(waiting, slot)
                continue
            case .seat: break
            }
            let asked = Self.microseconds
            if spins { spin(since: asked) }
            if dispatcher.shares.areSomeLimited != isPreferred {
                isPreferred.toggle()
                _ = cl_set_thread_slice(isPreferred ? Self.shortSlice : 0)
            }
            let received = fuse_session_receive_buf(session, &buffer)
            if received == -EINTR { continue }
            if received <= 0 { break }
            let began = Self.microseconds
            spins = dispatcher.isConversation(at: began)
            let about = RequestShares.holding(of: buffer, countsUsers: tuning.sharesByUser, dispatcher.shares.accounts, fileSystem)
            if let (header, holding) = about, dispatcher.shares.areSomeLimited {
                if header.opcode == RequestShares.interrupt { answerIfKilled(buffer) }
                switch dispatcher.putAside(header, holding, at: cl_monotonic_ns(), bytes: { RequestBytes.taking(&buffer) }) {
                case .served: break
                case .waits, .ready: continue
                case .refused:
                    fail(buffer, .resourceBusy)
                    continue
                }
            }
            // What is there already is read in less.
            dispatcher.began(slot, waited: began - asked > 5, about?.1 ?? RequestShares.HeldShares())
            if KernelChannel.mayWait(buffer) { dispatcher.giveSeat(slot) }
            answer(&buffer)
            dispatcher.ended(slot, began: began, at: Self.microseconds)
        }
        ended()
    }

    private func ended() {
        fuse_session_exit(session)
        dispatcher.finish()
        channel.agreed.signal()
    }

    /// A request that was put aside, when its turn has come.
    private func serve(_ waiting: RequestShares.Waiting, _ slot: RequestDispatcher.Slot) {
        let began = Self.microseconds
        dispatcher.began(slot, waited: false, waiting.holding, isPutAside: true)
        var buffer = waiting.bytes.buffer
        answer(&buffer)
        let ended = Self.microseconds
        dispatcher.ended(slot, began: began, at: ended)
        let pause = dispatcher.pause(after: waiting, microseconds: ended - began, at: ended)
        if pause > 0 { usleep(pause) }
        dispatcher.ended(waiting)
    }

    /// Of a request that was put aside: libfuse does not know of it.
    func fail(_ waiting: RequestShares.Waiting, _ error: Errno) { fail(waiting.bytes.buffer, error) }

    private func fail(_ request: fuse_buf, _ error: Errno) {
        if let file = RequestShares.written(by: request) { fileSystem.writeFailed(file, error) }
        channel.fail(request, error, device)
    }

    /// An INTERRUPT for a request that was put aside: its caller is let go if it is being killed. Other signals do not end a wait.
    private func answerIfKilled(_ interrupt: fuse_buf) {
        guard interrupt.size >= MemoryLayout<quire_in_header>.size + MemoryLayout<UInt64>.size else { return }
        let unique = (interrupt.mem + MemoryLayout<quire_in_header>.size).loadUnaligned(as: UInt64.self)
        let killed = dispatcher.shares.take(unique) { fileSystem.isBeingKilled($0.header.thread) }
        if let killed { fail(killed, .interrupted) }
    }

    /// Waits for the next request without sleeping, for 50 µs at most, while others that want the processor go first.
    ///
    /// A request is a conversation: the app sleeps until it is answered, and asks the next thing some microseconds later. To wake
    /// a sleeping processor takes 20 to 60 µs in a virtual machine, twice for each request. Measured with one app, without and
    /// with this: create 3,100 and 5,100 a second, rename 6,100 and 9,500, unlink 7,900 and 16,000. Beside work that needs all
    /// processors it is the other way round: a request brings forward who sleeps, not who let others go first.
    private func spin(since start: Int) {
        var device = pollfd(fd: fuse_session_fd(session), events: Int16(truncatingIfNeeded: POLLIN), revents: 0)
        var now = start
        repeat {
            if poll(&device, 1, 0) > 0 { return }
            let before = now
            sched_yield()
            now = Self.microseconds
            if now - before > RequestDispatcher.longestYield { return dispatcher.processorsAreBusy(at: now) }
        } while now - start < 50
    }

    private func answer(_ buffer: inout fuse_buf) {
        if answersStatx(buffer) { return }
        fuse_session_process_buf(session, &buffer)
    }

    private static var microseconds: Int { Int(cl_monotonic_ns()) / 1_000 }
}
