import DocumentIndex
import Glibc
public import StorePrimitives
import Synchronization
public import SystemPackage

/// What the service tells of the mount and does for its clients, each as the user who asks.
extension MountedStore {
    public struct Progress: Sendable {
        /// `waiting`, `running`, `done` or `failed`.
        public let state: String
        public let documents: Int
        public let folders: Int
    }

    /// Has the calling thread act for the users who call from here on, with the capabilities that this takes.
    public func prepareThread() { fileSystem.prepareThread() }

    /// Has it act for nobody again.
    public func resetThread() { fileSystem.privileges.resetThread() }

    public var scanProgress: Progress {
        let progress = indexer.scanner.progress
        // While it runs, what it has met; then what is known.
        let known = progress.state == "done" ? try? indexer.index.count() : nil
        return Progress(state: progress.state, documents: known ?? progress.documents, folders: progress.folders)
    }

    public var knownNodes: Int { fileSystem.table.count }

    /// How many lists of virtual folders were made.
    public var listingsMade: Int { tagFolders.cache.made.load(ordering: .relaxed) + recents.cache.made.load(ordering: .relaxed) }

    /// The names of the programs that count as relays, and of those that are running and were recognised by what they do.
    public var relays: [String] {
        let recognised = fileSystem.saves.processes.recognisedRelays.compactMap { ProcessFacts.name(of: $0.id) }
        return recognised.reduce(into: configuration.options.relays) { names, name in
            // The kernel knows the first 15 bytes.
            if !names.contains(where: { $0.utf8.prefix(15).elementsEqual(name.utf8) }) { names.append(name) }
        }
    }

    /// Why there is no passthrough; nil when there is.
    public var passthroughReason: String? {
        if passthroughGranted { return nil }
        if configuration.options.passthrough == .off { return "switched off by -o passthrough=off" }
        if geteuid() != 0 { return "the daemon does not run as root" }
        return "the kernel offers none (Linux 6.9 and CAP_SYS_ADMIN are needed)"
    }

    /// Throws .noSuchFileOrDirectory, .fileExists, .permissionDenied, .invalidArgument for what is no tag.
    public func renameTag(_ old: String, to new: String, for caller: Credentials) throws(Errno) {
        guard let old = Tag(old), let new = Tag(new) else { throw .invalidArgument }
        try tagFolders.renameTag(old, to: new, caller)
    }

    /// How many documents got a tag back; nil if there is nothing to undo.
    public func undoTagRemoval(for caller: Credentials) throws(Errno) -> Int? { try tagFolders.undoRemoval(caller) }

    public func recentDocuments(limit: Int, for caller: Credentials) -> [(path: StorePath, used: Double)] {
        recents.recents(caller, limit: limit).map { ($0.path, Double($0.used.nanoseconds) / 1e9) }
    }

    public func forgetRecent(_ path: StorePath, for caller: Credentials) throws(Errno) {
        guard recents.forget(path, caller) else { throw .ioError }
    }

    /// Tags with the number of documents that the caller may access.
    public func tags(for caller: Credentials) -> [(name: String, count: Int)] { tagFolders.counts(for: caller) }
}
