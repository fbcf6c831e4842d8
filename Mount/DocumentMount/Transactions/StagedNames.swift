import CLinux
import Coordination
import DocumentStore
import FuseServer
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
        let base: Base?
        /// Who saved it last.
        let caller: Caller
        /// The same, with all groups: the thread may be gone when the change is judged.
        let user: Credentials
        /// The hidden version is a copy of what stood there: to programs it is the same file.
        var copy: StagedCopy?
        /// What was copied, with a lookup counted: locks on it hold for its copy.
        var document: Node?
        /// Where the version stood for everybody before the claim put it under the name.
        var origin: ClaimTransactions.Place?

        /// A folder, which stays in the store until the claim ends, with what the claim has removed in it.
        var isRemovedFolder: Bool { hidden == nil && base?.type == S_IFDIR }
    }

    struct Base: Sendable {
        let identity: FileIdentity
        /// The file type bits of st_mode.
        let type: mode_t
        let seen: Node.Seen

        /// Claims have versions of their own of these.
        var isFile: Bool { type == S_IFREG || type == S_IFLNK }
    }

    private struct State {
        /// Of the claims for one name the one asked for last is the last.
        var staged: [EntryName: [Staged]] = [:]
        /// By hidden name.
        var shown: [EntryName: EntryName] = [:]

        mutating func remove(_ name: EntryName, _ claim: ClaimID) -> Bool {
            guard let index = staged[name]?.firstIndex(where: { $0.claim == claim }) else { return false }
            if let hidden = staged[name]?.remove(at: index).hidden { shown[hidden] = nil }
            if staged[name]?.isEmpty == true { staged[name] = nil }
            return true
        }
    }

    /// Rank 0c: what begins or changes staged names of the folder, one at a time; a document may be copied meanwhile.
    let changing = ThreadLock()
    /// Leaf.
    private let state = Mutex(State())
    private let count = Atomic<Int>(0)

    /// Whether there are any: one check.
    var isUsed: Bool { count.load(ordering: .acquiring) > 0 }

    /// For whom a name is staged; of claims within each other the innermost is the last.
    subscript(name: EntryName) -> [Staged] { state.withLock { $0.staged[name] ?? [] } }

    subscript(name: EntryName, claim: ClaimID) -> Staged? {
        state.withLock { $0.staged[name]?.first { $0.claim == claim } }
    }

    /// By which name a hidden version is shown.
    func shownName(of hidden: EntryName) -> EntryName? { state.withLock { $0.shown[hidden] } }

    /// Whose version a hidden name is.
    func staged(as hidden: EntryName) -> Staged? {
        state.withLock { state in state.shown[hidden].flatMap { state.staged[$0] }?.first { $0.hidden == hidden } }
    }

    /// True for the first of the folder.
    func set(_ name: EntryName, _ staged: Staged) -> Bool {
        state.withLock { state in
            let isFirst = state.staged.isEmpty
            _ = state.remove(name, staged.claim)
            state.staged[name, default: []].append(staged)
            state.staged[name]?.sort { $0.claim < $1.claim }
            if let hidden = staged.hidden { state.shown[hidden] = name }
            count.store(state.staged.count, ordering: .releasing)
            return isFirst
        }
    }

    /// True if it was the last of the folder.
    func remove(_ name: EntryName, _ claim: ClaimID) -> Bool {
        state.withLock { state in
            guard state.remove(name, claim) else { return false }
            count.store(state.staged.count, ordering: .releasing)
            return state.staged.isEmpty
        }
    }
}

extension StagedNames.Base {
    init(_ status: cl_status) {
        (identity, type, seen) = (FileIdentity(status), status.st.st_mode & S_IFMT, Node.Seen(status.st))
    }
}

extension Node {
    /// Whether its file stands under a hidden name: a claim's version of a document, of which nobody else is told.
    var isStaged: Bool { currentLink?.isStaged ?? false }
}

extension Node.Link {
    /// The inode number that a claim's copy of a document is shown with: the document's. Editors take another one for another file.
    var copiedInode: UInt64? {
        guard let names = parent.staged.load(), names.isUsed, let staged = names.staged(as: name), staged.copy != nil
        else { return nil }
        return staged.base?.identity.inode
    }

    var isStaged: Bool { shownName != nil }

    /// By which name the file is shown, if it is a claim's version of a document.
    var shownName: EntryName? {
        guard let staged = parent.staged.load(), staged.isUsed else { return nil }
        return staged.shownName(of: name)
    }
}
