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
        let item = if let path = request.path { try item(path) } else { StorePath.root }
        guard store.mayListen(to: item, Credentials(peer)) else {
            throw .permissionDenied("\(place(item)): you may not read it, so you are not told of it")
        }
        var kinds: Set<StoreEvent.Kind>?
        if let words = request.kinds {
            kinds = Set(words.compactMap { StoreEvent.Kind(rawValue: $0) })
            guard kinds?.count == Set(words).count else { throw .invalidParameter("kinds") }
        }
        return ServedEvents(
            mount: self, listener: Credentials(peer), item: item, kinds: kinds, since: request.since, wake: wake)
    }
}

/// The events that one peer is told of.
private final class ServedEvents: EventFeed {
    private let mount: ServedMount
    private let listener: Credentials
    private let item: StorePath
    private let kinds: Set<StoreEvent.Kind>?
    private let listening: Mutex<MountedStore.EventListener?>
    private let next: Mutex<EventLog.Position>

    init(
        mount: ServedMount, listener: Credentials, item: StorePath, kinds: Set<StoreEvent.Kind>?, since: UInt64?,
        wake: @escaping @Sendable () -> Void
    ) {
        (self.mount, self.listener, self.item, self.kinds) = (mount, listener, item, kinds)
        listening = Mutex(mount.store.listen(for: listener.uid, wake))
        // What is waiting to be told becomes known by this, whether the peer asks for it or not.
        let last = mount.store.lastEvent
        next = Mutex(EventLog.Position(after: since ?? last))
    }

    func next(limit: Int) -> WatchedEvents {
        while true {
            let after = next.withLock { $0 }
            let page = mount.store.events(after: after, limit: limit, about: item, kinds: kinds, to: listener)
            next.withLock { $0 = page.next }
            // There may be more behind those that the listener may not know of.
            if page.events.isEmpty, page.missed.isEmpty, page.next.sequence != after.sequence { continue }
            return WatchedEvents(events: page.events.map(mount.shown), overflow: !page.missed.isEmpty, next: page.next.sequence)
        }
    }

    func end() { listening.withLock { $0 = nil } }
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
