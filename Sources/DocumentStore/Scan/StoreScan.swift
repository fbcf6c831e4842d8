import CLinux
import Glibc
public import StorePrimitives
import Synchronization
public import SystemPackage

/// Goes through the store, or a folder of it, and hands over the facts of every document, packages among them.
///
/// Files that come, go or move meanwhile may be missed or told twice: the store's watcher tells of them. Some 6 us a file on
/// a warm cache.
public final class StoreScan: Sendable {
    /// How far a scan is.
    public struct Counts: Hashable, Sendable {
        /// Folders read.
        public var folders: Int
        /// Documents handed over, or about to be.
        public var documents: Int
        /// Folders and files that could not be read.
        public var skipped: Int

        public init(folders: Int = 0, documents: Int = 0, skipped: Int = 0) {
            self.folders = folders
            self.documents = documents
            self.skipped = skipped
        }
    }

    private let store: SharedStore
    private let start: StorePath
    private let batchSize: Int
    /// Of a folder with more entries than this the documents are delivered by name, `mostNames` of them at a time: a file system lists them in
    /// an order in which each would change another page of an index of names.
    private static let fewNames = 2_000
    private static let mostNames = 100_000
    private let packages: Packages?
    private let folders = Atomic(0)
    private let documents = Atomic(0)
    private let skipped = Atomic(0)
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - start: the folder to scan, with all below it.
    ///   - batchSize: how many documents are handed over at once. 500 keep a database transaction short enough for others
    ///     to get their turn, and long enough to cost little a row.
    ///   - packages: nil if no folder is a document. The start is neither a package nor a part of one.
    public init(_ store: SharedStore, startingAt start: StorePath = .root, batchSize: Int = 500, packages: Packages? = nil) {
        precondition(batchSize > 0, "a batch holds at least one document")
        self.store = store
        self.packages = packages
        self.start = start
        self.batchSize = batchSize
    }

    /// How far the scan is; may be read from any thread while it runs.
    public var counts: Counts {
        Counts(
            folders: folders.load(ordering: .relaxed), documents: documents.load(ordering: .relaxed),
            skipped: skipped.load(ordering: .relaxed))
    }

    /// Has `run` end after the folder it is at, or the next batch. From any thread.
    public func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Scans, in the calling thread, until done, stopped, or until `deliver` answers false. Returns whether all was scanned.
    /// Throws only if the folder to start at cannot be opened. To be run once.
    ///
    /// The calling thread's processor and I/O priority are lowered and stay so: it should be a thread of the scan's own.
    public func run(lowPriority: Bool = true, _ deliver: ([FileFacts]) -> Bool) throws(Errno) -> Bool {
        if lowPriority {
            // Refusals do not matter: the scan is then merely less polite.
            _ = cl_set_thread_nice(10)
            _ = cl_set_thread_io_idle()
        }
        let walk = FolderWalk(store, startingAt: start, longestPath: StorePath.longest, packages: packages)
        var reader = FileFactsReader()
        var batch: [FileFacts] = []
        batch.reserveCapacity(batchSize)
        var unreadableFiles = 0
        var goOn = true
        var names: [(name: EntryName, isPackage: Bool)] = []
        func read(_ folder: FolderWalk.Visit) {
            if names.count > Self.fewNames { names.sort { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) } }
            defer { names.removeAll(keepingCapacity: true) }
            for (name, isPackage) in names where goOn {
                let found: FileFacts?
                do throws(Errno) {
                    found = try name.withCString { (cString) throws(Errno) in
                        try reader.read(cString, in: folder.descriptor, isPackage: isPackage) { folder.path.appending(name) }
                    }
                } catch {
                    if error != .noSuchFileOrDirectory { unreadableFiles += 1 }
                    continue
                }
                guard let found else { continue }
                batch.append(found.isMeasured ? found : measured(found))
                documents.add(1, ordering: .relaxed)
                if batch.count == batchSize {
                    goOn = deliver(batch) && !isStopped.load(ordering: .relaxed)
                    batch.removeAll(keepingCapacity: true)
                }
            }
        }
        while goOn, !isStopped.load(ordering: .relaxed), let folder = try walk.next() {
            walk.list(folder) { name, kind in
                guard kind == .file || kind == .package else { return true }
                // It has no path by which anybody could ask for it.
                if folder.path.bytes.count + 1 + strlen(name) > StorePath.longest {
                    unreadableFiles += 1
                    return true
                }
                names.append((EntryName(copying: name), kind == .package))
                if names.count == Self.mostNames { read(folder) }
                return goOn
            }
            read(folder)
            folders.add(1, ordering: .relaxed)
            skipped.store(walk.skipped + unreadableFiles, ordering: .relaxed)
        }
        skipped.store(walk.skipped + unreadableFiles, ordering: .relaxed)
        goOn = goOn && !isStopped.load(ordering: .relaxed)
        if goOn, !batch.isEmpty { goOn = deliver(batch) }
        return goOn
    }

    /// One that cannot be read is there all the same.
    private func measured(_ package: FileFacts) -> FileFacts {
        package.measured(in: store, countsAll: packages?.countsAll ?? true) { !isStopped.load(ordering: .relaxed) } ?? package
    }
}
