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
        guard store.mayListen(Credentials(peer)) else {
            throw .permissionDenied("only root and who mounted it are told of what happens in this mount")
        }
        let item = if let path = request.path { try item(path) } else { StorePath.root }
        var kinds: Set<StoreEvent.Kind>?
        if let words = request.kinds {
            kinds = Set(words.compactMap { StoreEvent.Kind(rawValue: $0) })
            guard kinds?.count == Set(words).count else { throw .invalidParameter("kinds") }
        }
        return ServedEvents(
            mount: self, item: item, kinds: kinds, since: request.since, wake: wake)
    }
}

/// The events that one peer is told of.
private final class ServedEvents: EventFeed {
    private let mount: ServedMount
    private let item: StorePath
    private let kinds: Set<StoreEvent.Kind>?
    private let listener: Mutex<MountedStore.EventListener?>
    private let next: Mutex<UInt64>

    init(
        mount: ServedMount, item: StorePath, kinds: Set<StoreEvent.Kind>?, since: UInt64?,
        wake: @escaping @Sendable () -> Void
    ) {
        (self.mount, self.item, self.kinds) = (mount, item, kinds)
        listener = Mutex(mount.store.listen(wake))
        // What is waiting to be told becomes known by this, whether the peer asks for it or not.
        let last = mount.store.lastEvent
        next = Mutex(since ?? last)
    }

    func next(limit: Int) -> WatchedEvents {
        let after = next.withLock { $0 }
        let page = mount.store.events(after: after, limit: limit, about: item, contents: true, kinds: kinds)
        next.withLock { $0 = page.next }
        return WatchedEvents(events: page.events.map(mount.shown), overflow: page.hasOverflowed, next: page.next)
    }

    func end() { listener.withLock { $0 = nil } }
}

extension ServedMount {
    func shown(_ event: StoreEvent) -> WatchedEvent {
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

    /// A path in the store as its users see it.
    func place(_ path: StorePath) -> DocumentPath {
        DocumentPath(configuration.mountPoint + (path.isRoot ? [] : [UInt8(ascii: "/")] + path.bytes))
    }
}

extension DocumentPath {
    /// Whether it is the mount point or the store itself.
    func names(_ configuration: MountConfiguration) -> Bool {
        bytes == configuration.mountPoint || bytes == configuration.store
    }
}
