import Logging
import MountProtocol
internal import NIOCore
internal import NIOPosix
import StorePrimitives
import Synchronization

/// One peer's connection: cuts its bytes into calls, has them carried out one at a time and in order, in its user's lanes but
/// for brief ones, and sends the replies. All state belongs to the event loop.
///
/// Memory is bounded: no more is read while a call runs or a reply is on its way, so a peer costs at most one message, one
/// read and one reply. Time is bounded: each state in which the peer has the next word carries a timeout.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connection: PeerConnection
    private let dispatcher: CallDispatcher
    private let limits: ConnectionLimits
    private let lanes: CallLanes
    private let log: Logger
    /// Of the user's share.
    private let place: TakenShare
    /// From when on the connection is served.
    private let turn: NIODeadline

    private var framer: MessageFramer
    private var context: ChannelHandlerContext?
    /// When the peer is dropped; nil: never.
    private var deadline: NIODeadline?
    /// What looks at the deadline: left to run when that moves on, as it does with each call.
    private var alarm: (time: NIODeadline, task: Scheduled<Void>)?
    /// A call runs, or its reply is on its way.
    private var isBusy = false
    private var closesAfterReply = false
    /// The peer has shut down its sending side; what it has sent is still answered.
    private var inputEnded = false
    /// Replies go on until the peer closes the connection.
    private var stream: (any ReplyStream)?
    private var hasNews = false
    private let news = News()
    /// The time limit of the message that has begun is running; more bytes do not extend it.
    private var awaitsRestOfMessage = false

    init(
        peer: Peer, pause: Duration, dispatcher: CallDispatcher, limits: ConnectionLimits, lanes: CallLanes, log: Logger,
        place: TakenShare
    ) {
        connection = PeerConnection(peer: peer)
        turn = .now() + TimeAmount(pause)
        self.dispatcher = dispatcher
        self.limits = limits
        self.lanes = lanes
        self.log = log
        self.place = place
        framer = MessageFramer(limit: limits.messageSize)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        alarm?.task.cancel()
        let (stream, connection) = (self.stream, connection)
        self.stream = nil
        self.context = nil
        // A connection that is ended before its turn keeps its place in the user's share until then; else that goes with the handler.
        if turn > .now() { context.eventLoop.scheduleTask(deadline: turn) { [place] in withExtendedLifetime(place) {} } }
        if stream == nil, connection.endIfEmpty() { return }
        // May take a while: what was kept may have to be undone.
        lanes.submit(in: lane(isLong: false)) { _ in
            stream?.end()
            connection.end()
        }
    }

    func channelActive(context: ChannelHandlerContext) {
        guard turn > .now() else { return goOn() }
        isBusy = true
        context.eventLoop.assumeIsolated().scheduleTask(deadline: turn) {
            self.isBusy = false
            self.goOn()
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        framer.append(&bytes)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // To hear of the peer's going, as long as it sends nothing but that.
        if stream != nil, !framer.hasPartialMessage { context.read() }
        goOn()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return }
        inputEnded = true
        // Who listens to a stream says by this that it has heard enough.
        if stream != nil { context.close(promise: nil) } else { goOn() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The peer went away in the middle; there is nobody to tell.
        context.close(promise: nil)
    }

    /// Takes the next step: starts the next call, or waits for more bytes.
    private func goOn() {
        guard let context, !isBusy else { return }
        if let stream { return pull(stream, context) }
        do {
            if let message = try framer.next() {
                start(message)
            } else if inputEnded {
                context.close(promise: nil)
            } else {
                waitForBytes(context)
            }
        } catch {
            closesAfterReply = true
            send(CallDispatcher.encode(VarlinkError.messageTooLarge(limit: limits.messageSize)))
        }
    }

    private func waitForBytes(_ context: ChannelHandlerContext) {
        if !framer.hasPartialMessage {
            awaitsRestOfMessage = false
            // Who holds a claim may work for hours.
            if connection.keepsAnything { deadline = nil } else { close(after: limits.idleTimeout) }
        } else if !awaitsRestOfMessage {
            awaitsRestOfMessage = true
            close(after: limits.messageTimeout)
        }
        context.read()
    }

    private func start(_ message: ByteBuffer) {
        isBusy = true
        awaitsRestOfMessage = false
        deadline = nil
        guard let context else { return }
        let text = Array(message.readableBytesView)
        guard text.count <= Self.largestDecodedHere else {
            return off(context, isLong: false, { [dispatcher] in dispatcher.call(text) }) { self.carryOut($0, mayBeBrief: false) }
        }
        carryOut(dispatcher.call(text), mayBeBrief: true)
    }

    private func carryOut(_ call: CallMessage?, mayBeBrief: Bool) {
        guard let context else { return }
        let wake = wake(context.eventLoop)
        var isLong = false
        if case .success(let bound)? = call?.call {
            if mayBeBrief, bound.isBrief(connection) {
                return finish(dispatcher.outcome(of: call, from: connection, wake: wake))
            }
            isLong = bound.isLong
        }
        off(context, isLong: isLong, { [dispatcher, connection] in dispatcher.outcome(of: call, from: connection, wake: wake) }) {
            self.finish($0)
        }
    }

    /// Decoding larger messages would hold other peers up.
    private static let largestDecodedHere = 2_048

    private func lane(isLong: Bool) -> CallLanes.Lane { CallLanes.Lane(user: lanes.accounts.owner(of: connection.peer.uid), isLong: isLong) }

    /// Does something off the event loop, and goes on with what comes of it.
    private func off<Result: Sendable>(
        _ context: ChannelHandlerContext, isLong: Bool, _ body: @escaping @Sendable () -> Result, then next: @escaping (Result) -> Void
    ) {
        lanes.run(in: lane(isLong: isLong), on: context.eventLoop, body).assumeIsolated().whenComplete { result in
            // Failure: the service ends.
            guard case .success(let result) = result else { return context.close(promise: nil) }
            next(result)
        }
    }

    private func finish(_ outcome: CallDispatcher.Outcome) {
        if outcome.closes { closesAfterReply = true }
        if let stream = outcome.stream { begin(stream) }
        if outcome.endsStream { stream = nil }
        if let reply = outcome.reply { send(reply) } else { replied() }
    }

    // MARK: - Streams

    private func begin(_ stream: any ReplyStream) {
        // The peer may have gone meanwhile.
        guard let context else { return lanes.submit(in: lane(isLong: false)) { _ in stream.end() } }
        self.stream = stream
        if inputEnded { return context.close(promise: nil) }
        hasNews = true
        // To hear of its going.
        context.read()
    }

    /// Sends the next reply, or waits until there is one.
    private func pull(_ stream: any ReplyStream, _ context: ChannelHandlerContext) {
        deadline = nil
        guard hasNews else { return }
        isBusy = true
        hasNews = false
        if stream.isBrief { return finish(dispatcher.next(of: stream)) }
        off(context, isLong: stream.isLong, { [dispatcher] in dispatcher.next(of: stream) }) { self.finish($0) }
    }

    /// What a stream calls when it has another reply.
    private func wake(_ eventLoop: any EventLoop) -> @Sendable () -> Void {
        let handler = NIOLoopBound(self, eventLoop: eventLoop)
        return { [news] in
            guard !news.isOnItsWay.exchange(true, ordering: .acquiringAndReleasing) else { return }
            eventLoop.execute {
                news.isOnItsWay.store(false, ordering: .releasing)
                let handler = handler.value
                handler.hasNews = true
                handler.goOn()
            }
        }
    }

    private func send(_ reply: [UInt8]) {
        isBusy = true
        // Of a stream there may be more at once.
        if stream != nil { hasNews = true }
        guard let context else { return }
        // Who listens may take its time: a pager, say. It costs one reply, and misses events in the end.
        if stream == nil { close(after: limits.replyTimeout) }
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in self.replied() }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: reply)), promise: sent)
    }

    private func replied() {
        isBusy = false
        guard let context else { return }
        if closesAfterReply { return context.close(promise: nil) }
        // Brief calls that came together would follow each other ever deeper on the stack, and keep others waiting.
        if depth < Self.mostAtOnce {
            depth += 1
            defer { depth -= 1 }
            goOn()
        } else {
            context.eventLoop.assumeIsolated().execute { self.goOn() }
        }
    }

    /// How many calls are being answered within each other.
    private var depth = 0
    private static let mostAtOnce = 8

    /// Drops the connection unless something happens on it in time.
    private func close(after time: Duration) {
        let deadline = NIODeadline.now() + TimeAmount(time)
        self.deadline = deadline
        if let alarm, alarm.time <= deadline { return }
        alarm?.task.cancel()
        setAlarm(deadline)
    }

    private func setAlarm(_ time: NIODeadline) {
        guard let context else { return }
        alarm = (time, context.eventLoop.assumeIsolated().scheduleTask(deadline: time) { self.ring() })
    }

    private func ring() {
        alarm = nil
        guard let deadline else { return }
        if deadline > .now() { return setAlarm(deadline) }
        log.debug("dropped a connection that said or took nothing in time", metadata: ["pid": "\(connection.peer.pid)"])
        context?.close(promise: nil)
    }
}

/// That a stream has more, between the thread that says so and the event loop.
private final class News: Sendable {
    let isOnItsWay = Atomic<Bool>(false)
}
