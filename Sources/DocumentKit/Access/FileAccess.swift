import Foundation
import Glibc
import MountClient
import MountProtocol
import Synchronization

/// A granted access, until its accessor has ended.
final class FileAccess: Sendable {
    /// What keeps others out.
    enum Hold: Sendable {
        /// `isOwn`: the channel is this access's, and not that of one around it.
        case claim(ClaimChannel, GrantedClaim, isOwn: Bool)
        case local(UInt64)
    }

    struct State {
        /// The accessors that rely on it: its own, and those of accesses that it includes.
        var users = 1
        var discards = false
        /// Temporary folders with copies that accessors were given.
        var copies: [URL] = []
    }

    let items: [AccessItem]
    let coordinator: FileCoordinator
    let holds: [Hold]
    private let relinquished: [Relinquishment]
    /// Accesses of the same coordinator that include this one, which then holds nothing itself.
    private let included: [FileAccess]
    /// Whether presenters are told of what was written.
    private let announces: Bool
    /// A leaf lock.
    let state = Mutex(State())

    init(
        _ items: [AccessItem], of coordinator: FileCoordinator, holds: [Hold], relinquished: [Relinquishment],
        included: [FileAccess] = [], announces: Bool = true
    ) {
        (self.items, self.coordinator, self.holds) = (items, coordinator, holds)
        (self.relinquished, self.included, self.announces) = (relinquished, included, announces)
    }

    var isWriting: Bool { items.contains { $0.intent.isWriting } }

    /// Whether an item is one that it writes, or is in one.
    func writes(_ path: AbsolutePath) -> Bool {
        items.contains { $0.intent.isWriting && ($0.path == path || path.isInside($0.path)) }
    }

    /// Another access relies on it. False if it has ended.
    func join() -> Bool {
        state.withLock { state in
            guard state.users > 0 else { return false }
            state.users += 1
            return true
        }
    }

    /// The accessor has ended, or one that relied on this: with the last the hold ends. Throws if what was written within it
    /// was not published, or if others were not kept out all the time.
    ///
    /// - Parameter discards: what was saved within it is dropped.
    func end(discards: Bool) throws(FileCoordinationError) { try leave(discards: discards, isOwner: true) }

    /// What has joined it has ended.
    func leave() throws(FileCoordinationError) { try leave(discards: false, isOwner: false) }

    private func leave(discards: Bool, isOwner: Bool) throws(FileCoordinationError) {
        let (isLast, discards) = state.withLock { state in
            state.users -= 1
            if isOwner { state.discards = discards }
            return (state.users == 0, state.discards)
        }
        if isOwner, announces, !discards { announce() }
        guard isLast else { return }
        coordinator.forget(self)
        defer {
            for each in relinquished { each.end() }
            removeCopies()
        }
        var failure: FileCoordinationError?
        for hold in holds.reversed() {
            do throws(FileCoordinationError) {
                try Self.release(hold, discards: discards, of: self)
            } catch {
                failure = failure ?? error
            }
        }
        for outer in included {
            do throws(FileCoordinationError) { try outer.leave() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// - Parameter access: its pictures become thumbnails of what is published.
    static func release(_ hold: Hold, discards: Bool, of access: FileAccess? = nil) throws(FileCoordinationError) {
        switch hold {
        case .local(let id): LocalAccessTable.shared.release(id)
        case .claim(let channel, let claim, let isOwn):
            do throws(ServiceCallError) {
                let pictures = access.map { $0.coordinator.takeThumbnails(of: $0, in: channel.mount) } ?? []
                try channel.release(claim, discards: discards, pictures: discards ? [] : pictures)
                if isOwn { ClaimChannels.shared.give(channel) }
            } catch {
                if isOwn { ClaimChannels.shared.drop(channel) }
                throw FileCoordinationError(error, in: channel.mount)
            }
        }
    }

    /// Tells the presenters of this process what its coordinator has done. A mount's daemon tells those of others.
    private func announce() {
        let moved = coordinator.takeMoves(of: items.map(\.path))
        for item in items where item.intent.isWriting && !moved.contains(item.path) {
            let kind: FileEvent.Kind
            switch (item.wasThere, item.path.exists) {
            case (true, true): kind = item.intent.isMetadataOnly ? .attributesChanged : .changed
            case (false, true): kind = .appeared
            case (true, false): kind = .deleted
            case (false, false): continue
            }
            PresenterRegistry.shared.tell(ItemChange(kind, at: item.path), besides: coordinator.filePresenter)
        }
    }

    // MARK: - Accesses within accesses

    /// The access whose accessor runs here: on this thread, in this task.
    static var current: FileAccess? {
        guard let running, running.place == Place.here else { return nil }
        return running.access
    }

    /// Runs an accessor, so that accesses within it are known to be.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        try Self.$running.withValue(Running(access: self, place: .here), operation: body)
    }

    nonisolated(nonsending) func run<Result>(_ body: nonisolated(nonsending) () async throws -> Result) async rethrows -> Result {
        try await Self.$running.withValue(Running(access: self, place: .here), operation: body)
    }

    /// Tasks inherit it that are started within and may go on for longer, or beside each other: these are not within.
    @TaskLocal private static var running: Running?

    struct Running: Sendable {
        let access: FileAccess
        let place: Place
    }

    enum Place: Hashable, Sendable {
        case task(Int)
        case thread(UInt)

        static var here: Place {
            withUnsafeCurrentTask { task in task.map { .task($0.hashValue) } } ?? .thread(UInt(pthread_self()))
        }
    }
}
