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

/// Walks the store, or a folder of it, into the index, one after another on a thread of low priority: at start, after
/// changes nobody saw, and for folders that came from outside.
final class StoreScanner: @unchecked Sendable {
    /// How far it is, for `quire status`.
    struct Progress: Sendable {
        var state = "waiting"
        var documents = 0
        var folders = 0
    }

    private struct State {
        var waiting: [StorePath] = []
        /// To be scanned after a pause, which grows as long as no scan comes to its end.
        var late: [StorePath] = []
        var pause = StoreScanner.shortestPause
        /// When they are, on the monotonic clock.
        var due: Int64 = 0
        /// Packages to be measured, when nothing else is to be scanned; their owners take turns.
        var unmeasured = TurnQueue<StorePath>()
        /// The same with their owners, each once.
        var packages: [StorePath: UserID] = [:]
        /// When the first of them is, on the monotonic clock.
        var measuringDue: Int64 = 0
        var current: StoreScan?
        var progress = Progress()
        var isOver = false
    }
    private let state = Mutex(State())
    private let loop = LoopThread()
    /// Called when a scan has come to its end.
    /// Safe: set before the mount serves.
    nonisolated(unsafe) var onCompleteScan: (@Sendable () -> Void)?
    private unowned let indexer: Indexer
    private let log: Logger

    init(indexer: Indexer, log: Logger) {
        self.indexer = indexer
        self.log = log
    }

    func start() {
        scan(.root)
        loop.start("quire-scan") { [unowned self] in
            while let work = next() {
                switch work {
                case .folder(let folder): run(folder)
                case .package(let package): measure(package)
                }
            }
        }
    }

    func stop() {
        state.withLock {
            $0.isOver = true
            $0.current?.stop()
        }
        loop.stop()
    }

    var progress: Progress {
        state.withLock { state in
            var progress = state.progress
            if let counts = state.current?.counts { (progress.documents, progress.folders) = (counts.documents, counts.folders) }
            return progress
        }
    }

    /// Seconds.
    private static let shortestPause = 2.0
    private static let longestPause = 600.0
    /// With more folders waiting than these the whole store is scanned instead.
    private static let capacity = 1_000
    /// Nanoseconds for which a package that changes is left alone.
    private static let pauseBeforeMeasuring: Int64 = 2_000_000_000
    /// Of one owner, and of all. The next scan of the whole store measures what had no room here.
    private static let mostPackagesOfOwner = 1_000
    private static let mostPackages = 10_000

    private var packages: Packages { indexer.reader.packages }

    /// Has a folder scanned soon; one inside a folder that waits already is not kept twice. A package, or a part of one, is looked at as a
    /// document.
    func scan(_ path: StorePath) {
        let folder = packages.whole(path)
        guard folder.bytes.count <= StorePath.longest else { return }
        if packages.isPackage(folder) { return indexer.noteChange(of: folder) }
        state.withLock { Self.add(folder, to: &$0.waiting) }
        loop.wake()
    }

    private static func add(_ folder: StorePath, to folders: inout [StorePath]) {
        if folders.contains(where: { $0 == folder || folder.isInside($0) }) { return }
        folders.removeAll { $0.isInside(folder) }
        if folders.count < capacity { folders.append(folder) } else { folders = [.root] }
    }

    /// As `scan`, after a pause in which a passing trouble may pass: two seconds at first, ten minutes at last.
    func scanLater(_ folder: StorePath) {
        state.withLock { state in
            if state.late.isEmpty { state.due = cl_monotonic_ns() + Int64(clamping: state.pause * 1e9) }
            Self.add(folder, to: &state.late)
        }
        loop.wake()
    }

    /// Has a package looked at in a moment, with all that is in it.
    func measureLater(_ package: StorePath, of told: UserID?) {
        let owner = told ?? UserID(0)
        state.withLock { state in
            guard state.packages[package] == nil, state.packages.count < Self.mostPackages,
                state.packages.values.count(where: { $0 == owner }) < Self.mostPackagesOfOwner
            else { return }
            state.packages[package] = owner
            if state.unmeasured.isEmpty { state.measuringDue = max(state.measuringDue, cl_monotonic_ns() + Self.pauseBeforeMeasuring) }
            state.unmeasured.append(package, of: owner.rawValue)
        }
        loop.wake()
    }

    private func measure(_ package: StorePath) {
        let began = cl_monotonic_ns()
        if let facts = indexer.reader.measured(package, goesOn: { state.withLock { !$0.isOver } }) { indexer.take(facts) }
        // Large packages that change all the time take half of a processor at most.
        state.withLock { $0.measuringDue = cl_monotonic_ns() + (cl_monotonic_ns() - began) }
    }

    /// A folder that moves while a scan runs may be missed at both places, and packages in it are to be measured at the new one.
    func folderMoved(from old: StorePath, to new: StorePath) {
        let (isScanning, waiting) = state.withLock { state in
            (state.current != nil, state.packages.compactMap { path, owner in path.moved(from: old, to: new).map { ($0, owner) } })
        }
        for (package, owner) in waiting { measureLater(package, of: owner) }
        if isScanning { scan(new) }
    }

    private enum Work { case folder(StorePath), package(StorePath) }

    private func next() -> Work? {
        while true {
            let (work, isOver, due) = state.withLock { state -> (Work?, Bool, Int64?) in
                if !state.late.isEmpty, state.due <= cl_monotonic_ns() {
                    for folder in state.late { Self.add(folder, to: &state.waiting) }
                    state.late = []
                    state.pause = min(state.pause * 2, Self.longestPause)
                }
                if state.isOver { return (nil, true, nil) }
                if !state.waiting.isEmpty { return (.folder(state.waiting.removeFirst()), false, nil) }
                if state.measuringDue <= cl_monotonic_ns(), let package = state.unmeasured.popFirst() {
                    state.packages[package] = nil
                    return (.package(package), false, nil)
                }
                let due = [state.late.isEmpty ? nil : state.due, state.unmeasured.isEmpty ? nil : state.measuringDue].compactMap { $0 }.min()
                return (nil, false, due)
            }
            if isOver { return nil }
            if let work { return work }
            loop.sleep(until: due)
        }
    }

    private func run(_ folder: StorePath) {
        indexer.catchUp()
        let scan = StoreScan(indexer.reader.store, startingAt: folder, packages: packages)
        state.withLock { state in
            if state.isOver { scan.stop() }
            state.current = scan
            if folder.isRoot { state.progress.state = "running" }
        }
        var outcome = "failed"
        do {
            if try walk(scan, folder) {
                outcome = "done"
                state.withLock { $0.pause = Self.shortestPause }
            }
        } catch let error as Errno where Self.isGone(error) && !folder.isRoot {
            // Whoever took it away has told so.
            outcome = "done"
        } catch {
            scanLater(folder)
            log.warning("scanning \(folder.isRoot ? "the store" : "\(folder)") failed: \(error)")
        }
        state.withLock { state in
            if folder.isRoot {
                let counts = scan.counts
                state.progress = Progress(state: outcome, documents: counts.documents, folders: counts.folders)
            }
            state.current = nil
        }
        indexer.noteChange(toTags: true)
        if outcome == "done" { onCompleteScan?() }
    }

    /// Whether there is no folder under the name any more that is to be scanned, or the name is none that the store's file system takes.
    private static func isGone(_ error: Errno) -> Bool {
        [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .fileNameTooLong, .improperLink].contains(error)
    }

    /// Returns whether the walk came to its end.
    private func walk(_ scan: StoreScan, _ folder: StorePath) throws -> Bool {
        let index = indexer.index
        let pass = try index.beginScan(in: folder)
        var moment = index.moment()
        var failure: IndexError?
        var isWhole = false
        defer { if !isWhole { index.abandonScan(pass) } }
        let isComplete = try scan.run { batch in
            do throws(IndexError) {
                let changes = batch.map { IndexUpdate.present(ScannedDocument($0, hasAttributes: indexer.reader.hasAttributes)) }
                _ = try index.apply(changes, during: pass, asOf: moment)
            } catch {
                failure = error
                return false
            }
            indexer.noteRoom()
            moment = index.moment()
            return true
        }
        if let failure { throw failure }
        guard isComplete else { return false }
        _ = try index.finishScan(pass)
        isWhole = true
        if folder.isRoot { try index.checkpoint() }
        return true
    }
}
