import Dispatch
import Foundation
import Logging
import Synchronization

let log = Logger(label: "quire.DocumentKit")

/// The presenters of this process: asked and told here of what the process itself does, which a mount's daemon leaves to it.
final class PresenterRegistry: Sendable {
    static let shared = PresenterRegistry()

    private struct State {
        /// In the order they came.
        var members: [RegisteredPresenter] = []
        var places: [AbsolutePath: [RegisteredPresenter]] = [:]
        var mounts: [ObjectIdentifier: MountPresenters] = [:]
        /// Presenters of nothing.
        var idle: [any FilePresenter] = []

        mutating func leave(_ member: RegisteredPresenter, _ path: AbsolutePath) {
            places[path]?.removeAll { $0 === member }
            if places[path]?.isEmpty == true { places[path] = nil }
        }
    }
    /// A leaf lock.
    private let state = Mutex(State())

    // MARK: - Who presents what

    /// Returns why a mount's daemon does not know of it; one that is away for a while learns of it later.
    func add(_ member: RegisteredPresenter) -> FileCoordinationError? {
        let path = member.path
        let presenters = QuireMount.holding(path).map { MountPresenters.of($0) }
        state.withLock { state in
            state.members.append(member)
            state.places[path, default: []].append(member)
            state.mounts[ObjectIdentifier(member)] = presenters
        }
        guard let presenters else {
            noteUncoordinated(path)
            return nil
        }
        let failure = presenters.add(member)
        if failure != nil { remove(member) }
        return failure
    }

    func remove(_ member: RegisteredPresenter) {
        let path = member.path
        let presenters = state.withLock { state in
            state.members.removeAll { $0 === member }
            state.leave(member, path)
            return state.mounts.removeValue(forKey: ObjectIdentifier(member))
        }
        presenters?.remove(member)
    }

    func addIdle(_ presenter: any FilePresenter) { state.withLock { $0.idle.append(presenter) } }
    func removeIdle(_ presenter: any FilePresenter) { state.withLock { $0.idle.removeAll { $0 === presenter } } }

    func member(for presenter: any FilePresenter) -> RegisteredPresenter? {
        state.withLock { $0.members.first { $0.presenter === presenter } }
    }

    var presenters: [any FilePresenter] { state.withLock { $0.members.compactMap(\.presenter) + $0.idle } }

    func mount(of member: RegisteredPresenter) -> MountPresenters? { state.withLock { $0.mounts[ObjectIdentifier(member)] } }

    /// Those who present an item or a folder that holds it; with `contents` those of what is in it too. In the order they
    /// came.
    private func audience(of path: AbsolutePath, contents: Bool, besides own: (any FilePresenter)?) -> [RegisteredPresenter] {
        state.withLock { state in
            guard !state.members.isEmpty else { return [] }
            var found: Set<ObjectIdentifier> = []
            var place = path
            while true {
                for member in state.places[place] ?? [] { found.insert(ObjectIdentifier(member)) }
                if place.isRoot { break }
                place = place.parent
            }
            if contents {
                for (place, members) in state.places where place.isInside(path) {
                    for member in members { found.insert(ObjectIdentifier(member)) }
                }
            }
            guard !found.isEmpty else { return [] }
            return state.members.filter { member in
                found.contains(ObjectIdentifier(member)) && (own == nil || member.presenter !== own)
            }
        }
    }

    // MARK: - Asking

    /// How long a presenter of this process has to answer: as long as one in a mount has by default.
    private static let timeout = Duration.seconds(2)

    /// Asks the presenters of this process before an access, and waits for their answers. What they relinquished is to be
    /// ended when the access is over.
    func ask(
        for items: [AccessItem], besides own: (any FilePresenter)?, _ wait: AccessWait
    ) throws(FileCoordinationError) -> [Relinquishment] {
        let answers = Answers()
        var relinquished: [Relinquishment] = []
        for item in items {
            guard let question = item.intent.question(at: item.path) else { continue }
            for member in audience(of: item.path, contents: item.intent.coversContents, besides: own) where !member.isSilent {
                answers.expect(member)
                relinquished.append(member.ask(question) { answers.came(from: member, $0) })
            }
        }
        guard !relinquished.isEmpty else { return [] }
        do throws(FileCoordinationError) {
            try wait.run(interrupt: answers.wake) { () throws(FileCoordinationError) in
                let end = ContinuousClock.now + Self.timeout
                while answers.areMissing, !wait.isCancelled, .now < end { answers.pause(until: end) }
            }
            for member in answers.late {
                member.note(silence: true)
                log.warning("\(member.path): its presenter does not answer, and is not asked again before it does")
            }
            if let failure = answers.failure { throw .failed("who shows the document could not let it go: \(failure)") }
            return relinquished
        } catch {
            for each in relinquished { each.end() }
            throw error
        }
    }

    /// What presenters have answered so far.
    private final class Answers: Sendable {
        private struct State {
            var late: [RegisteredPresenter] = []
            var failure: String?
        }
        /// A leaf lock.
        private let state = Mutex(State())
        private let news = DispatchSemaphore(value: 0)

        var areMissing: Bool { state.withLock { !$0.late.isEmpty } }
        var late: [RegisteredPresenter] { state.withLock { $0.late } }
        var failure: String? { state.withLock { $0.failure } }

        func expect(_ member: RegisteredPresenter) { state.withLock { $0.late.append(member) } }

        func came(from member: RegisteredPresenter, _ failure: String?) {
            state.withLock { state in
                if let index = state.late.firstIndex(where: { $0 === member }) { state.late.remove(at: index) }
                state.failure = state.failure ?? failure
            }
            news.signal()
        }

        @Sendable func wake() { news.signal() }

        func pause(until end: ContinuousClock.Instant) {
            let left = (end - .now).components
            _ = news.wait(timeout: .now() + max(Double(left.seconds) + Double(left.attoseconds) / 1e18, 0))
        }
    }

    // MARK: - Telling

    /// Tells the presenters of this process of something that it has done itself.
    func tell(_ change: ItemChange, besides own: (any FilePresenter)?) {
        let takesContents = change.kind == .moved || change.kind == .deleted
        var members = audience(of: change.path, contents: change.kind == .deleted, besides: own)
        if let old = change.oldPath {
            let others = audience(of: old, contents: takesContents, besides: own)
            members += others.filter { other in !members.contains { $0 === other } }
        }
        for member in members { tell(member, change) }
    }

    /// Tells one presenter, and keeps up with where its item is.
    func tell(_ member: RegisteredPresenter, _ change: ItemChange) {
        let old = member.path
        if let new = member.tell(change) { place(member, from: old, to: new) }
    }

    /// Follows a move that a presenter's own coordinator made.
    func follow(_ presenter: any FilePresenter, from old: AbsolutePath, to new: AbsolutePath) {
        guard let member = member(for: presenter) else { return }
        let place = member.path
        if let moved = member.follow(from: old, to: new) { self.place(member, from: place, to: moved) }
    }

    private func place(_ member: RegisteredPresenter, from old: AbsolutePath, to new: AbsolutePath) {
        state.withLock { state in
            state.leave(member, old)
            guard state.members.contains(where: { $0 === member }) else { return }
            state.places[new, default: []].append(member)
        }
    }

    // MARK: - Outside of mounts

    private let hasNoted = Mutex(false)

    /// Says once that an item is in no mount.
    func noteUncoordinated(_ path: AbsolutePath) {
        let isFirst = hasNoted.withLock { hasNoted in
            defer { hasNoted = true }
            return !hasNoted
        }
        if isFirst {
            log.notice("\(path) is in no Quire mount: what is outside of mounts is coordinated within this process only")
        }
    }
}
