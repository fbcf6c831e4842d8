import Dispatch
import Foundation
import Glibc
import StorePrimitives
import Synchronization

/// Who reads and writes what outside of mounts, where only this process is coordinated.
///
/// A list in the order of arrival: an access begins when none before it that it conflicts with is left. So there is no
/// starvation and, but for accesses within others, no deadlock; one that would wait for itself is refused. As nobody has
/// snapshots here, writers wait for readers too. Each change is linear in the accesses times their items.
final class LocalAccessTable: Sendable {
    static let shared = LocalAccessTable()

    struct Request: Sendable {
        var items: [(path: AbsolutePath, intent: FileAccessIntent)]
        let purpose: String
        /// An access that is held for as long as this one waits.
        let outer: UInt64?

        fileprivate func conflicts(with other: Request) -> Bool {
            guard purpose != other.purpose else { return false }
            return items.contains { item in other.items.contains { Self.meet(item, $0) } }
        }

        private static func meet(
            _ one: (path: AbsolutePath, intent: FileAccessIntent), _ other: (path: AbsolutePath, intent: FileAccessIntent)
        ) -> Bool {
            guard one.intent.isWriting || other.intent.isWriting else { return false }
            guard !one.intent.isMetadataOnly, !other.intent.isMetadataOnly else { return false }
            return one.path == other.path || one.intent.coversContents && other.path.isInside(one.path)
                || other.intent.coversContents && one.path.isInside(other.path)
        }
    }

    private struct Entry: Sendable {
        let id: UInt64
        var request: Request
        var isHeld: Bool
        let turn: DispatchSemaphore
    }

    private struct State {
        var entries: [Entry] = []
        var last: UInt64 = 0

        /// The accesses around this one.
        func chain(of request: Request) -> Set<UInt64> {
            var (found, next) = (Set<UInt64>(), request.outer)
            while let id = next, found.insert(id).inserted { next = entries.first { $0.id == id }?.request.outer }
            return found
        }

        /// What an access waits for, of those before `end`.
        func blockers(of request: Request, before end: Int) -> [Entry] {
            let chain = chain(of: request)
            return entries[..<end].filter { !chain.contains($0.id) && $0.request.conflicts(with: request) }
        }

        /// Whether who is in the way waits for one of the accesses around this one.
        func closesCycle(_ request: Request) -> Bool {
            let chain = chain(of: request)
            guard !chain.isEmpty else { return false }
            var seen: Set<UInt64> = []
            var next = blockers(of: request, before: entries.count).map(\.id)
            while let id = next.popLast() {
                guard !chain.contains(id) else { return true }
                guard seen.insert(id).inserted else { continue }
                for (index, entry) in entries.enumerated() where !entry.isHeld {
                    guard entry.id == id || self.chain(of: entry.request).contains(id) else { continue }
                    next += blockers(of: entry.request, before: index).map(\.id)
                }
            }
            return false
        }

        /// Those whose turn it is by what has gone.
        mutating func begin() {
            for index in entries.indices where !entries[index].isHeld {
                guard blockers(of: entries[index].request, before: index).isEmpty else { continue }
                entries[index].isHeld = true
                entries[index].turn.signal()
            }
        }
    }

    /// A leaf lock.
    private let state = Mutex(State())

    /// Waits until it is the request's turn. Returns what `release` takes.
    func acquire(_ request: Request, timeout: Duration, _ wait: AccessWait) throws(FileCoordinationError) -> UInt64 {
        let turn = DispatchSemaphore(value: 0)
        let (id, isDeadlock) = state.withLock { state -> (UInt64, Bool) in
            if state.closesCycle(request) { return (0, true) }
            state.last += 1
            state.entries.append(Entry(id: state.last, request: request, isHeld: false, turn: turn))
            state.begin()
            return (state.last, false)
        }
        if isDeadlock { throw .deadlock("waiting would never end: who is in the way, in this process, waits for the caller") }
        do {
            try wait.run(interrupt: { turn.signal() }) { () throws(FileCoordinationError) in
                let end = ContinuousClock.now + timeout
                // A signal may be that of a cancellation.
                while !isHeld(id) {
                    if wait.isCancelled { throw .cancelled }
                    let left = end - .now
                    guard left > .zero else { throw .timedOut(holder(before: id)) }
                    let seconds = Double(left.components.seconds) + Double(left.components.attoseconds) / 1e18
                    _ = turn.wait(timeout: .now() + min(seconds, 86_400))
                }
            }
            return id
        } catch {
            release(id)
            throw error
        }
    }

    func release(_ id: UInt64) {
        state.withLock { state in
            state.entries.removeAll { $0.id == id }
            state.begin()
        }
    }

    /// Something was moved: accesses to it, and to what is in it, go with it.
    func moved(from old: AbsolutePath, to new: AbsolutePath) {
        state.withLock { state in
            for index in state.entries.indices {
                state.entries[index].request.items = state.entries[index].request.items.map { item in
                    (item.path.moved(from: old, to: new) ?? item.path, item.intent)
                }
            }
            state.begin()
        }
    }

    private func isHeld(_ id: UInt64) -> Bool { state.withLock { $0.entries.first { $0.id == id }?.isHeld ?? false } }

    private func holder(before id: UInt64) -> String {
        let (path, purpose) = state.withLock { state -> (AbsolutePath?, String?) in
            guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return (nil, nil) }
            let request = state.entries[index].request
            let holder = state.blockers(of: request, before: index).first
            return (request.items.first?.path, holder?.request.purpose)
        }
        let name = ProcessInfo.processInfo.processName
        let item = path?.description ?? "the item"
        return "not granted in time: \(item) is held by \(name) (pid \(getpid())) for \(purpose ?? "another access")"
    }
}
