import CLinux
import Glibc
import StorePrimitives
public import SystemPackage

extension VersionStore {
    /// What was found of an earlier daemon's work.
    public struct Recovery: Hashable, Sendable {
        /// Publishings in place that were completed.
        public var completed = 0
        /// Versions now among the kept ones.
        public var kept = 0
        /// What could not be dealt with is left for the next mount; the last reason.
        public var failed = 0
        public var reason: Errno?

        public init() {}
    }

    /// Completes what a crash cut short of publishing in place, before anybody sees the documents in parts. Costs nothing
    /// when there is nothing to complete; else it may look through the whole store for a document that was moved since.
    ///
    /// A document that was edited since stays as it is, and the version goes to the kept ones. It was edited if it was
    /// modified after the time up to which the log says that the copying wrote, or carries a time before its beginning that
    /// is not the one it had. (A change of owner or mode alone is no edit: the content may be in parts all the same.)
    public func completeIntents() -> Recovery {
        var recovery = Recovery()
        completeGroups(&recovery)
        for (id, publication) in pending.leftOver.sorted(by: { $0.key < $1.key }) {
            do throws(Errno) {
                var lease = pending.lease(of: id)
                try complete(publication, &lease, &recovery)
                lease.finish()
            } catch {
                recovery.failed += 1
                recovery.reason = error
            }
        }
        return recovery
    }

    /// Goes through the whole store for versions that daemons left under hidden names: some 100 ns a file. What has content
    /// goes to the kept versions. Those of daemons that run, this one too, are let be, so it may run while the store is served.
    /// Ends early, between two folders, when `goesOn` says no; what is left is for the next time.
    public func sweep(goesOn: () -> Bool = { true }) -> Recovery {
        var recovery = Recovery()
        let unfinished = Set(pending.leftOver.values.map(\.hidden) + pending.leftOverGroups.values.joined().map(\.hidden))
        let walk = FolderWalk(store)
        do throws(Errno) {
            while goesOn(), let visit = try walk.next() {
                var found: [EntryName] = []
                walk.list(visit) { name, _ in
                    if HiddenName.isHidden(name) { found.append(EntryName(copying: name)) }
                    return true
                }
                for name in found where !unfinished.contains(name) { sweep(name, in: visit.descriptor, at: visit.path, &recovery) }
            }
        } catch {
            recovery.failed += 1
            recovery.reason = error
        }
        return recovery
    }

    private func sweep(_ name: EntryName, in folder: Descriptor, at path: StorePath, _ recovery: inout Recovery) {
        guard let hidden = HiddenName(name), !hidden.process.isRunning else { return }
        do throws(Errno) {
            if let file = try Self.openedUnlessLink(name, in: folder), try FileCopy.size(of: file) > 0 {
                let document = hidden.intended ?? Self.name(of: hidden.document, in: folder)
                    ?? (hidden.kind == .staged ? EntryName("unnamed") : name)
                try keep(file, path.appending(document), hidden.kind == .part ? .unfinished : .unpublished)
                recovery.kept += 1
            }
            WorkingCopy.unlink((folder, name))
        } catch {
            recovery.failed += 1
            recovery.reason = error
        }
    }

    private func complete(
        _ publication: PendingPublication, _ lease: inout PublicationLog.Lease, _ recovery: inout Recovery
    ) throws(Errno) {
        guard let (folder, path) = try place(of: publication.hidden, in: publication.folder) else { return }
        let version = try Self.opened(publication.hidden, in: folder)
        guard let document = try document(of: publication, near: folder) else {
            try keep(version, path.appending(publication.name), .removed)
            recovery.kept += 1
            WorkingCopy.unlink((folder, publication.hidden))
            return
        }
        let status = try FileStatus(of: document)
        let modified = saturatedNanoseconds(status.st.st_mtim)
        let isUntouched = modified == publication.modified && Int64(status.st.st_size) == publication.size
        if isUntouched || modified >= publication.started && modified <= publication.until {
            try FileCopy.copy(version, to: document) { lease.renew() }
            _ = try check(cl_fsync(document.number, 0))
            recovery.completed += 1
        } else {
            try keep(version, path.appending(publication.name), .edited)
            recovery.kept += 1
        }
        WorkingCopy.unlink((folder, publication.hidden))
    }

    func keep(_ file: Descriptor, _ document: StorePath, _ reason: KeptVersion.Reason) throws(Errno) {
        try kept.keep(file, moving: true, document: document, saver: nil, reason: reason, by: .daemon)
    }

    /// The folder in which a hidden version stands: the one expected, or where that was moved to. Nil if it is nowhere.
    func place(of hidden: EntryName, in expected: StorePath) throws(Errno) -> (Descriptor, StorePath)? {
        if let folder = try? store.folder(expected), Self.inode(hidden, in: folder) != nil {
            return (folder, expected)
        }
        let walk = FolderWalk(store)
        while let visit = try walk.next() {
            if Self.inode(hidden, in: visit.descriptor) != nil { return (visit.descriptor, visit.path) }
            walk.list(visit) { _, _ in true }
        }
        return nil
    }

    /// The publication's document, open for writing: under its name, else wherever it was moved to. Nil if it is nowhere.
    private func document(of publication: PendingPublication, near folder: Descriptor) throws(Errno) -> Descriptor? {
        if let document = try Self.document(of: publication, publication.name, in: folder) { return document }
        let walk = FolderWalk(store)
        while let visit = try walk.next() {
            var found: [EntryName] = []
            walk.list(visit) { name, kind in
                if kind == .file { found.append(EntryName(copying: name)) }
                return true
            }
            for name in found {
                if let document = try Self.document(of: publication, name, in: visit.descriptor) { return document }
            }
        }
        return nil
    }

    private static func document(
        of publication: PendingPublication, _ name: EntryName, in folder: Descriptor
    ) throws(Errno) -> Descriptor? {
        guard let status = try? FileStatus(of: name, in: folder),
            UInt64(status.st.st_ino) == publication.inode, status.birth_ns == publication.birth
        else { return nil }
        return try name.withCString { (text) throws(Errno) in
            try Descriptor.named(text, in: folder, flags: O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
        }
    }

    /// The name of the file with this inode number; nil if there is none in the folder.
    static func name(of inode: UInt64, in folder: Descriptor) -> EntryName? {
        var names: [EntryName] = []
        try? FolderListing.read(folder) { name, kind in
            if kind == .file { names.append(EntryName(copying: name)) }
            return true
        }
        return names.first { Self.inode($0, in: folder) == inode }
    }

    private static func inode(_ name: EntryName, in folder: Descriptor) -> UInt64? {
        return (try? FileStatus(of: name, in: folder)).map { UInt64($0.st.st_ino) }
    }

    /// Nil for a symbolic link, which has no content to be written out or kept.
    static func openedUnlessLink(_ name: EntryName, in folder: Descriptor) throws(Errno) -> Descriptor? {
        do throws(Errno) { return try opened(name, in: folder) } catch .tooManySymbolicLinkLevels { return nil }
    }

    /// Opens a hidden version for reading, whatever mode its document had.
    static func opened(_ name: EntryName, in folder: Descriptor) throws(Errno) -> Descriptor {
        try name.withCString { (text) throws(Errno) in
            do throws(Errno) {
                return try Descriptor.named(text, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            } catch .permissionDenied {
                _ = try check(cl_fchmodat(folder.number, text, 0o600))
                return try Descriptor.named(text, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            }
        }
    }
}
