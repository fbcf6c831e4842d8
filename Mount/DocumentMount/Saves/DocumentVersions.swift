import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import ProcessInspection
import StorePrimitives
import Synchronization

/// What the versions of one document share, from its first save on: every node that stands for one of them leads here
/// (`Node.versions`), the working copies, the published version, and those it superseded that are still open.
///
/// Between saves there is no state machine, and the nodes are as all others.
final class DocumentVersions: Sendable {
    struct State: ~Copyable {
        /// Nil between saves.
        var machine: DocumentSaves?
        /// The node of the published version, with a lookup counted so that it stays: while there is a machine, and as long as
        /// the kernel knows other versions, which lead here and are redirected to it. Else nil.
        var published: Node?
        /// How many versions beside the published one the kernel knows, or the mount for it.
        var others = 0
        var working: [VersionID: WorkingVersion] = [:]
        /// The handles that the machine may name.
        var handles: [SaveHandle: FileHandle] = [:]
        /// Who saved the published version; nil if that was not by a transaction.
        var savedBy: UInt32?
        /// Times that others gave the published version since there is a machine.
        var times: SetTimes?
        /// Which file the published version is.
        var identity: FileIdentity

        /// Calls `body` with the machine beside the rest. Nil if there is none.
        mutating func withMachine<Result>(_ body: (inout State, inout DocumentSaves) -> Result) -> Result? {
            // Taken out meanwhile: moved, not copied.
            guard var own = machine.take() else { return nil }
            defer { machine = own }
            return body(&self, &own)
        }

        /// A working copy's node, or the published version's.
        func node(of version: VersionID) -> Node? {
            working[version]?.node ?? (published?.versionID == version ? published : nil)
        }

        /// Whether the node is not the published version's.
        func isOther(_ node: Node) -> Bool { node.identity != identity || node.isDisplaced.load(ordering: .sequentiallyConsistent) }

        /// The published version, if it is held no longer.
        mutating func letsGo() -> Node? { machine == nil && others == 0 ? published.take() : nil }
    }

    /// Rank 1e: before the state of a node.
    let state: Mutex<State>
    /// Rank b: publishing, one save at a time. Held as long as that takes.
    let turn = ThreadLock()
    /// Rank 1d: the document's name stands still, for whoever checks it before changing what it stands for.
    let naming = ThreadLock()
    /// Leaf. The names by which the document was open for writing, the last ones: as a process's table of descriptors may show it.
    let names = Mutex<[EntryName]>([])

    func note(_ name: EntryName) {
        names.withLock { names in
            guard !names.contains(name) else { return }
            if names.count == Self.keptNames { names.removeFirst() }
            names.append(name)
        }
    }

    private static let keptNames = 32

    /// Whether there is a machine. Changes with `state` held; whoever adds a writer to a node looks again with the node's state
    /// held, which `activate` takes afterwards.
    let isActive = Atomic<Bool>(false)
    /// A listing has told the kernel of the published version since a save began.
    let isListed = Atomic<Bool>(true)
    /// How often the kernel may have got an entry that leads to the published version and holds for long: from a listing that was under
    /// way when the save began, moved by a rename, or because the saver came by none (`FileHandle.Decision.isElsewhere`).
    let lastingEntries = Atomic<Int>(0)
    /// So many of them the kernel is known to have forgotten.
    let forgottenEntries = Atomic<Int>(0)

    var hasLastingEntries: Bool {
        forgottenEntries.load(ordering: .relaxed) < lastingEntries.load(ordering: .sequentiallyConsistent)
    }

    func noteLastingEntry() { lastingEntries.add(1, ordering: .sequentiallyConsistent) }
    /// A publication in place waits for the thread that copies, or is under way there.
    let isQueued = Atomic<Bool>(false)
    /// Handles on another version's node have saved it (`SaveService+Hosting`).
    let hasHostedSaves = Atomic<Bool>(false)
    /// When a version last took the document's name, in nanoseconds on the monotonic clock.
    let replaced = Atomic<Int64>(0)
    /// In the last second.
    var wasJustReplaced: Bool { cl_monotonic_ns() - replaced.load(ordering: .relaxed) < 1_000_000_000 }
    /// Of several documents the lower one's `naming` is taken first.
    let order: UInt64
    /// Names the document for its locks, which hold for all its versions, and for a claim's copy of it.
    let lockKey: UInt64

    init(of node: Node, lockedAs lockKey: UInt64? = nil) {
        order = node.generation
        self.lockKey = lockKey ?? node.generation
        state = Mutex(State(identity: node.identity))
    }

    /// The kernel knows a version no more. Returns the published one if it is to be let go of.
    func forgot(_ node: Node) -> Node? {
        state.withLock { state in
            if state.isOther(node) { state.others -= 1 }
            return state.letsGo()
        }
    }

    /// A version that was forgotten is known once more.
    func knownAgain(_ node: Node) { state.withLock { state in if state.isOther(node) { state.others += 1 } } }

    /// The save whose working copy the node is. Takes the state.
    func working(_ node: Node) -> WorkingVersion? { state.withLock { $0.working[node.versionID] } }

    /// Whether a save has kept the node, whose inode was the document's, as its working copy. Takes the state.
    func isExchanged(_ node: Node) -> Bool { working(node)?.isExchanged ?? false }

    /// The published version, if the node is the working copy of a save. Takes the state.
    func published(beside node: Node) -> Node? {
        state.withLock { $0.working[node.versionID] == nil ? nil : $0.published }
    }

    /// Whether another version has taken the node's place. Takes the state.
    func isSuperseded(_ node: Node) -> Bool {
        state.withLock { $0.isOther(node) && $0.working[node.versionID] == nil }
    }
}

extension Node {
    /// As a version of its document.
    var versionID: VersionID { VersionID(generation) }

    /// What locks are kept by: the same for all versions of a document.
    var lockKey: UInt64 { versions.load()?.lockKey ?? generation }
}

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
