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

    /// Whether a caller may be told: root, and who mounts. What others might reach when it happened nobody knows afterwards.
    public func mayListen(_ caller: Credentials) -> Bool { fileSystem.tags.reach.isUnlimited(caller) }

    /// The events after number `sequence` about an item, with `contents` about what is in it too, `limit` at most.
    public func events(
        after sequence: UInt64, limit: Int, about item: StorePath, contents: Bool, kinds: Set<StoreEvent.Kind>?
    ) -> EventLog.Page {
        events.events(after: sequence, limit: limit) { event in
            (kinds?.contains(event.kind) ?? true) && event.concerns(item, contents: contents)
        }
    }
}
