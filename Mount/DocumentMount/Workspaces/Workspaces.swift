import CLinux
import Coordination
import DocumentStore
import FuseKernel
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
/// what was open for writing before. Folders are made, moved and removed at once.
final class Workspaces: Sendable {
    let table: NodeTable
    let locator: Locator
    let saves: SaveService
    let coordinator: Coordinator
    let journal: ChangeJournal
    let ownRemovals: OwnRemovals
    let log: Logger

    /// Rank 0b: shared by who looks staged names up, alone while names are published, so that all are seen changed or none.
    let visibility = SharedLock()

    private struct State {
        /// Each folder with a lookup counted, as long as names in it are staged.
        var places: [ClaimID: [Place]] = [:]
        /// Claims that end: nothing more is staged for them.
        var ending: Set<ClaimID> = []
    }

    /// A name that is staged.
    struct Place {
        let folder: Node
        let name: EntryName
    }

    /// Leaf.
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
        guard let names = folder.staged.load(), names.isUsed, let staged = names[name],
            coordinator.serves(staged.claim, caller)
        else { return nil }
        return staged
    }

    /// The claim for which the caller would stage a name that is not staged yet; nil if it works for none.
    func claim(for name: EntryName, in folder: Node, _ caller: Caller) -> (id: ClaimID, isContentOnly: Bool)? {
        guard !name.withCString(saves.options.livePatterns.matches), let path = folder.path?.appending(name),
            let found = coordinator.workspace(of: caller, writing: path), !state.withLock({ $0.ending.contains(found.id) })
        else { return nil }
        return found
    }

    /// Runs what may stage names, alone in their folders; nil if nobody claims them. While nobody claims anything: one look.
    func staging<Result>(
        _ name: EntryName, in folder: Node, _ other: (name: EntryName, folder: Node)? = nil, _ body: () throws(Errno) -> Result?
    ) throws(Errno) -> Result? {
        let places = [(name, folder)] + (other.map { [($0.name, $0.folder)] } ?? [])
        guard places.contains(where: isClaimed) else { return nil }
        var folders = places.map(\.1)
        if folders.count == 2, folders[0] === folders[1] { folders.removeLast() }
        return try alone(in: folders.sorted { $0.generation < $1.generation }[...], body)
    }

    private func isClaimed(_ name: EntryName, _ folder: Node) -> Bool {
        if let names = folder.staged.load(), names[name] != nil { return true }
        return folder.path.map { coordinator.isClaimed($0.appending(name)) } ?? false
    }

    func alone<Result>(in folders: ArraySlice<Node>, _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        guard let first = folders.first else { return try body() }
        let names = first.staged.storeIfNil(StagedNames())
        return try names.changing.withLock { () throws(Errno) in try alone(in: folders.dropFirst(), body) }
    }

    // MARK: - Staging

    /// From now on the name is `staged` for those who work for its claim.
    func stage(_ name: EntryName, in folder: Node, _ staged: StagedNames.Staged) {
        let names = folder.staged.storeIfNil(StagedNames())
        let isNew = names[name] == nil
        if names.set(name, staged) { table.hold(folder) }
        if isNew { state.withLock { $0.places[staged.claim, default: []].append(Place(folder: folder, name: name)) } }
        // What the kernel remembers of the name holds for all.
        forget(name, in: folder)
    }

    /// The name stands for everybody for what it does in the store.
    func unstage(_ place: Place) {
        guard let names = place.folder.staged.load(), let staged = names[place.name] else { return }
        state.withLock { $0.places[staged.claim]?.removeAll { $0.folder === place.folder && $0.name == place.name } }
        let isLast = names.remove(place.name)
        forget(place.name, in: place.folder)
        if isLast { table.forget(place.folder, count: 1) }
    }

    private func forget(_ name: EntryName, in folder: Node) {
        guard let notifier = saves.session.current?.notifier, !notifier.everyNameChangedNow() else { return }
        notifier.entryChanged(in: table.id(of: folder), name: name.bytes)
    }

    /// The names staged for a claim, the first first, of which no more are staged from now on.
    func close(_ claim: ClaimID) -> [Place] {
        state.withLock { state in
            guard let places = state.places[claim], !places.isEmpty else { return [] }
            state.ending.insert(claim)
            return places
        }
    }

    /// The claim is over.
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

    /// Hands staged names on to the claim that the ended one was asked for within.
    func handOver(_ places: [Place], to outer: ClaimID) {
        for place in places {
            guard let names = place.folder.staged.load(), let staged = names[place.name] else { continue }
            let handed = StagedNames.Staged(
                claim: outer, hidden: staged.hidden, base: staged.base, caller: staged.caller, isCopy: staged.isCopy)
            _ = names.set(place.name, handed)
        }
        state.withLock { $0.places[outer, default: []] += places }
    }
}
