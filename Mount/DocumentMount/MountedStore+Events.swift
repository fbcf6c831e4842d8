public import Coordination
import FuseKernel
import Glibc
public import StorePrimitives
import SystemPackage

/// What the service tells its clients of what happens in the store.
extension MountedStore {
    /// Somebody who is told, until it is given up.
    public final class EventListener: Sendable {
        private let hub: EventHub
        private let id: EventHub.ListenerID

        fileprivate init(_ hub: EventHub, _ body: @escaping @Sendable () -> Void) {
            self.hub = hub
            id = hub.listen(isPaced: true, body)
        }

        deinit { hub.endListening(id) }
    }

    /// Has `body` called, on a thread of the mount's, whenever there are new events. It must be short and not block.
    public func listen(_ body: @escaping @Sendable () -> Void) -> EventListener { EventListener(events, body) }

    /// The number of the last event until now. Waits for those under way.
    public var lastEvent: UInt64 { events.lastSequence }

    /// The next events after number `sequence` about an item and what is in it, `limit` at most, as far as the caller may know of
    /// them. Waits for the disk unless the caller may know everything.
    ///
    /// What others might have listed when it happened nobody knows afterwards: what they are told must be fresh, and instead of
    /// older events they are told that they have missed some.
    public func events(
        after sequence: UInt64, limit: Int, about item: StorePath, kinds: Set<StoreEvent.Kind>?, to caller: Credentials
    ) -> EventLog.Page {
        let found = events.events(after: sequence, limit: limit) { event in
            (kinds?.contains(event.kind) ?? true) && event.concerns(item, contents: true)
        }
        if fileSystem.tags.reach.isUnlimited(caller) { return found }
        let known = found.events.compactMap { shown($0, to: caller) }
        let fresh = known.filter { Clock.now - $0.time < Self.freshness }
        return EventLog.Page(events: fresh, hasOverflowed: found.hasOverflowed || fresh.count < known.count, next: found.next)
    }

    private static let freshness: Int64 = 2_000_000_000

    /// An event as a session's client may know of it.
    public func shown(_ event: StoreEvent, in session: PresenterSession) -> StoreEvent? { shown(event, to: session.credentials) }

    /// An event as a caller may know of it: who may list a folder sees what comes, goes and changes there. Nil: not at all.
    private func shown(_ event: StoreEvent, to caller: Credentials) -> StoreEvent? {
        let reach = fileSystem.tags.reach
        if reach.isUnlimited(caller) { return event }
        let places = [event.path] + (event.oldPath.map { [$0] } ?? [])
        let mayList = reach.filter(places.map(\.parent), caller, mode: R_OK | X_OK)
        switch (mayList[0], mayList.last ?? false, event.kind) {
        case (true, true, _): return event
        case (true, false, .moved): return event.told(as: .appeared, at: event.path)
        case (true, false, _): return event.told(as: event.kind, at: event.path)
        case (false, true, .moved): return event.told(as: .deleted, at: event.oldPath ?? event.path)
        case (false, _, _): return nil
        }
    }
}
