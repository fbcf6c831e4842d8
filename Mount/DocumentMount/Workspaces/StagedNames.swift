import Coordination
import FuseKernel
import Glibc
import StorePrimitives
import Synchronization

/// The names in one folder that are other files for those who work for a claim: what they save stands under hidden names beside
/// the documents until the claim ends.
final class StagedNames: Sendable {
    struct Staged: Sendable {
        let claim: ClaimID
        /// Where the claim's version stands in the same folder; nil: it has removed the name.
        var hidden: EntryName?
        /// What stood under the name in the store when it was staged; nil: nothing.
        let base: FileIdentity?
        /// Who saved it last.
        let caller: Caller
        /// The hidden version is a copy of what stood there: to programs it is the same file.
        var isCopy = false
    }

    private struct State {
        var staged: [EntryName: Staged] = [:]
        /// By hidden name.
        var shown: [EntryName: EntryName] = [:]
    }

    /// Rank 0a: what begins or changes staged names of the folder, one at a time; a document may be copied meanwhile.
    let changing = ThreadLock()
    /// Leaf.
    private let state = Mutex(State())
    private let count = Atomic<Int>(0)

    /// Whether there are any: one look.
    var isUsed: Bool { count.load(ordering: .acquiring) > 0 }

    subscript(name: EntryName) -> Staged? { state.withLock { $0.staged[name] } }

    /// By which name a hidden version is shown.
    func shownName(of hidden: EntryName) -> EntryName? { state.withLock { $0.shown[hidden] } }

    var all: [(name: EntryName, staged: Staged)] { state.withLock { state in state.staged.map { ($0.key, $0.value) } } }

    /// True for the first of the folder.
    func set(_ name: EntryName, _ staged: Staged) -> Bool {
        state.withLock { state in
            let isFirst = state.staged.isEmpty
            if let hidden = state.staged[name]?.hidden { state.shown[hidden] = nil }
            state.staged[name] = staged
            if let hidden = staged.hidden { state.shown[hidden] = name }
            count.store(state.staged.count, ordering: .releasing)
            return isFirst
        }
    }

    /// True if it was the last of the folder.
    func remove(_ name: EntryName) -> Bool {
        state.withLock { state in
            guard let staged = state.staged.removeValue(forKey: name) else { return false }
            if let hidden = staged.hidden { state.shown[hidden] = nil }
            count.store(state.staged.count, ordering: .releasing)
            return state.staged.isEmpty
        }
    }
}

extension Node {
    /// Whether its file stands under a hidden name: a claim's version of a document, of which nobody else is told.
    var isStaged: Bool { currentLink?.isStaged ?? false }
}

extension Node.Link {
    /// The inode number that a claim's copy of a document is shown with: the document's. Editors take another one for another file.
    var copiedInode: UInt64? {
        guard let staged = shownName.flatMap({ parent.staged.load()?[$0] }), staged.isCopy else { return nil }
        return staged.base?.inode
    }

    var isStaged: Bool { shownName != nil }

    /// By which name the file is shown, if it is a claim's version of a document.
    var shownName: EntryName? {
        guard let staged = parent.staged.load(), staged.isUsed else { return nil }
        return staged.shownName(of: name)
    }
}
