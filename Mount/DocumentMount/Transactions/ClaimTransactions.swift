import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// What the holders of claims for writing, and what they start, save within their claims: theirs alone until the claim ends, and
/// then everybody's at once, or nobody's.
///
/// A document that they open for writing is copied to a hidden name beside it first, and a name they make, remove or rename is
/// changed for them alone. From then on a LOOKUP answers each by who asks, and all else goes by the node: a claim's versions are
/// files of the store as all others, saves of them transactions as all others.
///
/// Written in place at once are, within a claim too: documents with live patterns' names or hard links, what cannot be copied, and
/// what was open for writing before. Folders are made and moved at once, and special files made and removed.
///
/// Two claims for one name, of one purpose or within each other, have a version each; who works for both has the inner one's, but
/// goes on with the outer one's where that is there first.
final class ClaimTransactions: Sendable {
    let table: NodeTable
    let locator: Locator
    let saves: SaveService
    let coordinator: Coordinator
    let journal: ChangeJournal
    let ownRemovals: OwnRemovals
    let log: Logger

    /// Rank 0d: shared by who looks staged names up, alone while names are published, so that all are seen changed or none.
    let visibility = SharedLock()

    private struct State {
        /// Each folder with a lookup counted, as long as names in it are staged.
        var places: [ClaimID: [Place: TakenShare]] = [:]
        /// Claims that end: nothing more is staged for them.
        var ending: Set<ClaimID> = []
    }

    /// A name that is staged, or about to be.
    struct Place: Hashable {
        let folder: Node
        let name: EntryName

        static func == (one: Place, other: Place) -> Bool { one.folder === other.folder && one.name == other.name }
        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(folder))
            hasher.combine(name)
        }
    }

    /// Rank 4a: the coordinator's state (4b) is looked at within it.
    private let state = Mutex(State())

    init(
        table: NodeTable, locator: Locator, saves: SaveService, coordinator: Coordinator, journal: ChangeJournal,
        ownRemovals: OwnRemovals, log: Logger
    ) {
        self.table = table
        self.locator = locator
        self.saves = saves
        self.coordinator = coordinator
        self.journal = journal
        self.ownRemovals = ownRemovals
        self.log = log
    }

    // MARK: - Who sees what

    /// The staged name, if the caller works for its claim.
    func staged(_ name: EntryName, in folder: Node, for caller: Caller) -> StagedNames.Staged? {
        guard let names = folder.staged.load(), names.isUsed else { return nil }
        return names[name].last { coordinator.serves($0.claim, caller) }
    }

    /// The claim for which the caller would stage a name that is not staged yet; nil if it works for none.
    func claim(for name: EntryName, in folder: Node, _ caller: Caller) -> (id: ClaimID, isContentOnly: Bool)? {
        guard !name.withCString(saves.options.livePatterns.matches), let path = folder.path?.appending(name),
            coordinator.isClaimed(path), !folder.isServed
        else { return nil }
        return coordinator.transaction(of: caller, writing: path, besides: state.withLock { $0.ending })
    }

    /// Runs what may stage names, alone in their folders; nil if nobody claims them. While nobody claims anything: one check.
    func staging<Result>(
        _ name: EntryName, in folder: Node, _ other: (name: EntryName, folder: Node)? = nil, _ body: () throws(Errno) -> Result?
    ) throws(Errno) -> Result? {
        let places = [(name, folder)] + (other.map { [($0.name, $0.folder)] } ?? [])
        guard places.contains(where: isClaimed) else { return nil }
        var folders = places.map(\.1)
        if folders.count == 2, folders[0] === folders[1] { folders.removeLast() }
        return try alone(in: folders, body)
    }

    func isClaimed(_ name: EntryName, _ folder: Node) -> Bool {
        if let names = folder.staged.load(), !names[name].isEmpty { return true }
        return folder.path.map { coordinator.isClaimed($0.appending(name)) } ?? false && !folder.isServed
    }

    /// Each folder once.
    func alone<Result>(in folders: [Node], _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        let locks = folders.sorted { $0.generation < $1.generation }.map { $0.staged.storeIfNil(StagedNames()).changing }
        return try locks.withLocks(body)
    }

    // MARK: - Staging

    /// Has a name known as one that may be staged. Throws ESTALE if the claim ends: the caller works for it no more; EDQUOT if the user
    /// has staged too many.
    func reserve(_ name: EntryName, in folder: Node, for claim: ClaimID, by user: Credentials) throws(Errno) {
        try state.withLock { (state) throws(Errno) in
            // One check of both, so that a claim that ends meanwhile ends with the name.
            guard !state.ending.contains(claim), coordinator.isHeld(claim) else { throw .staleNFSFileHandle }
            let place = Place(folder: folder, name: name)
            if state.places[claim]?.keys.contains(place) == true { return }
            guard let share = TakenShare(.stagedNames, of: saves.shares, for: user.uid) else { throw Errno(rawValue: EDQUOT) }
            state.places[claim, default: [:]][place] = share
        }
    }

    /// From now on the name is `staged` for those who work for its claim. Throws ESTALE if that ends, and nothing is staged.
    func stage(_ name: EntryName, in folder: Node, _ staged: StagedNames.Staged) throws(Errno) {
        try reserve(name, in: folder, for: staged.claim, by: staged.user)
        enter(name, in: folder, staged)
    }

    /// The same for a name that was reserved.
    func enter(_ name: EntryName, in folder: Node, _ staged: StagedNames.Staged) {
        let names = folder.staged.storeIfNil(StagedNames())
        if let document = staged.document { table.hold(document) }
        let before = names[name, staged.claim]
        if names.set(name, staged) { table.hold(folder) }
        if let document = before?.document { table.forget(document, count: 1) }
        // What the kernel remembers of the name holds for all.
        forget(name, in: folder)
    }

    /// The name stands for those who work for the claim for what it does for all others.
    func unstage(_ place: Place, for claim: ClaimID) {
        guard let names = place.folder.staged.load() else { return }
        _ = state.withLock { $0.places[claim]?.removeValue(forKey: place) }
        let document = names[place.name, claim]?.document
        let isLast = names.remove(place.name, claim)
        forget(place.name, in: place.folder)
        if let document { table.forget(document, count: 1) }
        if isLast { table.forget(place.folder, count: 1) }
    }

    func forget(_ name: EntryName, in folder: Node) {
        saves.session.current?.notifier.nameChanged(name, in: folder, table)
    }

    /// The names that may be staged for a claim, of which there are no more from now on. To be followed by `ended`.
    func close(_ claim: ClaimID) -> [Place] {
        state.withLock { state in
            state.ending.insert(claim)
            return state.places[claim].map { places in
                places.keys.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
            } ?? []
        }
    }

    /// The claim is over, for the coordinator too.
    func ended(_ claim: ClaimID) {
        state.withLock { state in
            state.places[claim] = nil
            state.ending.remove(claim)
        }
    }

    /// Whether a claim has staged anything: one lock.
    func isUsed(by claim: ClaimID) -> Bool { state.withLock { $0.places[claim]?.isEmpty == false } }

    /// How many names each claim has staged.
    var counts: [ClaimID: Int] { state.withLock { $0.places.mapValues(\.count) } }
}
