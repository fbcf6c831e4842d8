import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import Synchronization

/// The results of a query after something has changed in them.
public struct MetadataUpdate: Hashable, Sendable {
    public struct Move: Hashable, Sendable {
        public let from, to: Int
    }

    /// All of them, in order.
    public let items: [MetadataItem]
    /// The mount has met all its documents: more come only as the documents change. (`NSMetadataQueryDidFinishGathering`.)
    public let isComplete: Bool
    /// There are more than the query's limit.
    public let hasMore: Bool
    /// Places in the items of the update before, rising.
    public let removed: [Int]
    /// From places in the items before to places in `items`.
    public let moved: [Move]
    /// Places in `items`, rising.
    public let inserted: [Int]
    /// Places in `items` of documents that were there before, and have another URL, size or date, rising.
    public let changed: [Int]

    fileprivate init(from old: [MetadataItem], to items: [MetadataItem], isComplete: Bool, hasMore: Bool) {
        (self.items, self.isComplete, self.hasMore) = (items, isComplete, hasMore)
        let difference = ListDifference(from: old.map(\.id), to: items.map(\.id))
        let before = Dictionary(old.map { ($0.id, $0) }) { first, _ in first }
        (removed, inserted) = (difference.removed, difference.inserted)
        moved = difference.moved.map { Move(from: $0.from, to: $0.to) }
        changed = items.enumerated().filter { _, item in before[item.id].map { $0 != item } ?? false }.map(\.offset)
    }

    fileprivate var isDifferent: Bool { !removed.isEmpty || !moved.isEmpty || !inserted.isEmpty || !changed.isEmpty }
}

/// The results of a query, from ``MetadataQuery/updates``: first all of them, then, each time that something has changed, those of now
/// with the differences. Ends with its task.
///
/// A program that takes updates slowly gets fewer: each has all that has changed since the one before. If the mount's daemon dies, the sequence
/// goes on when the mount is back.
public struct MetadataUpdates: AsyncSequence, Sendable {
    public typealias Element = MetadataUpdate
    public typealias Failure = FileCoordinationError

    let query: MetadataQuery

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let feed: MetadataFeed

        /// Waits for the next update; nil if the task was cancelled.
        /// - Throws: what ``MetadataQuery/results()`` throws.
        public mutating func next() async throws(FileCoordinationError) -> MetadataUpdate? { try await feed.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(FileCoordinationError) -> MetadataUpdate? {
            try await feed.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: MetadataFeed(query)) }
}

/// The results as one iterator has been told of them.
private final class MetadataFeed: Sendable {
    private struct State {
        var connection: ServiceConnection?
        var items: [MetadataItem] = []
        var last: (isComplete: Bool, hasMore: Bool)?
    }

    private let query: MetadataQuery
    /// Held while an update is waited for: an iterator has one `next` at a time.
    private let state = Mutex(State())
    private struct Ending {
        var isCancelled = false
        var breaker: ConnectionBreaker?
    }
    /// A leaf lock.
    private let ending = Mutex(Ending())

    /// How long a mount may be without its daemon.
    private static let longestAbsence = Duration.seconds(10)
    private static let retryPause: UInt32 = 50_000

    init(_ query: MetadataQuery) { self.query = query }

    func next() async throws(FileCoordinationError) -> MetadataUpdate? {
        let answer = await withTaskCancellationHandler {
            await WaitingThreads.queries.result { [self] () -> Result<MetadataUpdate?, FileCoordinationError> in
                do throws(FileCoordinationError) { return .success(try wait()) } catch { return isCancelled ? .success(nil) : .failure(error) }
            }
        } onCancel: {
            let breaker = ending.withLock { ending in
                ending.isCancelled = true
                return ending.breaker
            }
            breaker?.cut()
        }
        return try answer.get()
    }

    private var isCancelled: Bool { ending.withLock { $0.isCancelled } }

    private func wait() throws(FileCoordinationError) -> MetadataUpdate? {
        let answer = state.withLock { state -> Result<MetadataUpdate?, FileCoordinationError> in
            do throws(FileCoordinationError) {
                while !isCancelled { if let update = try update(&state) { return .success(update) } }
                return .success(nil)
            } catch { return .failure(error) }
        }
        return try answer.get()
    }

    /// The next reply as an update; nil if it says nothing new, as the first one after the daemon was gone may.
    private func update(_ state: inout State) throws(FileCoordinationError) -> MetadataUpdate? {
        let target = try MetadataTarget(query)
        let isNew = state.connection == nil
        let connection: ServiceConnection
        if let known = state.connection { connection = known } else { connection = try connect(target, isAgain: state.last != nil) }
        state.connection = connection
        let changes: ResultChanges
        do throws(ServiceCallError) {
            guard let reply = try connection.nextReply(to: SearchInterface.watch) else { throw .disconnected }
            changes = reply
        } catch {
            state.connection = nil
            if case .disconnected = error, !isCancelled, state.last != nil { return nil }
            throw FileCoordinationError(error, in: target.mount)
        }
        let items = changes.applied(to: isNew ? [] : state.items, MetadataItem.init)
        let update = MetadataUpdate(from: state.items, to: items, isComplete: changes.complete, hasMore: changes.more)
        let isToldOf = state.last.map { $0 != (changes.complete, changes.more) } ?? true
        (state.items, state.last) = (items, (changes.complete, changes.more))
        return isToldOf || update.isDifferent ? update : nil
    }

    /// - Parameter isAgain: the daemon was there before, and may come back.
    private func connect(_ target: MetadataTarget, isAgain: Bool) throws(FileCoordinationError) -> ServiceConnection {
        let deadline = ContinuousClock.now + Self.longestAbsence
        while true {
            do throws(FileCoordinationError) {
                let connection = try target.watch()
                ending.withLock { ending in
                    ending.breaker = connection.breaker
                    if ending.isCancelled { connection.breaker.cut() }
                }
                return connection
            } catch {
                guard isAgain, case .disconnected = error, ContinuousClock.now < deadline, !isCancelled else { throw error }
                usleep(Self.retryPause)
            }
        }
    }
}
