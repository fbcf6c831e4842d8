import CLinux
import FuseServer
import Glibc
import StorePrimitives
import Synchronization

/// Threads whose open(2) was answered ESTALE: the kernel walks the path again and retries the open once, so the next one is not to
/// be answered so again.
///
/// What the path leads to may be another file by then, of which the open has begun no save: the LOOKUP in between begins it
/// (`found`). A mark goes with the open it was made for: when the open comes again, makes the file, or finds the name gone. One
/// that is left, since the kernel refused the open meanwhile, counts for some seconds only, unless the open comes for the same name.
final class StaleRetries: Sendable {
    /// How far a thread has come on its second walk, on which the kernel asks for every name.
    enum Walk: Sendable {
        /// Nothing: there are no names where the file is come to by /proc/self/fd or a file handle.
        case unseen
        case folder
        case file
        /// A name was found gone at a time: the open can only come again as a CREATE.
        case gone(Node.Link, at: Int64)
    }

    /// The open(2) of a thread.
    struct Open: Sendable {
        let since: Int64
        /// Where the file stood that it came with; nil if that is not known.
        let place: Node.Link?
        let flags: Int32
        /// The document in which it is to be retried.
        let document: SavedDocument?
        var walk = Walk.unseen

        var isGone: Bool { if case .gone = walk { true } else { false } }
        /// Whether an open with these flags may be the retry. One for reading leaves its mark behind where the kernel does not
        /// retry it, as by io_uring: it is not taken for one to save.
        func isOfKind(_ other: Int32) -> Bool { StaleRetries.isForReading(flags) == StaleRetries.isForReading(other) }
        /// Whether an OPEN that comes now is the retry. A walk that ended before the file has failed: the OPEN is of another call.
        var isAtFile: Bool {
            switch walk {
            case .unseen, .file: true
            case .folder, .gone: false
            }
        }

        func isAt(_ name: UnsafePointer<CChar>, in parent: Node) -> Bool {
            place.map { $0.parent === parent && $0.name.matches(name) } ?? false
        }
    }

    private let threads = Locked<[pid_t: Open]>([:])
    private let count = Atomic<Int>(0)
    /// An open may wait in between for as long as the disk, or other requests, take.
    private static let longestTimeout: Int64 = 300_000_000_000
    private static let timeout: Int64 = 5_000_000_000
    /// The kernel looks a name up twice in one walk with next to nothing in between, but for the time in which others have the processors.
    /// A later LOOKUP is the same open's, or another's that may save as well, if the thread is in an open(2); to any other call the
    /// document is to be shown as it is.
    private static let longestWalk: Int64 = 50_000_000

    /// Whether there are any. One atomic load.
    var areSome: Bool { count.load(ordering: .relaxed) > 0 }

    func note(_ thread: pid_t, at place: Node.Link? = nil, flags: Int32 = 0, in document: SavedDocument? = nil) {
        threads.withLock { threads in
            threads[thread] = Open(since: cl_monotonic_ns(), place: place, flags: flags, document: document)
            count.store(threads.count, ordering: .relaxed)
        }
    }

    /// Whether an open of the thread with these flags is the retry.
    func isKnown(_ thread: pid_t, flags: Int32) -> Bool {
        guard areSome, let open = threads.withLock({ $0[thread] }) else { return false }
        return !open.isGone && open.isOfKind(flags) && cl_monotonic_ns() - open.since < Self.timeout
    }

    private static func isForReading(_ flags: Int32) -> Bool { flags & O_ACCMODE == O_RDONLY && flags & O_TRUNC == 0 }

    /// Whether the thread was told to retry from this name.
    func isKnown(_ thread: pid_t, _ name: UnsafePointer<CChar>, in parent: Node) -> Bool {
        areSome && threads.withLock { $0[thread]?.isAt(name, in: parent) ?? false }
    }

    /// Whether the retry of a thread's open is still to come, however long that takes.
    func isExpected(_ thread: pid_t) -> Bool { areSome && threads.withLock { $0[thread]?.isGone == false } }

    /// Whether a thread is to retry an open for reading in a document, which was answered ESTALE no longer ago than `time`, in nanoseconds.
    func areReadersExpected(in document: SavedDocument, within time: Int64) -> Bool {
        guard areSome else { return false }
        let now = cl_monotonic_ns()
        return threads.withLock { threads in
            threads.values.contains { $0.document === document && Self.isForReading($0.flags) && !$0.isGone && now - $0.since < time }
        }
    }

    /// Whether this open, of a file that stands at `place`, is the retry. The mark is taken in any case: the kernel retries an open
    /// before the thread can make another.
    ///
    /// - Parameter flags: those of the open; nil where the mark has none.
    func take(_ thread: pid_t, at place: Node.Link? = nil, flags: Int32? = nil) -> Bool {
        guard areSome else { return false }
        return threads.withLock { threads in
            defer { count.store(threads.count, ordering: .relaxed) }
            guard let open = threads.removeValue(forKey: thread), open.isAtFile, flags.map(open.isOfKind) ?? true else { return false }
            if cl_monotonic_ns() - open.since < Self.timeout { return true }
            guard let place else { return false }
            return place.name.withCString { open.isAt($0, in: place.parent) }
        }
    }

    /// The thread finds a file or a folder by name. Returns its open if that comes to the file, and truncates. The name may have been gone
    /// when the walk came to it first: the kernel looks a name up once more when what it knew of it holds no longer. It may be another one
    /// in another folder: somebody has renamed a folder that is on the path.
    func found(_ thread: pid_t, _ name: UnsafePointer<CChar>, in parent: Node, isRegular: Bool) -> Open? {
        guard areSome, let open = threads.withLock({ $0[thread] }) else { return nil }
        let now = cl_monotonic_ns()
        if case .gone(let place, let time) = open.walk {
            guard place.parent === parent, place.name.matches(name),
                now - time < Self.longestWalk || now - time < Self.timeout && ProcessFacts.isOpening(thread)
            else { return nil }
        }
        // Its thread waits for the answer: nobody else changes it.
        threads.withLock { $0[thread]?.walk = isRegular ? .file : .folder }
        guard isRegular, now - open.since < Self.timeout || open.isAt(name, in: parent) else { return nil }
        return open.flags & O_TRUNC != 0 && open.flags & O_ACCMODE != O_RDONLY ? open : nil
    }

    /// The thread finds its name gone, or a folder's on the way to it: its open will not come again, but perhaps as a CREATE, or if the name
    /// is back. Returns what it was.
    func gone(_ thread: pid_t, _ name: UnsafePointer<CChar>, in parent: Node) -> Open? {
        guard areSome else { return nil }
        return threads.withLock { threads in
            guard let open = threads[thread] else { return nil }
            threads[thread]?.walk = .gone(Node.Link(parent: parent, name: EntryName(copying: name)), at: cl_monotonic_ns())
            return open
        }
    }

    /// Whether this CREATE is the retry of an open that was answered ESTALE and found its name gone.
    func takeMaking(_ thread: pid_t) -> Bool {
        guard areSome else { return false }
        return threads.withLock { threads in
            defer { count.store(threads.count, ordering: .relaxed) }
            return threads.removeValue(forKey: thread)?.isGone ?? false
        }
    }

    func forgetOld() {
        guard areSome else { return }
        let now = cl_monotonic_ns()
        threads.withLock { threads in
            threads = threads.filter { now - $0.value.since < Self.longestTimeout }
            count.store(threads.count, ordering: .relaxed)
        }
    }
}
