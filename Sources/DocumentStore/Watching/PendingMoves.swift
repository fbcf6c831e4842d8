import CLinux
import StorePrimitives

/// The first half of a rename, as inotify tells it.
struct PendingMove {
    let cookie: UInt32
    let parent: WatchedFolders.Watch
    let folder: FolderPlace
    let name: EntryName
    let isFolder: Bool
    /// The watch of the folder that moved.
    let watch: WatchedFolders.Watch?
}

/// First halves that wait for their second. The kernel queues both one after the other, so whoever has waited 10 ms has left
/// the store.
struct PendingMoves {
    private static let timeout: Int64 = 10_000_000
    private var pending: [(move: PendingMove, deadline: Int64)] = []

    var isEmpty: Bool { pending.isEmpty }

    mutating func add(_ move: PendingMove) { pending.append((move, cl_monotonic_ns() + Self.timeout)) }

    mutating func take(_ cookie: UInt32) -> PendingMove? {
        guard let index = pending.lastIndex(where: { $0.move.cookie == cookie }) else { return nil }
        return pending.remove(at: index).move
    }

    /// Takes out those whose time, in nanoseconds of the monotonic clock, is over.
    mutating func takeExpired(now: Int64) -> [PendingMove] {
        guard !pending.isEmpty else { return [] }
        defer { pending.removeAll { $0.deadline <= now } }
        return pending.filter { $0.deadline <= now }.map(\.move)
    }
}
