import Coordination
import CoordinationService
import DocumentMount
import StorePrimitives
import Synchronization

/// Events, for the service's clients.
extension ServedMount {
    func watch(
        _ request: WatchRequest, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any EventFeed {
        var item = StorePath.root
        if let path = request.path {
            guard let inside = path.inside(configuration) ?? (path.names(configuration) ? .root : nil) else {
                throw .notFound("\(path.wire) in this mount")
            }
            item = inside
        }
        var kinds: Set<StoreEvent.Kind>?
        if let words = request.kinds {
            kinds = Set(words.compactMap { StoreEvent.Kind(rawValue: $0) })
            guard kinds?.count == Set(words).count else { throw .invalidParameter("kinds") }
        }
        return ServedEvents(
            store: store, configuration: configuration, item: item, kinds: kinds, peer: Credentials(peer), since: request.since,
            wake: wake)
    }
}

/// The events that one peer is told of.
private final class ServedEvents: EventFeed {
    private let store: MountedStore
    private let configuration: MountConfiguration
    private let item: StorePath
    private let kinds: Set<StoreEvent.Kind>?
    private let peer: Credentials
    private let listener: Mutex<MountedStore.EventListener?>
    private let next: Mutex<UInt64>

    init(
        store: MountedStore, configuration: MountConfiguration, item: StorePath, kinds: Set<StoreEvent.Kind>?,
        peer: Credentials, since: UInt64?, wake: @escaping @Sendable () -> Void
    ) {
        (self.store, self.configuration, self.item) = (store, configuration, item)
        (self.kinds, self.peer) = (kinds, peer)
        listener = Mutex(store.listen(wake))
        next = Mutex(since ?? store.lastEvent)
        // What is waiting to be told becomes known.
        if since != nil { _ = store.lastEvent }
    }

    func next(limit: Int) -> WatchedEvents {
        var after = next.withLock { $0 }
        while true {
            let page = store.events(after: after, limit: limit, about: item, contents: true, kinds: kinds, for: peer)
            // There may be more behind those that the peer may not know of.
            let isDone = !page.events.isEmpty || page.hasOverflowed || page.next == after
            after = page.next
            guard isDone else { continue }
            next.withLock { [after] in $0 = after }
            return WatchedEvents(events: page.events.map(shown), overflow: page.hasOverflowed, next: after)
        }
    }

    func end() { listener.withLock { $0 = nil } }

    private func shown(_ event: StoreEvent) -> WatchedEvent {
        var (pid, uid, process): (Int32?, UInt32?, String?)
        switch event.origin {
        case .process(let id, let user, let name): (pid, uid, process) = (id, user, name)
        case .user(let user): uid = user
        case .outside: break
        }
        return WatchedEvent(
            seq: event.sequence, kind: event.kind.rawValue, id: event.document, path: place(event.path),
            oldPath: event.oldPath.map(place), generation: event.generation, time: Double(event.time) / 1e9, pid: pid,
            uid: uid, process: process)
    }

    private func place(_ path: StorePath) -> DocumentPath {
        DocumentPath(configuration.mountPoint + (path.isRoot ? [] : [UInt8(ascii: "/")] + path.bytes))
    }
}

extension DocumentPath {
    /// Whether it is the mount point or the store itself.
    fileprivate func names(_ configuration: MountConfiguration) -> Bool {
        bytes == configuration.mountPoint || bytes == configuration.store
    }
}
