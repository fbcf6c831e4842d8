/// What the kernel is to be told, in order, until it has been. What waits already is not added again: it is told after the change, too.
///
/// The kernel may hold `quire-notify` up for as long as an app's request takes, while any number of names change. So beyond `most` of
/// them, some 30 MB, one notice stands for all: the kernel is to ask again for every name (`replacingEntries`), on which it takes off
/// whatever is mounted below. Contents are at most as many as there are inodes that the kernel knows.
package struct NoticeQueue<Awaiting> {
    package enum Notice: Hashable, Sendable {
        /// A name in a folder may stand for something else.
        case entry(NodeID, [UInt8])
        /// Attributes, and what the kernel kept of a folder's listing or of a link.
        case contents(NodeID)
        /// The same of a regular file's content.
        case fileContents(NodeID)
    }
    /// The path of a name's folder, or of a file, below the mount's root; nil if it has none.
    package typealias Path = @Sendable () -> [UInt8]?
    package typealias Waiting = (notice: Notice, path: Path?, awaiting: [Awaiting])

    private let most: Int
    private var waiting: [Notice] = []
    private var known: Set<Notice> = []
    private var awaiting: [Notice: [Awaiting]] = [:]
    private var paths: [Notice: Path] = [:]
    private var entries = 0

    package init(most: Int = 100_000) { self.most = most }

    /// - Parameter awaiting: are told when the kernel has been.
    package mutating func add(_ notice: Notice, path: Path? = nil, awaiting ones: [Awaiting] = []) {
        if known.insert(notice).inserted {
            waiting.append(notice)
            paths[notice] = path
            if case .entry = notice { entries += 1 }
        }
        if !ones.isEmpty { awaiting[notice, default: []] += ones }
    }

    package var hasTooManyEntries: Bool { entries > most }

    /// All that waits.
    package mutating func takeAll() -> [Waiting] {
        defer { self = NoticeQueue(most: most) }
        return waiting.map { ($0, paths[$0], awaiting[$0] ?? []) }
    }

    /// Takes the names out, in whose place the kernel is to be told that every name changed. What that says nothing of stays: the
    /// listings and attributes of their folders.
    package mutating func replacingEntries() -> [Waiting] {
        var taken: [Waiting] = []
        for one in takeAll() {
            if case .entry(let folder, _) = one.notice {
                taken.append(one)
                add(.contents(folder))
            } else {
                add(one.notice, path: one.path, awaiting: one.awaiting)
            }
        }
        return taken
    }
}
