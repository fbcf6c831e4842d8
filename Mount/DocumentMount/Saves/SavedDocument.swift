import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import ProcessInspection
import StorePrimitives
import Synchronization

/// A document from its first save on, with all its saves: its state machine, its locks, and its versions. Every node that stands for one
/// of these leads here (`Node.saved`): the published version, the working copies, and superseded versions that are still open.
///
/// Between saves there is no state machine, and the nodes are as all others.
final class SavedDocument: Sendable {
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

    /// What all documents of the mount share. Unowned, as it holds those that have a machine; whatever runs after the request holds it
    /// (`forgetName`).
    unowned let service: SaveService
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
    /// Handles on another version's node have saved it (`SavedDocument+Hosting`).
    let hasHostedSaves = Atomic<Bool>(false)
    /// When a version last took the document's name, in nanoseconds on the monotonic clock.
    let replacedAt = Atomic<Int64>(0)
    /// In the last second.
    var wasJustReplaced: Bool { cl_monotonic_ns() - replacedAt.load(ordering: .relaxed) < 1_000_000_000 }
    /// Of several documents the lower one's `naming` is taken first.
    let order: UInt64
    /// Names the document for its locks, which hold for all its versions, and for a claim's copy of it.
    let lockKey: UInt64

    init(of node: Node, lockedAs lockKey: UInt64?, service: SaveService) {
        self.service = service
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
    var lockKey: UInt64 { saved.load()?.lockKey ?? generation }
}
