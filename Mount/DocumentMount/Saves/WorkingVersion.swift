import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import ProcessInspection
import StorePrimitives
import Synchronization

/// The working copy of one save, as the mount has it.
final class WorkingVersion: Sendable {
    let node: Node
    let copy: WorkingCopy
    /// Who began the save.
    let caller: Caller
    let process: SaveProcess
    /// The same, to tell how it has ended when no FLUSH came from it: a program that shares its descriptors, and is none of its threads,
    /// may go on with them (CLONE_FILES), as may a mapping or an io_uring. Nil if it was killed before.
    let opener: HeldProcess?
    let moment: SaveMoment
    /// What program the opener ran then; nil if that could not be seen.
    let image: ProgramImage?
    /// It is the document's own inode, for which others have a copy.
    let isExchanged: Bool
    /// The kernel writes it for its program (passthrough): no write is told of, nor one that has failed.
    let isUnheard: Bool
    private let share: TakenShare
    /// What it keeps open beside its handles: the copy, the document, and the opener (a pidfd).
    static let descriptors = 3

    /// `share`: of `descriptors`.
    init(
        node: Node, copy: WorkingCopy, caller: Caller, process: SaveProcess, opener: HeldProcess?, moment: SaveMoment, image: ProgramImage?,
        share: TakenShare, isExchanged: Bool = false, isUnheard: Bool = false
    ) {
        self.share = share
        self.isExchanged = isExchanged
        self.isUnheard = isUnheard
        self.node = node
        self.copy = copy
        self.caller = caller
        self.process = process
        self.opener = opener
        self.moment = moment
        self.image = image
    }

    /// Leaf. Files of other versions on whose nodes handles of this one are: those were opened by no path that the kernel would have walked
    /// again, and processes' tables of descriptors show them so.
    let hosts = Mutex<Set<FileIdentity>>([])
    /// Who wrote last, so that not every write has its process looked up.
    let lastWriter = Mutex<(thread: pid_t, process: SaveProcess?)>((0, nil))
    /// When a FLUSH left it in doubt whether anybody holds it still, in nanoseconds on the monotonic clock.
    let doubtedAt = Atomic<UInt64>(0)
    let doubts = Atomic<Int>(0)
    /// The end of its opener has had a RELEASE expected.
    let isEndExpected = Atomic<Bool>(false)
    /// It was opened by an io_uring, perhaps without a descriptor: only RELEASE tells that it is closed.
    let isOpenedByRing = Atomic<Bool>(false)
    /// RELEASE has ended it, and what comes of that is being done: close(2) has been answered.
    let isEnding = Atomic<Bool>(false)
    /// Others than the one that a FLUSH came from last have it open, or may have.
    let isHeldByOthers = Atomic<Bool>(false)
    /// From when it is over, not published, and open to nobody who goes on.
    let freedRoom = AtomicLazyReference<FreedRoom.Share>()
    /// It is over and not published, and is kept when nobody has it open any more. Leaf.
    let keptLater = Mutex<(reason: KeptVersion.Reason, path: StorePath?)?>(nil)
    /// A descriptor was closed that may have been the last.
    let wasClosed = Atomic<Bool>(false)
    /// Nobody has written to it yet.
    let isUntouched = Atomic<Bool>(true)
    /// Some handle may be mapped: it was opened for reading too.
    let mayBeMapped = Atomic<Bool>(false)
    /// Rank c, shared by writes, exclusive for the last moment of a publication in place, when the handles change files.
    let writing = SharedLock()
    /// What was written while the content was being copied into the document's own inode; nil when it is not.
    let written = Mutex<Range<Int64>?>(nil)

    /// With `writing` shared: a publication in place that is under way hears of it.
    func note(_ range: Range<Int64>) {
        written.withLock { written in
            guard let known = written else { return }
            written = known.isEmpty ? range : min(known.lowerBound, range.lowerBound)..<max(known.upperBound, range.upperBound)
        }
    }
}
