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
            id = hub.listen(body)
        }

        deinit { hub.endListening(id) }
    }

    /// Has `body` called, on a thread of the mount's, whenever there are new events. It must be short and not block.
    public func listen(_ body: @escaping @Sendable () -> Void) -> EventListener { EventListener(events, body) }

    /// The number of the last event until now. Waits for those under way.
    public var lastEvent: UInt64 { events.lastSequence }

    /// The events after number `sequence` about an item (with `contents`, about what is in it too) that the caller may reach,
    /// `limit` at most.
    public func events(
        after sequence: UInt64, limit: Int, about item: StorePath, contents: Bool, kinds: Set<StoreEvent.Kind>?,
        for caller: Credentials
    ) -> EventLog.Page {
        let page = events.events(after: sequence, limit: limit) { event in
            (kinds?.contains(event.kind) ?? true) && event.concerns(item, contents: contents)
        }
        let reach = fileSystem.tags.reach
        guard !reach.isUnlimited(caller), !page.events.isEmpty else { return page }
        return EventLog.Page(
            events: visible(page.events, to: caller, reach), hasOverflowed: page.hasOverflowed, next: page.next)
    }

    /// What is gone was within reach if its folder is. A move between places of which one is not within reach is told as an
    /// appearance or a deletion.
    private func visible(_ events: [StoreEvent], to caller: Credentials, _ reach: Reach) -> [StoreEvent] {
        let here = reach.filter(events.map { $0.kind == .deleted ? $0.path.parent : $0.path }, caller)
        let before = reach.filter(events.map { $0.oldPath?.parent ?? .root }, caller)
        return events.indices.compactMap { index in
            let event = events[index]
            guard let oldPath = event.oldPath else { return here[index] ? event : nil }
            return switch (before[index], here[index]) {
            case (true, true): event
            case (true, false): event.told(as: .deleted, at: oldPath)
            case (false, true): event.told(as: .appeared, at: event.path)
            case (false, false): nil
            }
        }
    }
}

extension StoreEvent {
    fileprivate func told(as kind: Kind, at path: StorePath) -> StoreEvent {
        StoreEvent(
            sequence: sequence, kind: kind, document: kind == .deleted ? nil : document, path: path, oldPath: nil, time: time,
            origin: origin)
    }
}
