import CLinux
import Coordination
import DocumentIndex
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import Synchronization

/// What the mount's operations and its watcher tell, in order: the index, whose own thread takes it in batches, and whoever
/// listens to events. Telling costs a lock and an append for each of the two. What is saved within a claim is told of when it is
/// published.
final class ChangeJournal: Sendable {
    enum Event: Sendable {
        /// A document was made, written or replaced: look at it.
        case present(StorePath)
        /// A user changed attributes or the size of a document: look at it.
        case touched(StorePath, by: uid_t)
        /// A name is gone: a document, or a folder with all in it.
        case absent(StorePath)
        case moved(from: StorePath, to: StorePath, isFolder: Bool, takesOverTarget: Bool, by: Caller)
        /// Moved by others; with inotify, by the mount itself too, which told of it before.
        case movedOutside(from: StorePath, to: StorePath, isFolder: Bool)
        case exchanged(StorePath, StorePath, areFolders: Bool)
        /// Made under the name that a document had before it was moved aside.
        case madeAnew(StorePath, takingOverFrom: StorePath)
        case opened(Node, uid_t, ReaderProcess, flags: Int32, at: Int64)
        case written(StorePath, Caller, at: Int64)
        /// A user took tags from a document.
        case tagsTaken([Tag], from: StorePath, by: uid_t, at: Int64, canBeUndone: Bool)
        /// A user removed a tag that no document has any more. `keeper`: who keeps it no longer; nil: nobody does.
        case tagDropped(Tag, by: uid_t, keeper: uid_t?, at: Int64)
        /// Another document or folder stands here than before.
        case replaced(StorePath)
        /// More happened than was kept: scan again.
        case overflow
    }

    private struct State {
        var events: [Event] = []
        /// The names of documents and tags that the events are about in folders of `.tags`; nil: any may be.
        var names: Set<EntryName>? = []
        /// The users who have taken tags from documents by the events.
        var takers: [Tag: Set<uid_t>] = [:]
        var isListening = true
    }
    private let state = Locked(State())
    private let wake = Signal()
    private let isEnding = Atomic<Bool>(false)
    private let ending = Signal()
    private let readers = ReaderProcesses()
    private static let capacity = 200_000
    private static let mostNames = 50_000

    /// On the monotonic clock.
    private let lastEvent = Atomic<Int64>(.min / 2)
    private static let useLasts: Int64 = 50_000_000

    /// Whether documents are opened or changed just now.
    var isInUse: Bool { cl_monotonic_ns() - lastEvent.load(ordering: .relaxed) < Self.useLasts }

    let events: EventHub
    /// Told of each event when it happens, on whatever thread that is; it may take no lock but leaves.
    /// Safe: set before the mount serves.
    nonisolated(unsafe) var follower: (@Sendable (Event) -> Void)?
    /// Called after something was told, with the same rules.
    /// Safe: set before the mount serves.
    nonisolated(unsafe) var onChange: (@Sendable () -> Void)?

    init(events: EventHub) { self.events = events }

    // MARK: - Done through the mount

    /// Something was made, or got a name more. `isIndexed`: a document of which nothing more is told when it is closed.
    func made(in parent: Node, name: UnsafePointer<CChar>, by caller: Caller, isIndexed: Bool) {
        guard let path = pathOf(parent, name) else { return }
        events.tell(.appeared, path, in: parent.identity, by: .caller(caller))
        if isIndexed { append(.present(path)) }
    }

    func madeAnew(in parent: Node, name: UnsafePointer<CChar>, takingOverFrom aside: StorePath, by caller: Caller) {
        guard let path = pathOf(parent, name) else { return }
        // Who presents the document goes on with the new one.
        events.tell(.appeared, path, in: parent.identity, from: aside, by: .caller(caller))
        append(.madeAnew(path, takingOverFrom: aside))
    }

    func removed(in parent: Node, name: UnsafePointer<CChar>, by caller: Caller) {
        guard !HiddenName.isHidden(name), let path = pathOf(parent, name) else { return }
        events.tell(.deleted, path, in: parent.identity, by: .caller(caller))
        append(.absent(path))
    }

    func exchanged(
        _ first: (Node, UnsafePointer<CChar>), _ second: (Node, UnsafePointer<CChar>), areFolders: Bool, by caller: Caller
    ) {
        guard let one = pathOf(first.0, first.1), let other = pathOf(second.0, second.1) else { return }
        // Two moves in a row would put one over the other.
        events.tell(.changed, one, in: first.0.identity, by: .caller(caller))
        events.tell(.changed, other, in: second.0.identity, by: .caller(caller))
        append(.exchanged(one, other, areFolders: areFolders))
    }

    func moved(
        from: (Node, UnsafePointer<CChar>), to: (Node, UnsafePointer<CChar>), isFolder: Bool, replaces: Bool,
        takesOver: FileNameTunnel.Takeover, by caller: Caller
    ) {
        guard let old = pathOf(from.0, from.1), let new = pathOf(to.0, to.1) else { return }
        if HiddenName.isHidden(from.1) {
            // Nobody has been told of it by that name.
            events.tell(replaces ? .changed : .appeared, new, in: to.0.identity, by: .caller(caller))
            return append(.written(new, caller, at: Clock.now))
        }
        events.tell(.moved, new, in: to.0.identity, from: old, in: from.0.identity, by: .caller(caller), replaces: replaces && !isFolder)
        // For who shows the document it is the same one, saved.
        if replaces, !isFolder { events.tell(.changed, new, in: to.0.identity, by: .caller(caller)) }
        var takesOverTarget = false
        if case .target = takesOver { takesOverTarget = true }
        append(.moved(from: old, to: new, isFolder: isFolder, takesOverTarget: takesOverTarget, by: caller))
        if case .aside(let path) = takesOver { append(.madeAnew(new, takingOverFrom: path)) }
    }

    func opened(_ node: Node, _ caller: Caller, flags: Int32) {
        if isHidden(node) { return }
        append(.opened(node, caller.uid, readers.process(of: caller), flags: flags, at: Clock.now))
    }

    /// Whether presenters are to save before the caller reads.
    func mayAskPresenters(_ caller: Caller) -> Bool { readers.isPerson(caller) }

    func written(_ node: Node, _ caller: Caller) {
        guard !isHidden(node), let path = node.path else { return }
        events.tell(.changed, path, in: node.currentLink?.parent.identity, by: .caller(caller))
        append(.written(path, caller, at: Clock.now))
    }

    /// A save of a document came to nothing.
    func aborted(_ document: Node, _ caller: Caller) {
        guard !isHidden(document), let path = document.path else { return }
        events.tell(.saveAborted, path, in: document.currentLink?.parent.identity, by: .caller(caller))
    }

    func aborted(_ path: StorePath, _ caller: Caller) { events.tell(.saveAborted, path, by: .caller(caller)) }

    /// A document has one more version that can be had back, or one less.
    func versionKept(_ version: KeptVersion, _ change: KeptVersions.Change) {
        events.tell(change == .gained ? .versionGained : .versionLost, version.document, by: .user(version.charged), to: version.owner)
    }

    /// Attributes or the size changed. `isIndexed`: the index is to look at it.
    func touched(_ node: Node, by caller: Caller, _ event: StoreEvent.Kind? = .attributesChanged, isIndexed: Bool) {
        guard !isHidden(node), let path = node.path else { return }
        if let event { events.tell(event, path, in: node.currentLink?.parent.identity, by: .caller(caller)) }
        // Users may be able to read other documents now.
        if isIndexed { append(.touched(path, by: caller.uid)) } else { onChange?() }
    }

    // MARK: - Done by others

    /// `isIndexed`: it is about a document; folders are scanned. `isEvent`: nobody has been told of it.
    func changedOutside(
        _ kind: StoreEvent.Kind, _ path: StorePath, in folder: FileIdentity?, by actor: EventHub.Actor, isIndexed: Bool,
        isEvent: Bool = true
    ) {
        if isEvent { events.tell(kind, path, in: folder, by: actor) }
        if isIndexed { append(kind == .deleted ? .absent(path) : .present(path)) } else { onChange?() }
    }

    func movedOutside(
        from old: (path: StorePath, folder: FileIdentity), to new: (path: StorePath, folder: FileIdentity), isFolder: Bool,
        by actor: EventHub.Actor, isEvent: Bool
    ) {
        if isEvent { events.tell(.moved, new.path, in: new.folder, from: old.path, in: old.folder, by: actor) }
        append(.movedOutside(from: old.path, to: new.path, isFolder: isFolder))
    }

    /// A document is there that the index is to look at, and events tell of elsewhere.
    func present(_ path: StorePath) { append(.present(path)) }

    // MARK: - Tags

    /// A document has these tags or had them.
    func tagged(_ path: StorePath, _ tags: [Tag]) {
        guard has(path) else { return }
        put(.present(path), about: tags.flatMap(\.components) + (path.lastName.map { [$0] } ?? []))
    }

    func tagsTaken(_ tags: [Tag], from path: StorePath, by uid: uid_t, canBeUndone: Bool) {
        guard has(path) else { return }
        put(.tagsTaken(tags, from: path, by: uid, at: Clock.now, canBeUndone: canBeUndone), about: tags.flatMap(\.components))
        state.withLock { state in for tag in tags where !state.events.isEmpty { state.takers[tag, default: []].insert(uid) } }
    }

    /// Whether by the queued events the user has taken a tag from a document, and so keeps it.
    func isTaken(_ tag: Tag, by uid: uid_t) -> Bool { state.withLock { $0.takers[tag]?.contains(uid) ?? false } }

    func tagDropped(_ tag: Tag, by uid: uid_t, keeper: uid_t?) {
        state.withLock { $0.takers[tag] = nil }
        put(.tagDropped(tag, by: uid, keeper: keeper, at: Clock.now), about: tag.components)
    }

    /// The documents that have lost a tag by the queued events. Nil if other events are queued, by which documents may get it. O(events).
    func documents(losing tag: Tag) -> Set<StorePath>? {
        state.withLock { state in
            var (losing, changed): (Set<StorePath>, Set<StorePath>) = ([], [])
            for event in state.events {
                switch event {
                case .present(let path):
                    losing.remove(path)
                    changed.insert(path)
                case .tagsTaken(let tags, let path, _, _, _):
                    guard tags.contains(tag) else { continue }
                    changed.remove(path)
                    losing.insert(path)
                case .opened, .tagDropped: continue
                default: return nil
                }
            }
            return changed.isEmpty ? losing : nil
        }
    }

    var hasEvents: Bool { state.withLock { !$0.events.isEmpty } }

    enum Waiting { case nothing, others, concerned }

    /// Whether events wait, and may be about documents or tags of this name.
    func waiting(about name: EntryName) -> Waiting {
        state.withLock { state in
            if state.events.isEmpty { return .nothing }
            return state.names?.contains(name) ?? true ? .concerned : .others
        }
    }

    func overflow() {
        events.lose()
        append(.overflow)
    }

    /// Whether a file has a hidden name: a claim's version of a document, or what a program makes beside a granted one.
    private func isHidden(_ node: Node) -> Bool { node.currentLink.map { $0.isStaged || $0.name.withCString(HiddenName.isHidden) } ?? false }

    private func pathOf(_ parent: Node, _ name: UnsafePointer<CChar>) -> StorePath? {
        parent.path?.appending(EntryName(copying: name))
    }

    /// Whether the index has a place for a path: it has none for those that are too long to be opened.
    private func has(_ path: StorePath) -> Bool { path.bytes.count <= StorePath.longest }

    private func append(_ event: Event) {
        switch event {
        case .opened, .tagsTaken, .tagDropped: put(event, about: [])
        case .overflow: put(event)
        case .present(let path), .touched(let path, _), .absent(let path), .replaced(let path), .madeAnew(let path, _), .written(let path, _, _):
            if has(path) { put(event) }
        case .moved(let old, let new, let isFolder, _, _):
            if has(old), has(new) { return put(event) }
            if has(old) { put(.absent(old)) }
            if has(new) { put(isFolder ? .replaced(new) : .present(new)) }
        case .movedOutside(let old, let new, _):
            if has(old), has(new) { return put(event) }
            if has(old) { put(.absent(old)) }
            if has(new) { put(.replaced(new)) }
        case .exchanged(let one, let other, _):
            if has(one), has(other) { return put(event) }
            if has(one) { put(.replaced(one)) }
            if has(other) { put(.replaced(other)) }
        }
    }

    /// - Parameter names: see `State.names`.
    private func put(_ event: Event, about names: [EntryName]? = nil) {
        lastEvent.store(cl_monotonic_ns(), ordering: .relaxed)
        follower?(event)
        let isFirst = state.withLock { state -> Bool in
            guard state.isListening else { return false }
            if state.events.count >= Self.capacity { (state.events, state.names, state.takers) = ([.overflow], nil, [:]) }
            state.events.append(event)
            if let names, (state.names?.count ?? .max) < Self.mostNames { state.names?.formUnion(names) } else { state.names = nil }
            return state.events.count == 1
        }
        if isFirst { wake.signal() }
        onChange?()
    }

    /// Waits until there are events and no more come for `pause` seconds, for `longest` seconds at most; or for `idle` seconds
    /// if none come at all, nil: for as long as that takes. Not at all once `endWaiting` was called.
    func waitForPause(of pause: Double, atMost longest: Double, idle: Double?) {
        var count = state.withLock { $0.events.count }
        if count == 0 {
            if let idle { wake.wait(seconds: idle) } else { wake.wait() }
            count = state.withLock { $0.events.count }
        }
        var waited = 0.0
        while count > 0, count < Self.capacity / 2, waited < longest, !isEnding.load(ordering: .relaxed) {
            ending.wait(seconds: pause)
            waited += pause
            let now = state.withLock { $0.events.count }
            if now == count { return }
            count = now
        }
    }

    /// Ends a wait for events, if one is under way or else the next.
    func endIdling() { wake.signal() }

    /// Ends the wait for a pause, now and from now on.
    func endWaiting() {
        isEnding.store(true, ordering: .relaxed)
        ending.signal()
        wake.signal()
    }

    func take() -> [Event] {
        state.withLock { state in
            defer { (state.events, state.names, state.takers) = ([], [], [:]) }
            return state.events
        }
    }

    /// Nobody takes events any more.
    func stopListening() {
        state.withLock {
            $0.isListening = false
            $0.events = []
        }
    }
}

/// The time of day in nanoseconds since 1970, to a few milliseconds: reading it costs no system call.
enum Clock {
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
