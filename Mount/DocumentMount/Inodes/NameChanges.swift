import Synchronization

/// Counts the changes of names in a folder, for who looks a name up meanwhile: the kernel keeps lookups and changes of one
/// folder apart, but not those by which it revalidates an entry, nor the watcher's.
struct NameChanges: ~Copyable {
    private let begun = Atomic<UInt64>(0)
    private let done = Atomic<UInt64>(0)

    struct Moment {
        fileprivate let begun: UInt64
        fileprivate let isStill: Bool
    }

    /// To be taken before a name is looked up.
    var now: Moment {
        let done = self.done.load(ordering: .acquiring)
        let begun = self.begun.load(ordering: .acquiring)
        return Moment(begun: begun, isStill: begun == done)
    }

    /// Whether no change was under way at that moment, nor has begun since. Asked with a node's state held: whoever changes its
    /// names meanwhile has yet to tell it.
    func areStill(since moment: Moment) -> Bool { moment.isStill && begun.load(ordering: .acquiring) == moment.begun }

    /// Runs what changes names, and tells the nodes concerned.
    func during<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        begin()
        defer { end() }
        return try body()
    }

    /// To be followed by `end`.
    func begin() { begun.add(1, ordering: .acquiringAndReleasing) }
    func end() { done.add(1, ordering: .acquiringAndReleasing) }
}
