import MountProtocol
import Synchronization

/// A peer's connection as methods see it. What they keep for it ends with it: a client that has crashed holds nothing.
final class PeerConnection: Sendable {
    let peer: Peer

    private struct Kept {
        var resources: [UInt64: any ConnectionResource] = [:]
        var isEnded = false
    }
    /// A leaf lock.
    private let kept = Mutex(Kept())

    init(peer: Peer) { self.peer = peer }

    var keepsAnything: Bool { count > 0 }

    var count: Int { kept.withLock { $0.resources.count } }

    func resource<Resource: ConnectionResource>(_ type: Resource.Type, _ id: UInt64) -> Resource? {
        kept.withLock { $0.resources[id] as? Resource }
    }

    /// Keeps something until it is taken, or the connection ends. False, and nothing kept, if it has ended.
    func keep(_ resource: any ConnectionResource, as id: UInt64) -> Bool {
        kept.withLock { kept in
            guard !kept.isEnded else { return false }
            kept.resources[id] = resource
            return true
        }
    }

    /// What was kept, which is then the caller's to end; nil if there is nothing of that type.
    func take<Resource: ConnectionResource>(_ type: Resource.Type, _ id: UInt64) -> Resource? {
        kept.withLock { kept in
            guard let found = kept.resources[id] as? Resource else { return nil }
            kept.resources[id] = nil
            return found
        }
    }

    /// Ends it if nothing is kept; false if something is.
    func endIfEmpty() -> Bool {
        kept.withLock { kept in
            if kept.resources.isEmpty { kept.isEnded = true }
            return kept.isEnded
        }
    }

    /// Off the event loop.
    func end() {
        let rest = kept.withLock { kept in
            kept.isEnded = true
            defer { kept.resources = [:] }
            return kept.resources
        }
        for (_, resource) in rest.sorted(by: { $0.key < $1.key }) { resource.end() }
    }
}

/// What lives as long as a connection.
protocol ConnectionResource: AnyObject, Sendable {
    func end()
}
