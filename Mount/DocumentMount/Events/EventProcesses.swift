import Coordination
import FuseServer
import Glibc
import StorePrimitives

/// Who makes the requests and changes that events tell of, as /proc has it.
final class EventProcesses: Sendable {
    private struct Known {
        let origin: StoreEvent.Origin
        let user: uid_t
        let since: Int64
    }
    /// A leaf.
    private let known = Locked<[pid_t: Known]>([:])
    private static let capacity = 256
    /// A shell becomes another program within this; one program makes many changes within it.
    private static let lifetime: Int64 = 20_000_000
    /// A process that is gone was still the one that had the number.
    private static let memory: Int64 = 2_000_000_000

    func origin(of actor: EventHub.Actor) -> StoreEvent.Origin {
        switch actor {
        case .caller(let caller): origin(of: caller.thread, user: caller.uid) ?? .user(caller.uid)
        case .process(let process): origin(of: process, user: nil) ?? .outside
        case .user(let user): .user(user)
        case .outside: .outside
        }
    }

    /// Nil if it is gone, or not to be seen, and was not met before.
    private func origin(of thread: pid_t, user: uid_t?) -> StoreEvent.Origin? {
        let now = Clock.now
        let found = known.withLock { $0[thread] }.flatMap { user == nil || $0.user == user ? $0 : nil }
        if let found, now - found.since < Self.lifetime { return found.origin }
        guard let status = ProcessStatus(of: thread), let fileUser = status.user, user == nil || user == fileUser,
            let name = ProcessFacts.name(of: status.group)
        else { return found.flatMap { now - $0.since < Self.memory ? $0.origin : nil } }
        let origin = StoreEvent.Origin.process(id: status.group, user: fileUser, name: name)
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll() }
            known[thread] = Known(origin: origin, user: fileUser, since: now)
        }
        return origin
    }
}
