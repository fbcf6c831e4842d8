public import Coordination
import FuseServer
import Glibc
public import StorePrimitives
import SystemPackage

/// What the service tells its clients of what happens in the store.
extension MountedStore {
    /// Somebody who is told, until it is given up.
    public final class EventListener: Sendable {
        private let hub: EventHub
        private let id: EventHub.ListenerID

        fileprivate init(_ hub: EventHub, for user: uid_t, _ body: @escaping @Sendable () -> Void) {
            self.hub = hub
            id = hub.listen(pacedFor: user, body)
        }

        deinit { hub.endListening(id) }
    }

    /// Has `body` called, on a thread of the mount's, whenever there are new events, for a listener of a user's. It must be short and
    /// not block.
    public func listen(for user: uid_t, _ body: @escaping @Sendable () -> Void) -> EventListener {
        EventListener(events, for: user, body)
    }

    /// The number of the last event until now. Waits for those under way.
    public var lastEvent: UInt64 { events.lastSequence }

    /// The next events after a position about an item and what is in it, `limit` at most, as far as the caller may know of
    /// them. Waits for the disk unless the caller may know everything.
    ///
    /// What others might have listed when it happened nobody knows afterwards: what they are told must be fresh, and instead of
    /// older events they are told that they have missed some.
    public func events(
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

    /// Events as a session's client may know of them, and whether there were others that it might have known of.
    public func known(_ events: [StoreEvent], in session: PresenterSession) -> (events: [StoreEvent], isMissing: Bool) {
        known(events, to: session.credentials)
    }

    private func known(_ events: [StoreEvent], to caller: Credentials) -> (events: [StoreEvent], isMissing: Bool) {
        if fileSystem.tags.access.isUnlimited(caller) { return (events, false) }
        var (known, isMissing): ([StoreEvent], Bool) = ([], false)
        for event in events {
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
