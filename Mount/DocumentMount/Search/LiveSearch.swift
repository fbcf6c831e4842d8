import CLinux
import DocumentIndex
import Glibc
import MountProtocol
import QueryLanguage
import StorePrimitives
import Synchronization

/// The results of a search that one program watches: all of them first, then what has changed.
final class LiveSearch: SearchFeed {
    private struct Shown: Equatable {
        let id: DocumentID
        let path: StorePath
        let size: Int64
        let modified: Timestamp
    }
    private struct State {
        var shown: [Shown] = []
        /// Nil before the first results.
        var last: (isComplete: Bool, hasMore: Bool)?
    }

    private let mount: MountedStore
    private let request: SearchRequest
    private let order: SearchOrder
    private let limit: Int
    private let caller: Credentials
    private let share: TakenShare
    private let id: LiveSearches.ID
    /// Nil for more searches than those whose results may be kept in memory.
    private let memory: SearchMemory?
    /// Used by one call of `next` at a time.
    private let state = Mutex(State())

    /// - Parameter share: of as many documents as the limit.
    init(
        _ mount: MountedStore, _ request: SearchRequest, _ order: SearchOrder, limit: Int, for caller: Credentials, _ share: TakenShare,
        wake: @escaping @Sendable () -> Void
    ) {
        (self.mount, self.request, self.order, self.limit) = (mount, request, order, limit)
        (self.caller, self.share) = (caller, share)
        let (id, remembers) = mount.liveSearches.begin(for: caller.uid, wake)
        (self.id, memory) = (id, remembers ? SearchMemory() : nil)
    }

    func next() throws(ServiceFailure) -> ResultChanges? {
        // The service asks for the next reply as soon as it has sent one.
        guard mount.liveSearches.isDue(id) else { return nil }
        let begun = cl_monotonic_ns()
        let isFirst = state.withLock { $0.last == nil }
        // The first one may have read the index into memory.
        defer { if !isFirst { mount.liveSearches.made(id, in: cl_monotonic_ns() - begun) } }
        // Asked before the search: what a scan finds after that changes the results again.
        let isComplete = mount.hasScanned
        let (documents, hasMore) = try mount.documents(request, order, limit: limit, for: caller, remembering: memory)
        let now = documents.map { Shown(id: $0.id, path: $0.path, size: $0.size, modified: $0.modified) }
        return state.withLock { state in
            defer { (state.shown, state.last) = (now, (isComplete, hasMore)) }
            let difference = ListDifference(from: state.shown.map(\.id), to: now.map(\.id))
            let old = Dictionary(state.shown.map { ($0.id, $0) }) { first, _ in first }
            let changed = now.enumerated().filter { _, new in old[new.id].map { $0 != new } ?? false }.map(\.offset)
            let isNew = state.last.map { $0 != (isComplete, hasMore) } ?? true
            guard isNew || !difference.isEmpty || !changed.isEmpty else { return nil }
            func placed(_ places: [Int]) -> [PlacedDocument] { places.map { PlacedDocument(at: $0, document: mount.shown(documents[$0])) } }
            return ResultChanges(
                complete: isComplete, more: hasMore, removed: difference.removed,
                moved: difference.moved.map { PlaceChange(from: $0.from, to: $0.to) }, inserted: placed(difference.inserted), changed: placed(changed))
        }
    }

    func end() { mount.liveSearches.end(id) }

    deinit { end() }
}
