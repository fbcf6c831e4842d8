internal import CFuse
internal import Synchronization
public import SystemPackage

/// A reply that waits for something to happen, answered once by whoever gets to it first.
public final class ParkedReply<Answer>: @unchecked Sendable {
    private let reply: Mutex<Reply<Answer>?>
    private let request: fuse_req_t
    private var listener: InterruptListener!

    /// On the thread that the request came to.
    ///
    /// - Parameter interrupted: called when the waiting caller gets a signal, on a serving thread. It may answer, by
    ///   `answerInterrupt`.
    public init(_ reply: consuming Reply<Answer>, interrupted: @escaping @Sendable (ParkedReply) -> Void) {
        request = reply.request
        self.reply = Mutex(consume reply)
        listener = InterruptListener { [unowned self] in interrupted(self) }
    }

    /// Starts to listen for interrupts, before anybody else can answer. One that came already is told at once. Whoever calls
    /// keeps the object until it is answered.
    public func listen() {
        fuse_req_interrupt_func(
            request,
            { _, data in
                // Safe: kept until answered, and answering ends the listening before it gives the object up.
                Unmanaged<InterruptListener>.fromOpaque(data!).takeUnretainedValue().interrupted()
            }, Unmanaged.passUnretained(listener).toOpaque())
    }

    /// Gives the duty to answer to `body`, unless somebody has answered. Not from within `interrupted`: libfuse holds the
    /// request's lock there.
    public func end(_ body: (consuming Reply<Answer>) -> Void) {
        // Once it is answered the request is no more.
        guard reply.withLock({ $0 != nil }) else { return }
        fuse_req_interrupt_func(request, nil, nil)
        guard let reply = reply.withLock({ $0.take() }) else { return }
        body(reply)
    }

    public func fail(_ error: Errno) { end { $0.fail(error) } }

    /// Answers from within `interrupted`.
    public func answerInterrupt(_ error: Errno) {
        guard let reply = reply.withLock({ $0.take() }) else { return }
        reply.fail(error)
    }
}

extension ParkedReply where Answer == Done {
    /// Answers: done, or an errno. Not from within `interrupted`.
    public func answer(_ error: Errno? = nil) {
        end { reply in
            if let error { reply.fail(error) } else { reply.succeed() }
        }
    }
}

/// What libfuse is given to call: no generic type.
private final class InterruptListener: Sendable {
    let interrupted: @Sendable () -> Void
    init(_ interrupted: @escaping @Sendable () -> Void) { self.interrupted = interrupted }
}
