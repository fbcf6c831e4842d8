import CLinux
import DocumentIndex
import struct DocumentIndex.UserID
import DocumentStore
import FuseServer
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// Keeps the index up with the store: takes what the journal tells in batches, on a thread of low priority. Whoever shows
/// what the index knows calls `catchUp` first.
final class Indexer: @unchecked Sendable {
    let index: DocumentIndex
    let reader: StoreReader
    private let journal: ChangeJournal
    var events: EventHub { journal.events }
    /// Whether apps open or change documents just now.
    var isStoreInUse: Bool { journal.isInUse }
    private let log: Logger
    /// Counts changes to what the index knows, for those who keep lists made of it.
    let generation = Atomic<UInt64>(0)
    /// Counts only those to which documents have which tags, where those are, and who keeps a tag.
    let tagGeneration = Atomic<UInt64>(0)
    /// Which documents the last generations changed.
    let written = WrittenDocuments()
    private(set) var scanner: StoreScanner!

    /// Rank 0: batches are applied one after another.
    private let processing = ThreadLock()
    /// Tags that users have removed, as far as the index has yet to be told. Leaf.
    private let dropping = Locked<[Tag: Int]>([:])
    /// Whether events that the journal has no more are on their way to the index.
    private let isTaking = Atomic<Bool>(false)
    /// Guarded by `processing`.
    private var classifier = ReaderClassifier()
    /// Guarded by `processing`. When the last events were processed, on the monotonic clock; nil if memory was given back since.
    private var lastWork: Int64?
    /// Until when events are processed, in nanoseconds on the monotonic clock; the highest number while the mount is there.
    private let deadline = Atomic<Int64>(.max)
    private let hasSaidFull = Atomic<Bool>(false)
    /// When the last search began, in nanoseconds on the monotonic clock; 0 if searches keep nothing in memory.
    private let lastSearch = Atomic<Int64>(0)
    private var thread: NamedThread?

    init(index: DocumentIndex, reader: StoreReader, journal: ChangeJournal, log: Logger) {
        self.index = index
        self.reader = reader
        self.journal = journal
        self.log = log
        scanner = StoreScanner(indexer: self, log: log)
    }

    func start() {
        thread = NamedThread("quire-index") { [unowned self] in
            _ = cl_set_thread_nice(10)
            while deadline.load(ordering: .relaxed) == .max {
                let (isSettled, isTrimmed) = processing.withLock { (classifier.nextSettling == nil, lastWork == nil) }
                let idle = !isSettled ? Self.settlingInterval : isTrimmed ? timeUntilSearchesEnd : Self.timeUntilIdle
                journal.waitForPause(of: Self.pause, atMost: Self.longestDelay, idle: idle)
                catchUp()
                trimMemoryIfIdle()
                endSearchesIfIdle()
            }
        }
        scanner.start()
    }

    /// Work for the index waits until the apps have a pause: it would slow them down, and whoever looks has it done first.
    private static let pause = 0.5
    private static let longestDelay = 10.0
    /// How often opens for reading are looked at again, to count those that have stood their time.
    private static let settlingInterval = 1.0
    /// After so long without events what malloc keeps goes back to the kernel: of the memory of a busy hour more than half is free.
    private static let timeUntilIdle = 5.0
    /// After so long without a search what searches keep in memory goes.
    private static let timeSearchesKeep = 600.0
    /// How long the end of the mount may take with events. The first scan of the next mount makes up for the rest, but for
    /// when documents were used; only programs make so many.
    private static let timeForTheRest: Int64 = 2_000_000_000
    /// So many changes are committed at once: each page that they change is written once, and nobody waits long for the database, nor does
    /// the end.
    private static let batchLimit = 4_000

    /// Takes what the journal still has, and ends. No more events may come.
    func stop() {
        deadline.store(cl_monotonic_ns() + Self.timeForTheRest, ordering: .relaxed)
        scanner.stop()
        journal.endWaiting()
        thread?.join()
        processing.withLock {
            // Nobody will find out more about who opened the last ones.
            process(journal.take(), settlingBy: .seconds(Int64.max))
        }
        journal.stopListening()
        do throws(IndexError) { try index.close() } catch { log.warning("closing the index failed: \(error)") }
    }

    private func trimMemoryIfIdle() {
        let isIdle = processing.withLock {
            guard let last = lastWork, classifier.nextSettling == nil, Double(cl_monotonic_ns() - last) >= Self.timeUntilIdle * 1e9
            else { return false }
            lastWork = nil
            return true
        }
        if isIdle { cl_trim_memory() }
    }

    /// A search begins: what it reads into memory is kept for the next ones.
    func noteSearch() {
        if lastSearch.exchange(cl_monotonic_ns(), ordering: .relaxed) == 0 { journal.endIdling() }
    }

    /// In seconds; nil if searches keep nothing.
    private var timeUntilSearchesEnd: Double? {
        let last = lastSearch.load(ordering: .relaxed)
        return last == 0 ? nil : max(Self.timeSearchesKeep - Double(cl_monotonic_ns() - last) / 1e9, 0)
    }

    private func endSearchesIfIdle() {
        let last = lastSearch.load(ordering: .relaxed)
        // A search that has begun since is the first of the next while.
        guard timeUntilSearchesEnd == 0, lastSearch.compareExchange(expected: last, desired: 0, ordering: .relaxed).exchanged else { return }
        index.endSearching()
        processing.withLock { lastWork = cl_monotonic_ns() }
    }

    /// Asks or changes the index, with the error of a system call.
    func ask<Result>(_ body: (DocumentIndex) throws(IndexError) -> Result) throws(Errno) -> Result {
        do throws(IndexError) { return try body(index) } catch { throw Errno(error) }
    }

    /// Brings the index up to what the mount has done until now.
    func catchUp() { processing.withLock { takeEvents() } }

    /// With `processing` held.
    private func takeEvents() {
        isTaking.store(true, ordering: .releasing)
        process(journal.take())
        isTaking.store(false, ordering: .releasing)
    }

    /// Whether the mount has done something that the index has yet to take.
    var isBehind: Bool { journal.hasEvents }

    /// As `catchUp`, unless nothing that the index has yet to take is about documents or tags of this name. Whether the index has all.
    func catchUp(about name: EntryName) -> Bool {
        let waiting = journal.waiting(about: name)
        // In this order: what the journal has no more is being taken.
        guard waiting == .concerned || isTaking.load(ordering: .acquiring) else { return waiting == .nothing }
        catchUp()
        return true
    }

    /// Has a document looked at by the next `catchUp`.
    func noteChange(of path: StorePath) { journal.present(path) }

    /// The same, of one which has these tags or had them.
    func noteTags(_ tags: [Tag], of path: StorePath) { journal.tagged(path, tags) }

    /// A user took tags from a document: see `IndexUpdate.tagsTaken`.
    func noteTaken(_ tags: [Tag], from path: StorePath, by caller: Credentials, canBeUndone: Bool) {
        journal.tagsTaken(tags, from: path, by: caller.uid, canBeUndone: canBeUndone)
    }

    /// A user removed a tag: see `IndexUpdate.tagDropped`. The index is told at once, and again after the queued events: by these the user may have
    /// taken the tag from a document, and so keep it.
    func drop(_ tag: Tag, by caller: Credentials, keeper: UserID?) throws(Errno) {
        let (user, time) = (UserID(caller.uid), Timestamp(nanoseconds: Clock.now))
        try ask { (index) throws(IndexError) in try index.apply([.tagDropped(tag, by: user, keeper: keeper, at: time)]) }
        guard isBehind else { return }
        dropping.withLock { $0[tag, default: 0] += 1 }
        journal.tagDropped(tag, by: caller.uid, keeper: keeper?.rawValue)
    }

    /// Whether the index, once it has taken what waits, has the tag as one that the user keeps.
    func isTaken(_ tag: Tag, by caller: Credentials) -> Bool { journal.isTaken(tag, by: caller.uid) }

    /// Whether a user has removed a tag, of which the index has yet to be told.
    func isDropping(_ tag: Tag) -> Bool { dropping.withLock { $0[tag] != nil } }

    /// Whether the events that the index has yet to take leave no document with a tag, nor any tag nested in it. False also where only taking it would
    /// tell.
    func isEmptied(_ tag: Tag) -> Bool {
        processing.withLock {
            guard let losing = journal.documents(losing: tag), (try? index.tags(nestedIn: tag).isEmpty) == true,
                let tagged = try? index.documents(tagged: [tag])
            else { return false }
            return tagged.allSatisfy { losing.contains($0.path) }
        }
    }

    /// Applies changes at once, after those that came before.
    func apply(_ changes: [IndexUpdate]) {
        processing.withLock {
            takeEvents()
            commit(changes)
        }
        for case .present(let facts) in changes where !facts.isMeasured { scanner.measureLater(facts.path, of: facts.owner) }
        onChange?()
    }

    /// A package was measured.
    func take(_ package: ScannedDocument) {
        guard let known = try? index.document(at: package.path), known.size != package.size || known.modified != package.modified else { return }
        apply([.present(package)])
    }

    private func process(_ told: [ChangeJournal.Event], settlingBy now: Duration = Indexer.monotonic) {
        if !told.isEmpty { lastWork = cl_monotonic_ns() }
        let events = told.flatMap(reader.packages.events)
        defer { noteTold(of: events) }
        var batch = Batch(reader: reader)
        for (event, place) in zip(events, LaterMoves.places(for: events)) {
            switch event {
            case .present(let path): batch.examine(path, at: place)
            case .touched(let path, let uid): batch.examine(path, at: place, changedBy: UserID(uid))
            case .absent(let path): batch.add(.absent(path))
            case .moved(let old, let new, let isFolder, let takesOver, let caller):
                batch.add(.moved(from: old, to: new, isFolder: isFolder, takesOverTarget: takesOver))
                if isFolder { scanner.folderMoved(from: old, to: new) } else { batch.examine(new, at: place) }
                if takesOver { batch.use(new, caller.uid, Clock.now) }
            case .movedOutside(let old, let new, let isFolder):
                commit(batch.takeChanges())
                if (try? index.knows(at: old)) == true {
                    batch.add(.moved(from: old, to: new, isFolder: isFolder, takesOverTarget: false))
                    if isFolder { scanner.folderMoved(from: old, to: new) }
                } else if isFolder {
                    // It has no documents, but may be a favorite.
                    batch.add(.moved(from: old, to: new, isFolder: true, takesOverTarget: false))
                    if (try? index.knows(at: new)) == false { scanner.scan(new) }
                }
                if !isFolder { batch.examine(new, at: new) }
            case .exchanged(let one, let other, _): batch.add(.exchanged(one, other))
            case .madeAnew(let path, let aside):
                if let facts = batch.facts(of: path, at: place) { batch.add(.madeAnew(facts, takingOverFrom: aside)) }
            case .opened(let node, let uid, let process, let flags, let time):
                note(node, uid, process, flags, time, &batch)
            case .written(let path, let caller, let time):
                batch.examine(path, at: place)
                batch.use(path, caller.uid, time)
            case .tagsTaken(let tags, let path, let uid, let time, let canBeUndone):
                batch.note(.tagsTaken(tags, from: path, by: UserID(uid), at: Timestamp(nanoseconds: time), canBeUndone: canBeUndone))
            case .tagDropped(let tag, let uid, let keeper, let time):
                batch.note(.tagDropped(tag, by: UserID(uid), keeper: keeper.map { UserID($0) }, at: Timestamp(nanoseconds: time)))
            case .replaced(let path):
                batch.add(.absent(path))
                batch.examine(path, at: place)
                scanner.scan(path)
            case .overflow: scanner.scan(.root)
            }
            guard batch.changes.count >= Self.batchLimit else { continue }
            commit(batch.takeChanges())
            if deadline.load(ordering: .relaxed) < cl_monotonic_ns() {
                // No scan makes up for these.
                for case .tagDropped(let tag, let uid, let keeper, let time) in events {
                    batch.note(.tagDropped(tag, by: UserID(uid), keeper: keeper.map { UserID($0) }, at: Timestamp(nanoseconds: time)))
                }
                break
            }
        }
        for use in classifier.settle(now: now) {
            batch.add(.used(use.path, by: use.user, at: use.time, written: false))
        }
        commit(batch.takeChanges())
        for (package, owner) in batch.unmeasured { scanner.measureLater(package, of: owner) }
    }

    private func noteTold(of events: [ChangeJournal.Event]) {
        for event in events {
            switch event {
            case .tagDropped(let tag, _, _, _): dropping.withLock { dropping in dropping[tag] = dropping[tag].flatMap { $0 > 1 ? $0 - 1 : nil } }
            // It stands for events that were not kept, of all kinds.
            case .overflow: dropping.withLock { $0 = [:] }
            default: break
            }
        }
    }

    private func commit(_ changes: [IndexUpdate]) {
        guard !changes.isEmpty else { return }
        var touchesTags = true
        do throws(IndexError) {
            touchesTags = try index.apply(changes)
            noteRoom()
        } catch .closed {
            return
        } catch {
            log.warning("the index missed changes and is scanned again: \(error)")
            scanner.scanLater(.root)
        }
        written.note(changes.compactMap(\.presentPath), in: generation.load(ordering: .relaxed) + 1)
        // Those who watch have heard of what was told to the journal.
        count(touchesTags)
    }

    /// Says once that documents were left out.
    func noteRoom() {
        guard index.documentsLeftOut > 0, !hasSaidFull.exchange(true, ordering: .relaxed) else { return }
        log.warning(
            "the index has no room for more documents, or tags, of some owners: they are not in recents, tags and searches. `quire status` has the bounds (indexBytes, tags)")
    }

    /// Called when something has changed that the journal was not told of. It may take no lock but leaves.
    /// Safe: set before the mount serves.
    nonisolated(unsafe) var onChange: (@Sendable () -> Void)?

    /// Has lists, and the results of searches, made anew.
    func noteChange(toTags: Bool) {
        count(toTags)
        onChange?()
    }

    private func count(_ toTags: Bool) {
        generation.wrappingAdd(1, ordering: .relaxed)
        if toTags { tagGeneration.wrappingAdd(1, ordering: .relaxed) }
    }

    /// A document was opened for reading: a person's use, unless the reader turns out to read in bulk.
    private func note(
        _ node: Node, _ uid: uid_t, _ process: ReaderProcess, _ flags: Int32, _ time: Int64, _ batch: inout Batch
    ) {
        guard let path = node.path.map(reader.packages.whole), ReaderClassifier.mayCount(path) else { return }
        let open = ReadOpen(
            path: path, user: UserID(uid), time: Timestamp(nanoseconds: time), groups: process.groups,
            isBackground: flags & CL_O_NOATIME != 0 || process.isBackground)
        for use in classifier.noteOpen(open, now: Self.monotonic) {
            batch.add(.useRetracted(use.path, by: use.user, at: use.time))
        }
    }

    static var monotonic: Duration { .nanoseconds(cl_monotonic_ns()) }
}

extension IndexUpdate {
    fileprivate var presentPath: StorePath? {
        guard case .present(let facts) = self else { return nil }
        return facts.path
    }
}

/// Changes on their way to the index. A document named several times in a row is looked at once.
private struct Batch {
    let reader: StoreReader
    private(set) var changes: [IndexUpdate] = []
    private var examined: Set<StorePath> = []
    /// Packages whose contents are to be looked at, which takes long, and who owns them.
    private(set) var unmeasured: [StorePath: UserID?] = [:]

    init(reader: StoreReader) { self.reader = reader }

    mutating func takeChanges() -> [IndexUpdate] {
        defer { changes = [] }
        return changes
    }

    mutating func add(_ change: IndexUpdate) {
        changes.append(change)
        // Names may stand for other files from here on.
        examined.removeAll()
    }

    /// Adds a change after which all names stand for the files that they stood for.
    mutating func note(_ change: IndexUpdate) { changes.append(change) }

    /// Has the index told of the document that was at `path` and is now at `place`; nil for one that was replaced.
    mutating func examine(_ path: StorePath, at place: StorePath?, changedBy user: UserID? = nil) {
        guard let place, examined.insert(path).inserted else { return }
        switch reader.status(at: place) {
        case .document(var facts):
            (facts.path, facts.changedBy) = (path, user)
            if !facts.isMeasured { unmeasured.updateValue(facts.owner, forKey: place) }
            changes.append(.present(facts))
        case .nothing: changes.append(.absent(path))
        case .other: break
        }
    }

    func facts(of path: StorePath, at place: StorePath?) -> ScannedDocument? {
        guard let place, case .document(var facts) = reader.status(at: place) else { return nil }
        facts.path = path
        return facts
    }

    mutating func use(_ path: StorePath, _ uid: uid_t, _ time: Int64) {
        guard ReaderClassifier.mayCount(path) else { return }
        changes.append(.used(path, by: UserID(uid), at: Timestamp(nanoseconds: time), written: true))
    }
}
