import Coordination
import FuseServer
import Glibc
public import MountProtocol
import StorePrimitives
import Synchronization
import SystemPackage

/// What the service's clients are told of what happens in the store.
extension MountedStore {
    public func watch(
        _ request: WatchRequest, for peer: Peer, wake: @escaping @Sendable () -> Void
    ) throws(ServiceFailure) -> any EventFeed {
        let item = if let path = request.path { try item(path) } else { StorePath.root }
        let caller = Credentials(peer)
        guard mayListen(to: item, caller) else {
            throw .permissionDenied("\(place(item)): you may not read it, so you are not told of it")
        }
        var kinds: Set<StoreEvent.Kind>?
        if let words = request.kinds {
            kinds = Set(words.compactMap { StoreEvent.Kind(rawValue: $0) })
            guard kinds?.count == Set(words).count else { throw .invalidParameter("kinds") }
        }
        return EventsInMount(self, for: caller, about: item, kinds, since: request.since, wake: wake)
    }

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

    /// The next events after a position about an item and what is in it, `limit` at most, as far as the caller may know of
    /// them. Waits for the disk unless the caller may know everything.
    ///
    /// What others might have listed when it happened nobody knows afterwards: what they are told must be fresh, and instead of
    /// older events they are told that they have missed some.
    fileprivate func events(
        after position: EventLog.Position, limit: Int, about item: StorePath, kinds: Set<StoreEvent.Kind>?, to caller: Credentials
    ) -> EventLog.Page {
        func isOfKind(_ event: StoreEvent) -> Bool { kinds?.contains(event.kind) ?? true }
        let isUnlimited = fileSystem.tags.access.isUnlimited(caller)
        let found = events.events(after: position, limit: limit) { event in
            // What was moved may have appeared or be deleted for others.
            (!isUnlimited || isOfKind(event)) && event.concerns(item, contents: true)
        }
        let missed = found.missed.filter { $0 == item || $0.isInside(item) || item.isInside($0) }
        if isUnlimited { return EventLog.Page(events: found.events, missed: missed, next: found.next) }
        let (known, isMissing) = known(found.events, to: caller)
        return EventLog.Page(events: known.filter(isOfKind), missed: missed + (isMissing ? [item] : []), next: found.next)
    }

    /// Events as a caller may know of them, and whether there were others that it might have known of.
    func known(_ events: [StoreEvent], to caller: Credentials) -> (events: [StoreEvent], isMissing: Bool) {
        if fileSystem.tags.access.isUnlimited(caller) { return (events, false) }
        var (known, isMissing): ([StoreEvent], Bool) = ([], false)
        for event in events {
            if let audience = event.audience {
                if audience == caller.uid { known.append(event) }
                continue
            }
            switch (0..<Self.freshNanoseconds).contains(Clock.now - event.time) ? knowledge(of: event, caller) : .unclear {
            case .event(let event): known.append(event)
            case .none: break
            case .unclear: isMissing = true
            }
        }
        return (known, isMissing)
    }

    /// Longer than the slowest of many listeners is told later, and too short to open folders to find what was in them.
    private static let freshNanoseconds: Int64 = 2_000_000_000

    private enum Knowledge {
        case event(StoreEvent)
        case none
        /// Another folder has the place of the one where it happened: who might have listed that nobody can tell.
        case unclear
    }

    /// An event as a caller may know of it: who may list a folder sees what comes, goes and changes there.
    private func knowledge(of event: StoreEvent, _ caller: Credentials) -> Knowledge {
        let access = fileSystem.tags.access
        func sees(_ path: StorePath, in folder: FileIdentity?) -> Bool? {
            folder.flatMap { access.mayList(path.parent, caller, $0) }
        }
        guard let seesPlace = sees(event.path, in: event.folder) else { return .unclear }
        guard let oldPath = event.oldPath else { return seesPlace ? .event(event) : .none }
        guard let seesOldPlace = sees(oldPath, in: event.oldFolder) else { return .unclear }
        switch (seesPlace, seesOldPlace, event.kind) {
        case (true, true, _): return .event(event)
        case (true, false, .moved): return .event(event.told(as: .appeared, at: event.path))
        case (true, false, _): return .event(event.told(as: event.kind, at: event.path))
        case (false, true, .moved): return .event(event.told(as: .deleted, at: oldPath))
        case (false, _, _): return .none
        }
    }
}

/// The events that one peer is told of.
private final class EventsInMount: EventFeed {
    private let mount: MountedStore
    private let caller: Credentials
    private let item: StorePath
    private let kinds: Set<StoreEvent.Kind>?
    private let listener: EventHub.ListenerID
    private let next: Mutex<EventLog.Position>

    init(
        _ mount: MountedStore, for caller: Credentials, about item: StorePath, _ kinds: Set<StoreEvent.Kind>?, since: UInt64?,
        wake: @escaping @Sendable () -> Void
    ) {
        (self.mount, self.caller, self.item, self.kinds) = (mount, caller, item, kinds)
        listener = mount.events.listen(pacedFor: caller.uid, wake)
        // What is waiting to be told becomes known by this, whether the peer asks for it or not.
        let last = mount.events.lastSequence
        next = Mutex(EventLog.Position(after: since ?? last))
    }

    func next(limit: Int) -> WatchedEvents {
        while true {
            let after = next.withLock { $0 }
            let page = mount.events(after: after, limit: limit, about: item, kinds: kinds, to: caller)
            next.withLock { $0 = page.next }
            // There may be more behind those that the caller may not know of.
            if page.events.isEmpty, page.missed.isEmpty, page.next.sequence != after.sequence { continue }
            return WatchedEvents(events: page.events.map(mount.shown), overflow: !page.missed.isEmpty, next: page.next.sequence)
        }
    }

    func end() { mount.events.endListening(listener) }

    deinit { end() }
}
