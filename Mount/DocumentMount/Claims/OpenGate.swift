import Coordination
import FuseServer
import Glibc
import StorePrimitives
import Synchronization

/// Where opens pass: at most times by a check of one flag and, for writing, a count.
final class OpenGate: Sendable {
    /// Whether claims keep others from writing, or presenters have something to save before others read. Changes with the
    /// coordinator's state held.
    let isGuarded = Atomic<Bool>(false)
    /// Opens for writing that found it unguarded, or are about to check.
    private let entering = Atomic<Int>(0)
    private struct Ready {
        var opens: [WaitingOpen] = []
        /// Users of whom one goes on just now.
        var users: Set<uid_t> = []
    }
    /// Leaf. Opens that have waited, to go on on threads of their own.
    private let ready = Locked(Ready())

    /// Whether an open for writing may go on without a question; it calls `leave` then when it is done.
    func enter() -> Bool {
        entering.add(1, ordering: .sequentiallyConsistent)
        if !isGuarded.load(ordering: .sequentiallyConsistent) { return true }
        leave()
        return false
    }

    /// Opens that were let through have been done, here or among the passes (`OpenPasses`).
    let opensEnded = Condition()

    func leave() {
        entering.subtract(1, ordering: .sequentiallyConsistent)
        opensEnded.changed()
    }

    /// Whether none is on its way that found the gate unguarded.
    var isEmpty: Bool { entering.load(ordering: .sequentiallyConsistent) == 0 }

    func makeReady(_ opens: [WaitingOpen]) {
        if !opens.isEmpty { ready.withLock { $0.opens += opens } }
    }

    /// Calls `body` with the first of which no other of its user goes on: to open a document may take long. False if there is none.
    func goOn(_ body: (WaitingOpen) -> Void) -> Bool {
        let first = ready.withLock { ready -> WaitingOpen? in
            guard let index = ready.opens.firstIndex(where: { !ready.users.contains($0.caller.uid) }) else { return nil }
            ready.users.insert(ready.opens[index].caller.uid)
            return ready.opens.remove(at: index)
        }
        guard let first else { return false }
        body(first)
        ready.withLock { _ = $0.users.remove(first.caller.uid) }
        return true
    }

    func dropReady() { ready.withLock { $0.opens = [] } }
}

/// An open(2) that waits: for the end of a claim, or until presenters have saved.
final class WaitingOpen: @unchecked Sendable {
    let node: Node
    /// Where it stood when the open began.
    let link: Node.Link?
    let flags: Int32
    let caller: Caller
    /// In nanoseconds on the monotonic clock; the same though it waits for several claims in turn.
    let deadline: UInt64
    /// Set before anybody else knows of it. It does not hold this.
    var parked: ParkedReply<OpenedFile>!
    /// The claim it waits for; nil: for presenters. Guarded by the coordinator's state, as is `isLate`.
    var claim: ClaimID?
    /// Its time is over.
    var isLate = false
    /// Its caller was killed, perhaps before it began to wait.
    var wasInterrupted = false
    /// Its caller got a signal, which did not kill it.
    var wasSignalled = false

    init(_ node: Node, flags: Int32, _ caller: Caller, deadline: UInt64) {
        (self.node, self.flags, self.caller, self.deadline) = (node, flags, caller, deadline)
        link = node.currentLink
    }

    var writes: Bool { flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0 }
    /// Whether it reads what is there.
    var reads: Bool { flags & O_ACCMODE != O_WRONLY && flags & O_TRUNC == 0 }
}
