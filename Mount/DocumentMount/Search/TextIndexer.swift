import CLinux
import DocumentIndex
import struct DocumentIndex.UserID
import DocumentRendering
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Keeps the text index up with the store: reads the searchable text of documents, one after another, on a thread of the lowest priority,
/// while apps do not use the store.
///
/// It reads the store's files, which hold published versions alone, and changes no times. Hidden documents are not read.
final class TextIndexer: Sendable {
    private struct State {
        /// Documents that have another content or name.
        var changed: Set<StorePath> = []
        /// When all documents are to be looked at, on the monotonic clock: at the start, after changes that were not kept, and again for
        /// those that could not be read.
        var allDue: Int64?
        /// Nothing is read before.
        var notBefore: Int64 = 0
        var isWorking = false
        var isPaused = false
        var isOver = false
        /// How long documents were read in vain since all were last looked at, by their owners, in nanoseconds.
        var inVain: [UserID: Int64] = [:]
        /// Why nothing is read, for a person.
        var trouble: String?
        var document: StorePath?
    }
    /// Leaf.
    private let state = Locked(State())
    private let loop = LoopThread()
    private let indexer: Indexer
    private let reader: TextReader
    /// The document as the worker is to read it.
    private let subject: @Sendable (StorePath) -> RenderSubject
    /// Nil if packages are found by their names alone.
    private let packageTexts: PackageTexts?
    private let isStoreInUse: @Sendable () -> Bool
    private let log: Logger
    /// Nil if it turned out damaged and no other could be made. Nothing is taken within it; a file is opened.
    private let index: Locked<TextIndex?>
    private let folder: String
    let bounds: BoundedResource.Bound
    private var accounts: Accounts { indexer.index.bounds.accounts }

    /// Changes kept; with more all documents are looked at.
    private static let mostChanged = 10_000
    /// Documents that are looked at together.
    private static let batch = 200
    /// Texts are recorded when there are so many bytes of them, or after so long.
    private static let batchBytes = 1 << 20
    private static let batchAge: Int64 = 2_000_000_000
    /// How long the thread waits for apps to have a pause, before it reads one document all the same.
    private static let longestWait: Int64 = 10_000_000_000
    private static let usePollInterval: Int64 = 200_000_000
    /// After an error, and before documents that could not be read are tried again.
    private static let pauseAfterError: Int64 = 600_000_000_000
    /// How long documents of one owner may be read in vain, before the others' are read: it may be made to take long.
    private static let mostInVain: Int64 = 60_000_000_000

    /// Throws if the index cannot be opened.
    /// - Parameters:
    ///   - isNew: whether the index of documents was made anew: its ids are others.
    ///   - readsPackages: whether all that is in a package may be read by whoever may read the package, as on a mount of one user.
    init(
        folder: String, isNew: Bool, bounds: BoundedResource.Bound, indexer: Indexer, reader: TextReader, subject: @escaping @Sendable (StorePath) -> RenderSubject,
        readsPackages: Bool, isStoreInUse: @escaping @Sendable () -> Bool, log: Logger
    ) throws(IndexError) {
        self.folder = folder
        self.bounds = bounds
        self.indexer = indexer
        self.reader = reader
        self.subject = subject
        packageTexts = readsPackages ? PackageTexts(reader: reader, store: indexer.reader.store, subject: subject) : nil
        self.isStoreInUse = isStoreInUse
        self.log = log
        if isNew { TextIndex.remove(in: folder) }
        index = Locked(try TextIndex(folder: folder, bounds: bounds, accounts: indexer.index.bounds.accounts))
    }

    /// Where texts are searched; nil for as long as it is damaged.
    var textIndex: TextIndex? { index.withLock { $0 } }

    func start() {
        indexer.index.follow { [self] in follow($0) }
        indexer.scanner.onCompleteScan = { [self] in lookAtAll() }
        loop.start("quire-text") { [self] in
            _ = cl_set_thread_nice(19)
            while let work = next() { carryOut(work) }
        }
    }

    func stop() {
        state.withLock { $0.isOver = true }
        reader.interrupt()
        loop.stop()
        try? textIndex?.close()
    }

    // MARK: - What is to be read

    /// On any thread; waits for nothing.
    private func follow(_ changes: [IndexedChange]) {
        state.withLock { state in
            for change in changes {
                switch change {
                case .changed(let path): Self.note(path, in: &state)
                case .moved(_, let path, let isFolder):
                    // A folder may be hidden no more, and another name may be of another type.
                    if isFolder { state.allDue = cl_monotonic_ns() } else { Self.note(path, in: &state) }
                case .exchanged(let one, let other):
                    Self.note(one, in: &state)
                    Self.note(other, in: &state)
                // Its text is forgotten when all are looked at next.
                case .gone: state.allDue = state.allDue ?? cl_monotonic_ns() + Self.pauseAfterError
                }
            }
        }
        loop.wake()
    }

    private static func note(_ path: StorePath, in state: inout State) {
        if state.changed.count < mostChanged { state.changed.insert(path) } else { state.allDue = cl_monotonic_ns() }
    }

    private func lookAtAll() {
        state.withLock { $0.allDue = cl_monotonic_ns() }
        loop.wake()
    }

    private enum Work {
        case all
        case changed([StorePath])
    }

    /// The next work; nil at the end.
    private func next() -> Work? {
        while true {
            let (work, isOver, due) = state.withLock { state -> (Work?, Bool, Int64?) in
                let now = cl_monotonic_ns()
                if state.isOver { return (nil, true, nil) }
                if state.isPaused { return (nil, false, nil) }
                if state.notBefore > now { return (nil, false, state.notBefore) }
                if let due = state.allDue, due <= now {
                    (state.allDue, state.changed, state.inVain, state.isWorking) = (nil, [], [:], true)
                    return (.all, false, nil)
                }
                guard !state.changed.isEmpty else { return (nil, false, state.allDue) }
                // Few at a time: others' changes come in between.
                let some = Array(state.changed.prefix(Self.batch))
                state.changed.subtract(some)
                state.isWorking = true
                return (.changed(some), false, nil)
            }
            if isOver { return nil }
            if let work { return work }
            reader.rest()
            loop.sleep(until: due)
        }
    }

    private var goesOn: Bool { state.withLock { !$0.isOver && !$0.isPaused } }

    private func carryOut(_ work: Work) {
        do throws(TextFailure) {
            switch work {
            case .all: try readAll()
            case .changed(let paths): try read(try documents(at: paths), areTold: true)
            }
        } catch {
            give(up: error)
        }
        state.withLock { state in
            state.isWorking = false
            // Unfinished work is looked at again.
            if state.isOver || state.isPaused { state.allDue = cl_monotonic_ns() }
        }
    }

    private func documents(at paths: [StorePath]) throws(TextFailure) -> [Document] {
        var documents: [Document] = []
        for path in paths { if let document = try ofDocuments({ () throws(IndexError) in try indexer.index.document(at: path) }) { documents.append(document) } }
        return documents
    }

    // MARK: - Failures

    /// Why reading pauses.
    private enum TextFailure: Error {
        case documents(IndexError)
        case texts(IndexError)
        /// Nobody reads documents, or there is no room: why, for a person.
        case other(String)
    }

    private func ofDocuments<Result>(_ body: () throws(IndexError) -> Result) throws(TextFailure) -> Result {
        do throws(IndexError) { return try body() } catch { throw .documents(error) }
    }

    private func ofTexts<Result>(_ body: (TextIndex) throws(IndexError) -> Result) throws(TextFailure) -> Result {
        guard let index = textIndex else { throw .texts(.corrupt(reason: "it is to be made anew: quire index rebuild")) }
        do throws(IndexError) { return try body(index) } catch { throw .texts(error) }
    }

    private func give(up failure: TextFailure) {
        let reason: String
        switch failure {
        case .documents(.closed), .texts(.closed): return
        case .documents(let error): reason = "\(error)"
        case .texts(let error):
            if case .corrupt = error { noteDamage() }
            reason = "\(error)"
        case .other(let text): reason = text
        }
        let isNew = state.withLock { state in
            defer {
                state.trouble = reason
                state.allDue = cl_monotonic_ns() + Self.pauseAfterError
                state.notBefore = cl_monotonic_ns() + Self.pauseAfterError
            }
            return state.trouble != reason
        }
        if isNew { log.warning("texts of documents are not read for now: \(reason)") }
    }

    /// The index turned out damaged: another is made. Searches that have it open go on with it.
    func noteDamage() {
        index.withLock { index in
            index = nil
            TextIndex.remove(in: folder)
            index = try? TextIndex(folder: folder, bounds: bounds, accounts: accounts)
        }
        lookAtAll()
    }

    // MARK: - Reading

    /// Looks at all documents, and forgets the texts of those that are gone.
    private func readAll() throws(TextFailure) {
        var last = DocumentID(rawValue: 0)
        while goesOn {
            let documents = try ofDocuments { () throws(IndexError) in try indexer.index.documents(after: last, limit: Self.batch) }
            let end = documents.last?.id ?? DocumentID(rawValue: .max)
            try forgetOthers(than: Set(documents.lazy.filter { !$0.path.isHidden }.map(\.id)), after: last, until: end)
            guard !documents.isEmpty else { return }
            try read(documents, areTold: false)
            last = end
        }
    }

    /// Forgets texts of documents between two ids that are not these.
    private func forgetOthers(than known: Set<DocumentID>, after first: DocumentID, until end: DocumentID) throws(TextFailure) {
        var last = first
        while goesOn, last < end {
            let states = try ofTexts { (index) throws(IndexError) in try index.states(after: last, limit: Self.batch) }
            guard let next = states.last?.document else { return }
            let others = states.map(\.document).filter { $0 <= end && !known.contains($0) }
            if !others.isEmpty { try ofTexts { (index) throws(IndexError) in try index.forget(others) } }
            last = next
        }
    }

    private func read(_ documents: [Document], areTold: Bool) throws(TextFailure) {
        var (texts, bytes, began): ([IndexedText], Int, Int64) = ([], 0, cl_monotonic_ns())
        func record() throws(TextFailure) {
            guard !texts.isEmpty else { return }
            try ofTexts { (index) throws(IndexError) in try index.record(texts, at: Timestamp(nanoseconds: Clock.now)) }
            (texts, bytes, began) = ([], 0, cl_monotonic_ns())
            state.withLock { $0.trouble = nil }
            indexer.noteChange(toTags: false)
        }
        for document in documents where !document.path.isHidden && goesOn {
            guard let outcome = try outcome(of: document, isTold: areTold) else { continue }
            if case .text(let text) = outcome { bytes += text.count }
            texts.append(IndexedText(document: document.id, owner: document.owner, version: TextVersion(document), outcome: outcome))
            if bytes > Self.batchBytes || cl_monotonic_ns() - began > Self.batchAge { try record() }
        }
        try record()
    }

    /// The outcome of reading a document; nil if it need not be read now. - Parameter isTold: it has changed, or has another name, under
    /// which there may be something to be read.
    private func outcome(of document: Document, isTold: Bool) throws(TextFailure) -> IndexedText.Outcome? {
        let version = TextVersion(document)
        let known = try ofTexts { (index) throws(IndexError) in try index.state(of: document.id) }
        guard known?.isDue(for: version) ?? true || isTold && known?.kind == .nothing else { return nil }
        try checkRoom()
        guard try mayBeRead(document) else { return nil }
        waitForPause()
        state.withLock { $0.document = document.path }
        let began = cl_monotonic_ns()
        var isInVain = false
        defer {
            state.withLock { state in
                state.document = nil
                if isInVain { state.inVain[document.owner, default: 0] += cl_monotonic_ns() - began }
            }
        }
        // The index is told soon of a version that it has not.
        func isSame(_ read: ThumbnailVersion) -> Bool { read.size == version.size && read.modified == version.modified.nanoseconds }
        if indexer.reader.isPackage(document.path) { return try textOfPackage(document) }
        switch reader.read(subject(document.path)) {
        case .text(let bytes, let read): return isSame(read) ? .text(bytes) : nil
        case .nothing(let reason, let read): return isSame(read) ? .nothing(reason) : nil
        case .failed(let reason, let read):
            isInVain = true
            tryAgainLater()
            return isSame(read) ? .failed(reason) : nil
        case .unreadable(let reason):
            isInVain = true
            tryAgainLater()
            return .failed(reason)
        case .changed: return nil
        case .noWorker(let reason): throw .other(reason)
        }
    }

    private func textOfPackage(_ package: Document) throws(TextFailure) -> IndexedText.Outcome? {
        guard let packageTexts else { return .nothing("the texts of packages are read on mounts of one user alone") }
        let outcome = packageTexts.read(package.path) {
            waitForPause()
            return goesOn
        }
        switch outcome {
        case .text(let words): return .text(words)
        case .nothing: return .nothing("nothing in it has a text")
        case .interrupted:
            tryAgainLater()
            return nil
        case .noWorker(let reason): throw .other(reason)
        }
    }

    private func tryAgainLater() { state.withLock { $0.allDue = $0.allDue ?? cl_monotonic_ns() + Self.pauseAfterError } }

    /// Whether its owner has a share left, of room and of time.
    private func mayBeRead(_ document: Document) throws(TextFailure) -> Bool {
        if state.withLock({ $0.inVain[document.owner] ?? 0 }) > Self.mostInVain {
            tryAgainLater()
            return false
        }
        // Where there is none now, all are looked at again when documents have gone.
        return try ofTexts { (index) throws(IndexError) in try index.hasRoom(for: document.owner) }
    }

    private func checkRoom() throws(TextFailure) {
        let size = try ofTexts { (index) throws(IndexError) in try index.size() }
        var disk = statvfs()
        guard folder.withCString({ statvfs($0, &disk) }) == 0 else { return }
        let free = Int(clamping: UInt64(disk.f_bavail).multiplied(clamping: UInt64(disk.f_frsize)))
        if size > bounds.forAll { throw .other("the index of texts has \(size >> 20) MiB, the most that it may take (textBytes)") }
        if free < size / 2 || free < 64 << 20 { throw .other("\(folder): the disk has no room for more texts") }
    }

    /// Waits until apps do not use the store, but not for ever.
    private func waitForPause() {
        let deadline = cl_monotonic_ns() + Self.longestWait
        while isStoreInUse(), goesOn, cl_monotonic_ns() < deadline { loop.sleep(until: cl_monotonic_ns() + Self.usePollInterval) }
    }
}

/// Commands.
extension TextIndexer {
    struct Status: Sendable {
        var counts: TextCounts
        /// `reading`, `paused` or `idle`.
        var state: String
        var document: StorePath?
        var trouble: String?
    }

    func status() throws(IndexError) -> Status {
        let counts = try textIndex?.counts() ?? TextCounts(indexed: 0, nothing: 0, failed: 0, bytes: 0)
        return state.withLock { state in
            let isDue = state.allDue.map { $0 <= cl_monotonic_ns() } ?? false
            let isIdle = !state.isWorking && (state.notBefore > cl_monotonic_ns() || state.changed.isEmpty && !isDue)
            return Status(
                counts: counts, state: state.isPaused ? "paused" : isIdle ? "idle" : "reading", document: state.document, trouble: state.trouble)
        }
    }

    func setPaused(_ isPaused: Bool) {
        state.withLock { $0.isPaused = isPaused }
        loop.wake()
    }

    /// Forgets all texts, and reads them again.
    func rebuild() throws(IndexError) {
        if let textIndex { try textIndex.clear() } else { noteDamage() }
        state.withLock { $0.notBefore = 0 }
        lookAtAll()
    }
}

extension TextVersion {
    init(_ document: Document) { self.init(size: document.size, modified: document.modified) }
}
