internal import CFuse
internal import Synchronization
public import SystemPackage

/// A reply that waits for something to happen, answered once by whoever gets to it first.
public final class ParkedReply: @unchecked Sendable {
    private let reply: Mutex<Reply<Done>?>
    private let request: fuse_req_t
    private let interrupted: @Sendable (ParkedReply) -> Void

    /// On the thread that the request came to, by the device.
    ///
    /// - Parameter interrupted: called when the waiting caller gets a signal, on a serving thread. It may answer, by
    ///   `answerInterrupt`.
    public init(_ reply: consuming Reply<Done>, interrupted: @escaping @Sendable (ParkedReply) -> Void) {
        request = reply.request
        precondition(RingRequest.current == nil, "a ring's place is not to be kept waiting, see KernelRings")
        self.reply = Mutex(consume reply)
        self.interrupted = interrupted
    }

    /// Starts to listen for interrupts, before anybody else can answer. One that came already is told at once. Whoever calls
    /// keeps the object until it is answered.
    public func listen() {
        fuse_req_interrupt_func(
            request,
            { _, data in
                // Safe: kept until answered, and answering ends the listening before it gives the object up.
                let parked = Unmanaged<ParkedReply>.fromOpaque(data!).takeUnretainedValue()
                parked.interrupted(parked)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Answers: done, or an errno. Not from within `interrupted`: libfuse holds the request's lock there.
    public func answer(_ error: Errno? = nil) {
        fuse_req_interrupt_func(request, nil, nil)
        send(error)
    }

    /// Answers from within `interrupted`.
    public func answerInterrupt(_ error: Errno) { send(error) }

    private func send(_ error: Errno?) {
        guard let reply = reply.withLock({ $0.take() }) else { return }
        if let error { reply.fail(error) } else { reply.succeed() }
    }
}
