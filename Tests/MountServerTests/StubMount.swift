import Glibc
import MountProtocol
import Synchronization

/// A mount service with fixed answers that keeps what it was asked.
final class StubMount: MountService {
    let asked = Mutex<[String]>([])
    let lastPeer = Mutex<Peer?>(nil)

    static let status = MountStatus(
        pid: 42, version: "1", mode: .beside, system: false, readOnly: false, store: DocumentPath("/store".utf8),
        mountpoint: DocumentPath([0x2f, 0xff]), passthrough: false, passthroughReason: "no privilege",
        gather: .init(state: "done", documents: 3, folders: 2),
        openSaves: [
            .init(path: DocumentPath("/store/b".utf8), pid: 8, process: "cp", state: "open", age: 1.5, idle: 0.5, bytes: 4096)
        ],
        openWriters: [
            .init(
                path: DocumentPath("/store/a".utf8), pid: 7, process: "vim", reason: "newFile", explanation: "It was made.")
        ],
        coordination: CoordinationStatus(
            claims: [
                .init(
                    id: 3, state: "begun", paths: [DocumentPath("/store/c".utf8)], writing: true, pid: 9, process: "quire", uid: 0,
                    purpose: "sync", age: 0.25, behind: [1], unpublished: 2)
            ],
            waitingOpens: 1,
            presenters: [
                .init(
                    path: DocumentPath("/store".utf8), contents: true, pid: 10, process: "viewer", uid: 1000, unsaved: false,
                    silent: true)
            ],
            presenterCount: 1,
            locks: [
                .init(path: DocumentPath("/store/d".utf8), kind: "flock", exclusive: true, start: 0, end: nil, pid: 11, waits: false)
            ]),
        shares: [.init(resource: "claims", used: 1, limit: 2, usedByAll: nil, limitOfAll: 4, answer: "Failed", reason: "of one")],
        relays: ["smbd"], thumbnailTrouble: nil, counters: ["nodes": 5])

    private func note(_ call: String, _ peer: Peer) {
        asked.withLock { $0.append(call) }
        lastPeer.withLock { $0 = peer }
    }

    func status(for peer: Peer) throws(ServiceFailure) -> MountStatus {
        note("status", peer)
        return Self.status
    }
    func renameTag(_ old: String, to new: String, merges: Bool, for peer: Peer) throws(ServiceFailure) {
        note("\(merges ? "merge" : "rename") \(old) \(new)", peer)
        if old == "missing" { throw .notFound(old) }
        if old == "foreign" { throw .permissionDenied(old) }
    }
    func refusal(of path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> String? {
        note("why \(path.wire)", peer)
        return path.wire.hasSuffix("drawn") ? nil : "it is empty"
    }
    /// Whether the call that clears `/long` goes on.
    let mayGoOn = Atomic<Bool>(false)

    func clearThumbnails(in path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> Int {
        note("clear \(path.wire)", peer)
        while path.wire == "/long", !mayGoOn.load(ordering: .relaxed) { usleep(1_000) }
        return 3
    }
    func search(_ request: SearchRequest, for peer: Peer) throws(ServiceFailure) -> FoundDocuments {
        note("search \(request.query) \(request.limit ?? 0) \(request.order ?? "-")", peer)
        if request.query == "(" { throw .invalidQuery("this parenthesis is not closed", 0..<1) }
        return FoundDocuments(documents: [Self.found], more: true)
    }
    static let found = FoundDocument(id: 7, path: DocumentPath([0x2f, 0xff]), size: 1 << 40, modified: 1.5)

    let results = StubResults()

    func watchSearch(_ request: SearchRequest, for peer: Peer, wake: @escaping @Sendable () -> Void) throws(ServiceFailure) -> any SearchFeed {
        note("watch \(request.query) \(request.limit ?? 0) \(request.folder?.wire ?? "-")", peer)
        if request.query == "(" { throw .invalidQuery("this parenthesis is not closed", 0..<1) }
        results.wake.withLock { $0 = wake }
        return results
    }
    func grant(_ path: DocumentPath, readOnly: Bool, seconds: Double?, for peer: Peer) throws(ServiceFailure) -> GrantedScope {
        GrantedScope(token: "token", place: DocumentPath("/m/.scopes/token/é".utf8), path: path, readOnly: readOnly, seconds: seconds)
    }
    func revokeGrants(token: String?, path: DocumentPath?, for peer: Peer) throws(ServiceFailure) -> Int {
        asked.withLock { $0.append("revoke \(token ?? "-") \(path?.wire ?? "-")") }
        return 2
    }
    func grants(for peer: Peer) throws(ServiceFailure) -> [GrantedScope] {
        [try grant(DocumentPath([0x2f, 0xff]), readOnly: true, seconds: nil, for: peer)]
    }
    func createBookmark(_ path: DocumentPath, for peer: Peer) throws(ServiceFailure) -> String { "mark-of-\(path.wire)" }
    func resolveBookmark(_ bookmark: String, for peer: Peer) throws(ServiceFailure) -> ResolvedBookmark {
        bookmark == "a" ? ResolvedBookmark(state: .stale, path: DocumentPath([0x2f, 0xff])) : ResolvedBookmark(state: .forged)
    }
    func textState(of document: DocumentPath, for peer: Peer) throws(ServiceFailure) -> TextStateReply {
        note("text \(document.wire)", peer)
        return TextStateReply(state: "failed", reason: "it took too long", time: 1.5, length: 0, attempts: 2)
    }
    func textStatus(for peer: Peer) throws(ServiceFailure) -> TextStatusReply {
        TextStatusReply(state: "reading", indexed: 3, nothing: 2, failed: 1, bytes: 4_096, current: DocumentPath([0x2f, 0xff]))
    }
    func pauseTexts(_ isPaused: Bool, for peer: Peer) throws(ServiceFailure) { note("pause \(isPaused)", peer) }
    func rebuildTexts(for peer: Peer) throws(ServiceFailure) { throw .permissionDenied("not yours") }
    func changeTags(of paths: [DocumentPath], adding: [String], removing: [String], for peer: Peer) throws(ServiceFailure) -> [PathFailure] {
        note("tags \(paths.map(\.wire)) +\(adding) -\(removing)", peer)
        return []
    }
    func undoTagRemoval(for peer: Peer) throws(ServiceFailure) -> Int { 4 }
    func recents(limit: Int, for peer: Peer) throws(ServiceFailure) -> [RecentDocument] {
        note("recents \(limit)", peer)
        return [RecentDocument(path: DocumentPath("/store/é".utf8), used: 1.5)]
    }
    func forgetRecents(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) {
        note("forget \(paths.map(\.wire))", peer)
    }
    func noteUses(_ uses: [RecentDocument], for peer: Peer) throws(ServiceFailure) { note("uses \(uses.map(\.path.wire))", peer) }
    func favorites(for peer: Peer) throws(ServiceFailure) -> [FavoriteItem] {
        [FavoriteItem(path: DocumentPath([0x2f, 0xff]), folder: true, added: 1.5)]
    }
    func addFavorites(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) -> [PathFailure] {
        note("mark \(paths.map(\.wire))", peer)
        return []
    }
    func removeFavorites(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) -> [PathFailure] {
        paths.map { PathFailure(path: $0, message: "is no favorite") }
    }
    func tags(for peer: Peer) throws(ServiceFailure) -> [TagCount] {
        // Longer than any socket buffer, to meet a peer that does not read.
        (0..<20_000).map { TagCount(name: "tag number \($0)", count: $0) }
    }

    /// Nine hundred versions, told four hundred at a time.
    static let versions: [RecoverableVersion] = (UInt64(1)...900).reversed().map { number in
        let saver: RecoverableVersion.Saver? = number % 3 == 0 ? nil : .init(pid: 7, process: "vim", uid: 1000)
        return RecoverableVersion(
            id: number, path: DocumentPath([0x2f, 0xff, 0x41]), time: 1.25, size: 1 << 40, hasContent: number % 2 == 0,
            saver: saver, reason: "killed", explanation: "its process was ended by signal 9", owner: 1, group: 2, mode: 0o640)
    }
    func keptVersions(before: UInt64?, for peer: Peer) throws(ServiceFailure) -> [RecoverableVersion] {
        note("kept \(before.map { "before \($0)" } ?? "all")", peer)
        return Array(Self.versions.filter { $0.id < before ?? .max }.prefix(400))
    }
    func keptContent(of id: UInt64, from offset: Int64, count: Int, for peer: Peer) throws(ServiceFailure) -> RecoveredPart {
        note("read \(id) \(offset) \(count)", peer)
        if id == 1 { throw .failed("too large") }
        return RecoveredPart(offset: offset + 4, bytes: Array(repeating: UInt8(truncatingIfNeeded: id), count: count))
    }
    let feed = StubFeed()

    func watch(
        _ request: WatchRequest, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any EventFeed {
        note("watch \(request.path?.wire ?? "all") \(request.since ?? 0) \(request.kinds ?? [])", peer)
        if request.kinds == ["wrong"] { throw .invalidParameter("kinds") }
        feed.wake.withLock { $0 = wake }
        return feed
    }
    let claims = Mutex<[StubClaim]>([])

    /// Half of the claims, so that both ways of answering are used.
    func isBrief(_ request: ClaimCall, for peer: Peer) -> Bool { request.intents.first?.access == .writing }

    func claim(
        _ request: ClaimCall, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any ServedClaim {
        if request.purpose == "forbidden" { throw .permissionDenied("doc") }
        return claims.withLock { claims in
            claims.append(StubClaim(id: UInt64(claims.count + 1), request, wake))
            return claims.last!
        }
    }

    let presenters = StubPresenters()

    func attend(for peer: Peer, wake: @escaping @Sendable () -> Void) throws(ServiceFailure) -> any ServedPresenters {
        presenters.wake.withLock { $0 = wake }
        return presenters
    }

    func dropKeptVersion(_ id: UInt64, for peer: Peer) throws(ServiceFailure) {
        note("drop \(id)", peer)
        if id == 1 { throw .notFound("version 1") }
    }
    func keepPresentVersion(of document: DocumentPath, for peer: Peer) throws(ServiceFailure) -> UInt64? {
        note("keep \(document.wire)", peer)
        return document.bytes.last == 0xff ? nil : 12
    }
}

/// Events that a test makes.
final class StubFeed: EventFeed {
    let wake = Mutex<(@Sendable () -> Void)?>(nil)
    let isEnded = Atomic<Bool>(false)
    private let waiting = Mutex<[WatchedEvent]>([])
    private let last = Mutex<UInt64>(0)

    static func event(_ number: UInt64) -> WatchedEvent {
        WatchedEvent(
            seq: number, kind: "changed", id: 7, path: DocumentPath("/store/\(number)".utf8), oldPath: nil, generation: number,
            time: 1.5, pid: 42, uid: 1000, process: "vim")
    }

    /// Adds events, numbered on.
    func add(_ count: Int) {
        let first = last.withLock { last in
            defer { last += UInt64(count) }
            return last + 1
        }
        waiting.withLock { $0 += (first..<first + UInt64(count)).map(Self.event) }
        wake.withLock { $0 }?()
    }

    func next(limit: Int) -> WatchedEvents {
        waiting.withLock { waiting in
            let taken = Array(waiting.prefix(limit))
            waiting.removeFirst(taken.count)
            return WatchedEvents(events: taken, overflow: false, next: taken.last?.seq ?? 0)
        }
    }

    func end() { isEnded.store(true, ordering: .relaxed) }
}

/// A claim that a test decides.
final class StubClaim: ServedClaim {
    let id: UInt64
    let request: ClaimCall
    private let wake: @Sendable () -> Void
    private let decision = Mutex<Result<GrantedClaim, ServiceFailure>?>(nil)
    let endings = Mutex<[ClaimEnd]>([])

    init(id: UInt64, _ request: ClaimCall, _ wake: @escaping @Sendable () -> Void) {
        (self.id, self.request, self.wake) = (id, request, wake)
    }

    func decide(_ failure: ServiceFailure? = nil) {
        decision.withLock { $0 = failure.map { .failure($0) } ?? .success(GrantedClaim(claim: id)) }
        wake()
    }

    func outcome() throws(ServiceFailure) -> GrantedClaim? { try decision.withLock { $0 }?.get() }

    func end(_ end: ClaimEnd, pictures: [DocumentPicture]) { endings.withLock { $0.append(end) } }

    var endsAtOnce: Bool { true }

    var ended: [ClaimEnd] { endings.withLock { $0 } }
}

/// Presenters that keep what they were asked.
final class StubPresenters: ServedPresenters {
    let wake = Mutex<(@Sendable () -> Void)?>(nil)
    let asked = Mutex<[String]>([])
    private let waiting = Mutex<[PresenterMessage]>([])

    private func note(_ call: String) { asked.withLock { $0.append(call) } }

    func tell(_ message: PresenterMessage) {
        waiting.withLock { $0.append(message) }
        wake.withLock { $0 }?()
    }

    func present(_ item: PresentedItem) throws(ServiceFailure) -> UInt64 {
        note("present \(item.path) \(item.contents ?? false) \(item.unsaved ?? false)")
        return 7
    }
    func withdraw(_ presenter: UInt64) throws(ServiceFailure) {
        note("withdraw \(presenter)")
        if presenter != 7 { throw .notFound("presenter \(presenter)") }
    }
    func setUnsavedChanges(_ hasChanges: Bool, of presenter: UInt64) throws(ServiceFailure) {
        note("unsaved \(presenter) \(hasChanges)")
    }
    func answer(_ question: UInt64, from presenter: UInt64, failure: String?) throws(ServiceFailure) {
        note("answer \(question) \(presenter) \(failure ?? "-")")
    }
    let isBrief = true

    func next(limit: Int) -> PresenterMessages {
        waiting.withLock { waiting in
            let taken = Array(waiting.prefix(limit))
            waiting.removeFirst(taken.count)
            return PresenterMessages(messages: taken, overflow: false)
        }
    }
    func end() { note("end") }
}

/// The results of a search: a document more with each change, until that fails.
final class StubResults: SearchFeed {
    let wake = Mutex<(@Sendable () -> Void)?>(nil)
    private let waiting = Mutex<[Result<ResultChanges, ServiceFailure>]>([])
    let isEnded = Atomic<Bool>(false)

    func add(_ changes: Result<ResultChanges, ServiceFailure>) {
        waiting.withLock { $0.append(changes) }
        wake.withLock { $0 }?()
    }

    func next() throws(ServiceFailure) -> ResultChanges? {
        let next = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        return try next?.get()
    }

    func end() { isEnded.store(true, ordering: .relaxed) }
}
