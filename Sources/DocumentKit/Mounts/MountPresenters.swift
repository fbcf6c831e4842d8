import Dispatch
import Foundation
import MountClient
import MountProtocol
import StorePrimitives
import Synchronization

/// The presenters of one mount in this process, as its daemon knows them.
///
/// Two connections and two threads, whatever the number of presenters: one attends, the other makes the calls, in order, and
/// hands on what was heard, so that a message meets its presenter's registration. When the daemon goes, the presenters are
/// registered anew at the next one, and told to look at their items again.
final class MountPresenters: Sendable {
    private static let known = Mutex<[AbsolutePath: MountPresenters]>([:])

    static func of(_ mount: QuireMount) -> MountPresenters {
        known.withLock { known in
            if let found = known[mount.mountPoint] { return found }
            let made = MountPresenters(mount.mountPoint)
            known[mount.mountPoint] = made
            return made
        }
    }

    private struct State {
        var members: [RegisteredPresenter] = []
        /// What the daemon calls them. On the calling thread only, as are the next two.
        var ids: [ObjectIdentifier: UInt64] = [:]
        var byID: [UInt64: RegisteredPresenter] = [:]
        /// What they have relinquished, by question.
        var relinquished: [UInt64: Relinquishment] = [:]
        /// Nil while the daemon is away.
        var session: String?
        var isAttending = false
        /// Those who wait to be registered.
        var waiting: [ObjectIdentifier: Registration] = [:]
        var breaker: ConnectionBreaker?
    }

    private let mountPoint: AbsolutePath
    /// A leaf lock.
    private let state = Mutex(State())
    /// Used by the calling thread.
    private let connection = Mutex<ServiceConnection?>(nil)
    private let calls = SerialThread("quire-present")

    private init(_ mountPoint: AbsolutePath) { self.mountPoint = mountPoint }

    // MARK: - Registrations

    private static let timeout = DispatchTimeInterval.seconds(2)

    /// Registers a presenter. Waits until the daemon knows of it, some seconds at most; when it is away, it learns of it
    /// later.
    func add(_ member: RegisteredPresenter) -> FileCoordinationError? {
        let registration = Registration()
        let attends = state.withLock { state in
            state.members.append(member)
            state.waiting[ObjectIdentifier(member)] = registration
            defer { state.isAttending = true }
            return !state.isAttending
        }
        if attends { NamedThread("quire-attend") { [self] in attend() }.detach() }
        calls.run { [self] in register(member) }
        return registration.wait(Self.timeout)
    }

    func remove(_ member: RegisteredPresenter) {
        state.withLock { state in
            state.members.removeAll { $0 === member }
            state.waiting[ObjectIdentifier(member)] = nil
        }
        calls.run { [self] in
            let (id, session) = state.withLock { state in
                let id = state.ids.removeValue(forKey: ObjectIdentifier(member))
                if let id { state.byID[id] = nil }
                return (id, state.session)
            }
            if let id, let session {
                _ = call { (connection) throws(ServiceCallError) in try connection.call(PresenterInterface.withdraw, .init(id, in: session)) }
            }
            // Nobody is left to hear: the session and its thread end.
            state.withLock { state in
                guard state.members.isEmpty else { return }
                state.session = nil
                state.breaker?.cut()
            }
        }
    }

    /// Has the daemon know whether a presenter has unsaved changes. Does not wait for it.
    func noteUnsavedChanges(of member: RegisteredPresenter) {
        calls.run { [self] in
            let (id, session) = state.withLock { ($0.ids[ObjectIdentifier(member)], $0.session) }
            guard let id, let session else { return }
            let hasChanges = member.hasUnsavedChanges
            _ = call { (connection) throws(ServiceCallError) in
                try connection.call(PresenterInterface.setUnsaved, .init(hasChanges, of: id, in: session))
            }
        }
    }

    // MARK: - The calling thread

    /// Makes a call of the present session.
    private func call<Result: Sendable>(
        _ body: @Sendable (ServiceConnection) throws(ServiceCallError) -> Result
    ) -> Swift.Result<Result, FileCoordinationError> {
        guard let mount = QuireMount.holding(mountPoint), mount.mountPoint == mountPoint else {
            return .failure(.disconnected("\(mountPoint): is not mounted any more"))
        }
        return connection.withLock { connection in
            do throws(FileCoordinationError) {
                // One that was idle may have been ended by the daemon.
                for _ in 0..<2 {
                    let isNew = connection == nil
                    if connection == nil { connection = try mount.connect() }
                    do throws(ServiceCallError) { return .success(try body(connection!)) } catch {
                        if case .refused = error { throw FileCoordinationError(error, in: mount) }
                        connection = nil
                        if isNew || error != .disconnected { throw FileCoordinationError(error, in: mount) }
                    }
                }
                throw .disconnected("\(mountPoint): its daemon closed the connection")
            } catch {
                return .failure(error)
            }
        }
    }

    /// Makes a presenter known to the present session, unless it is.
    private func register(_ member: RegisteredPresenter) {
        let (session, isWanted) = state.withLock { state in
            (state.session, state.members.contains { $0 === member } && state.ids[ObjectIdentifier(member)] == nil)
        }
        guard let session, isWanted else { return }
        let item = PresentedItem(path: member.path.wire, contents: true, unsaved: member.hasUnsavedChanges)
        let result = call { (connection) throws(ServiceCallError) in
            try connection.call(PresenterInterface.present, .init(item, in: session)).presenter
        }
        if case .failure(.disconnected) = result { return }
        let registration = state.withLock { state in
            if case .success(let id) = result {
                state.ids[ObjectIdentifier(member)] = id
                state.byID[id] = member
            }
            return state.waiting.removeValue(forKey: ObjectIdentifier(member))
        }
        guard case .failure(let failure) = result else {
            registration?.finish(nil)
            return
        }
        log.error("\(member.path): is not presented: \(failure)")
        registration?.finish(failure)
    }

    private func begin(_ session: String, isAnew: Bool) {
        connection.withLock { $0 = nil }
        let members = state.withLock { state in
            (state.session, state.ids, state.byID) = (session, [:], [:])
            return state.members
        }
        for member in members {
            register(member)
            if isAnew { member.tellToReload() }
        }
    }

    /// The daemon is gone, and with it all that it asked.
    private func endSession() {
        let relinquished = state.withLock { state in
            defer { (state.session, state.ids, state.byID, state.relinquished) = (nil, [:], [:], [:]) }
            return state.relinquished.values
        }
        for each in relinquished { each.end() }
    }

    private func hand(on told: PresenterMessages) {
        for message in told.messages {
            if let over = message.over {
                state.withLock { $0.relinquished.removeValue(forKey: over) }?.end()
                continue
            }
            guard let id = message.presenter, let member = state.withLock({ $0.byID[id] }) else { continue }
            if let question = message.question { put(question, to: member, id) }
            if let event = message.event, let change = ItemChange(event) { PresenterRegistry.shared.tell(member, change) }
        }
        if told.overflow { for member in state.withLock({ $0.members }) { member.tellToReload() } }
    }

    private func put(_ question: PresenterMessage.Question, to member: RegisteredPresenter, _ id: UInt64) {
        let asked = AccessQuestion(
            item: AbsolutePath(question.path), isWriting: question.access == .writing, savesChanges: question.saves,
            isDeletion: question.deletes)
        let session = state.withLock { $0.session }
        let relinquishment = member.ask(asked) { [self] failure in
            calls.run { [self] in
                guard let session, session == state.withLock({ $0.session }) else { return }
                _ = call { (connection) throws(ServiceCallError) in
                    try connection.call(PresenterInterface.answer, .init(to: question.id, from: id, failure: failure, in: session))
                }
                // Nobody waits for who reads: the item is the presenter's again.
                if question.access == .reading {
                    state.withLock { $0.relinquished.removeValue(forKey: question.id) }?.end()
                }
            }
        }
        state.withLock { $0.relinquished[question.id] = relinquishment }
    }

    // MARK: - The attending thread

    private func attend() {
        var hadSession = false
        var pause = Self.shortestPause
        while state.withLock({ state in
            if state.members.isEmpty { state.isAttending = false }
            return state.isAttending
        }) {
            if let mount = QuireMount.holding(mountPoint), mount.mountPoint == mountPoint, let connection = try? mount.connect() {
                let isWanted = state.withLock { state in
                    state.breaker = connection.breaker
                    return !state.members.isEmpty
                }
                let isAnew = hadSession
                if isWanted {
                    _ = try? connection.stream(PresenterInterface.attend, Empty()) { [self] told in
                        if let session = told.session { calls.run { [self] in begin(session, isAnew: isAnew) } }
                        (hadSession, pause) = (true, Self.shortestPause)
                        calls.run { [self] in hand(on: told) }
                        return true
                    }
                    calls.run { [self] in endSession() }
                }
                state.withLock { $0.breaker = nil }
            }
            if state.withLock({ $0.members.isEmpty }) { continue }
            Thread.sleep(forTimeInterval: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private static let shortestPause = 0.02
    private static let longestPause = 1.0
}

/// That a presenter was made known to the daemon, for who waits for that.
private final class Registration: Sendable {
    private let failure = Mutex<FileCoordinationError?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    func finish(_ failure: FileCoordinationError?) {
        self.failure.withLock { $0 = failure }
        isDone.signal()
    }

    /// Returns what went wrong; nil also if it took too long.
    func wait(_ timeout: DispatchTimeInterval) -> FileCoordinationError? {
        _ = isDone.wait(timeout: .now() + timeout)
        return failure.withLock { $0 }
    }
}
