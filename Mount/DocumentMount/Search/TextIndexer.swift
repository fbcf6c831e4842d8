import CLinux
import DocumentIndex
import DocumentRendering
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Keeps the text index up with the store: reads what documents are searched for by, one after another, on a thread of the lowest
/// priority, while apps do not use the store.
///
/// It reads the store's files, which hold published versions alone, and changes no times. Hidden documents are not read.
final class TextIndexer: Sendable {
    private struct State {
        /// Documents that have another content.
        var changed: Set<StorePath> = []
        /// Whether all documents are to be looked at: at the start, and after changes that nobody kept.
        var isVoid = false
        /// Not before, on the monotonic clock.
        var notBefore: Int64 = 0
        var isPaused = false
        var isOver = false
        /// Why nothing is read, for a person.
        var trouble: String?
        var current: StorePath?
    }
    /// Leaf.
    private let state = Locked(State())
    private let loop = LoopThread()
    private let indexer: Indexer
    private let reader: TextReader
    /// What reads a document.
    private let subject: @Sendable (StorePath) -> RenderSubject
    private let isStoreInUse: @Sendable () -> Bool
    private let log: Logger
    /// Nil once it turned out damaged.
    private let index: Locked<TextIndex?>
    private let folder: String

    /// Changes kept; with more all documents are looked at.
    private static let mostChanged = 10_000
    /// Documents that are looked at together.
    private static let batch = 200
    /// What is read is recorded when there is so much of it, or after so long.
    private static let recordedBytes = 1 << 20
    private static let recordedAfter: Int64 = 2_000_000_000
    /// How long the thread waits for apps to have a pause, before it reads one document all the same.
    private static let longestWait: Int64 = 10_000_000_000
    private static let pause: Int64 = 200_000_000
    /// After an error.
    private static let rest: Int64 = 600_000_000_000

    init(
        folder: String, indexer: Indexer, reader: TextReader, subject: @escaping @Sendable (StorePath) -> RenderSubject,
        isStoreInUse: @escaping @Sendable () -> Bool, log: Logger
    ) throws(IndexError) {
        self.folder = folder
        self.indexer = indexer
        self.reader = reader
        self.subject = subject
        self.isStoreInUse = isStoreInUse
        self.log = log
        index = Locked(try TextIndex(folder: folder))
    }

    /// Where texts are searched.
    var current: TextIndex? { index.withLock { $0 } }

    func start() {
        indexer.index.follow { [self] in follow($0) }
        indexer.scanner.follower = { [self] in lookAtAll() }
        loop.start("quire-text") { [self] in
            _ = cl_set_thread_nice(19)
            while let work = next() { carryOut(work) }
        }
    }

    func stop() {
        state.withLock { $0.isOver = true }
        reader.interrupt()
        loop.stop()
        try? current?.close()
    }

    // MARK: - What is to be read

    /// On any thread; waits for nothing.
    private func follow(_ changes: [IndexedChange]) {
        var isNew = false
        state.withLock { state in
            for change in changes {
                guard case .changed(let path) = change, !path.isHidden else { continue }
                isNew = true
                if state.changed.count < Self.mostChanged { state.changed.insert(path) } else { state.isVoid = true }
            }
        }
        if isNew { loop.wake() }
    }

    private func lookAtAll() {
        state.withLock { $0.isVoid = true }
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
                if state.isOver { return (nil, true, nil) }
                if state.isPaused { return (nil, false, nil) }
                if state.notBefore > cl_monotonic_ns() { return (nil, false, state.notBefore) }
                if state.isVoid {
                    (state.isVoid, state.changed) = (false, [])
                    return (.all, false, nil)
                }
                guard !state.changed.isEmpty else { return (nil, false, nil) }
                defer { state.changed = [] }
                return (.changed(Array(state.changed)), false, nil)
            }
            if isOver { return nil }
            if let work { return work }
            reader.rest()
            loop.sleep(until: due)
        }
    }

    private var goesOn: Bool { state.withLock { !$0.isOver && !$0.isPaused } }

    private func carryOut(_ work: Work) {
        do throws(IndexError) {
            switch work {
            case .all: try readAll()
            case .changed(let paths):
                var documents: [Document] = []
                for path in paths { if let document = try indexer.index.document(at: path) { documents.append(document) } }
                try read(documents)
            }
            state.withLock { $0.trouble = nil }
        } catch {
            give(up: error)
        }
        // What was begun is not forgotten.
        if !goesOn { state.withLock { $0.isVoid = true } }
    }

    private func give(up error: IndexError) {
        if case .closed = error { return }
        if case .corrupt = error {
            // Who has it open goes on with it; the next mount makes another.
            index.withLock { $0 = nil }
            TextIndex.remove(in: folder)
        }
        log.warning("texts are not read for 10 minutes: \(error)")
        state.withLock { state in
            state.trouble = "\(error)"
            state.isVoid = true
            state.notBefore = cl_monotonic_ns() + Self.rest
        }
    }

    // MARK: - Reading

    /// Looks at all documents, and forgets the texts of those that are gone.
    private func readAll() throws(IndexError) {
        guard let text = current else { return }
        var last = DocumentID(rawValue: 0)
        while goesOn {
            let documents = try indexer.index.documents(after: last, limit: Self.batch)
            // Up to the last of these, or to the end.
            let states = try text.states(after: last, limit: Self.batch * 4)
            let end = documents.last?.id ?? DocumentID(rawValue: .max)
            let known = Set(documents.map(\.id))
            try text.forget(states.map(\.document).filter { $0 < end && !known.contains($0) })
            guard !documents.isEmpty else { return }
            try read(documents)
            last = end
        }
    }

    private func read(_ documents: [Document]) throws(IndexError) {
        guard let text = current else { return }
        var (texts, bytes, began): ([IndexedText], Int, Int64) = ([], 0, cl_monotonic_ns())
        for document in documents where !document.path.isHidden {
            let version = TextVersion(size: document.size, modified: document.modified)
            guard try text.state(of: document.id)?.isDue(for: version) ?? true, goesOn else { continue }
            waitForPause()
            state.withLock { $0.current = document.path }
            let (outcome, count) = outcome(of: reader.read(subject(document.path)), version)
            state.withLock { $0.current = nil }
            guard let outcome else { continue }
            texts.append(IndexedText(document: document.id, version: version, outcome: outcome))
            bytes += count
            if bytes > Self.recordedBytes || cl_monotonic_ns() - began > Self.recordedAfter {
                try text.record(texts, at: Timestamp(nanoseconds: Clock.now))
                (texts, bytes, began) = ([], 0, cl_monotonic_ns())
            }
        }
        if !texts.isEmpty { try text.record(texts, at: Timestamp(nanoseconds: Clock.now)) }
    }

    /// What is to be recorded, and how many bytes it has; nil if it is none of the version that the index has, of which it is told soon.
    private func outcome(of result: TextReader.Result, _ version: TextVersion) -> (IndexedText.Outcome?, Int) {
        func isSame(_ read: ThumbnailVersion) -> Bool { read.size == version.size && read.modified == version.modified.nanoseconds }
        switch result {
        case .text(let bytes, let read): return isSame(read) ? (.text(bytes), bytes.count) : (nil, 0)
        case .nothing(let reason, let read): return isSame(read) ? (.nothing(reason), 0) : (nil, 0)
        case .failed(let reason, let read): return isSame(read) ? (.failed(reason), 0) : (nil, 0)
        case .notNow(let reason):
            state.withLock { $0.trouble = reason }
            return (nil, 0)
        }
    }

    /// Waits until apps do not use the store, but not for ever.
    private func waitForPause() {
        let deadline = cl_monotonic_ns() + Self.longestWait
        while isStoreInUse(), goesOn, cl_monotonic_ns() < deadline { loop.sleep(until: cl_monotonic_ns() + Self.pause) }
    }

    // MARK: - Commands

    struct Status: Sendable {
        var counts: TextCounts
        /// `reading`, `paused` or `idle`.
        var state: String
        var current: StorePath?
        var trouble: String?
    }

    func status() throws(IndexError) -> Status? {
        guard let text = current else { return nil }
        let counts = try text.counts()
        return state.withLock { state in
            let isIdle = state.current == nil && state.changed.isEmpty && !state.isVoid
            return Status(counts: counts, state: state.isPaused ? "paused" : isIdle ? "idle" : "reading", current: state.current, trouble: state.trouble)
        }
    }

    func setPaused(_ isPaused: Bool) {
        state.withLock { $0.isPaused = isPaused }
        loop.wake()
    }

    /// Forgets all texts, and reads them again.
    func rebuild() throws(IndexError) {
        try current?.clear()
        state.withLock { $0.notBefore = 0 }
        lookAtAll()
    }
}
