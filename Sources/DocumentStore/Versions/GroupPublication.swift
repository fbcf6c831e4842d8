import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// A name that is to change together with others.
public struct GroupChange: Sendable {
    /// O_PATH will do.
    public let folder: Descriptor
    public let folderPath: StorePath
    public let name: EntryName
    /// The new version's hidden name in that folder; nil: the name goes.
    public let staged: EntryName?

    public init(_ name: EntryName, in folder: Descriptor, at folderPath: StorePath, staged: EntryName?) {
        (self.name, self.folder, self.folderPath, self.staged) = (name, folder, folderPath, staged)
    }
}

/// Names that change together: all or none, also across a crash from `prepare` on.
///
/// Versions change places with those they replace (RENAME_EXCHANGE; by way of a third name where the file system cannot), so that
/// what was done can be undone until the last is in place. A single one is renamed over the other. The caller keeps who looks names
/// up waiting meanwhile, if they are to see all changes or none.
public struct GroupPublication: Sendable {
    private struct Step: Sendable {
        let change: GroupChange
        let item: GroupItem
    }

    private let versions: VersionStore
    private var steps: [Step] = []
    /// In the log; nil for a single version, whose rename is whole by itself.
    private let id: UInt64?
    /// What was done could not be undone: the log has to do the rest at the next mount.
    public private(set) var isStuck = false

    /// Has the staged versions and what is to be done durable. Waits for the disk: nothing that others wait for should be held.
    fileprivate init(_ changes: [GroupChange], _ versions: VersionStore, isDurable: Bool) throws(Errno) {
        self.versions = versions
        for change in changes {
            steps.append(Step(change: change, item: try Self.item(change, versions)))
        }
        let isSingle = changes.count == 1 && changes[0].staged != nil && !isDurable
        for change in changes {
            guard let staged = change.staged, let file = try VersionStore.openedUnlessLink(staged, in: change.folder)
            else { continue }
            if isSingle {
                let status = try FileStatus(of: file)
                try versions.fileSystems.traits(of: file, status, bytes: 0).0.ordering.writeOut(file)
            } else {
                _ = try check(cl_fsync(file.number, 0))
            }
        }
        if isSingle {
            id = nil
        } else {
            for folder in Self.folders(of: changes) { try Self.sync(folder) }
            id = try versions.pending.begin(steps.map(\.item))
        }
    }

    private static func item(_ change: GroupChange, _ versions: VersionStore) throws(Errno) -> GroupItem {
        let new = try change.staged.map { (name) throws(Errno) in try status(name, in: change.folder) } ?? nil
        if change.staged != nil, new == nil { throw .noSuchFileOrDirectory }
        let old = try status(change.name, in: change.folder)
        return GroupItem(
            folder: change.folderPath, name: change.name,
            hidden: change.staged ?? versions.names.next(for: old?.inode ?? 0, .staged), new: new, old: old)
    }

    /// Changes the names. Throws .staleNFSFileHandle if one stands for another file than at `prepare`, or what a rename said;
    /// then all are as they were, and `abandon` is to be called.
    public mutating func commit() throws(Errno) {
        for index in steps.indices {
            do throws(Errno) {
                try place(steps[index])
            } catch {
                for step in steps[..<index].reversed() where !undo(step) { isStuck = true }
                throw error
            }
        }
    }

    private func place(_ step: Step) throws(Errno) {
        let (folder, item) = (step.change.folder, step.item)
        let found = try Self.status(item.name, in: folder)
        guard found?.inode == item.old?.inode, found?.birth == item.old?.birth else { throw .staleNFSFileHandle }
        switch (item.new, item.old) {
        case (.some, .some) where id == nil: try Self.rename(item.hidden, to: item.name, in: folder)
        case (.some, .some): try exchange(item, in: folder)
        case (.some, nil): try renameFreely(item.hidden, to: item.name, in: folder)
        case (nil, .some): try renameFreely(item.name, to: item.hidden, in: folder)
        case (nil, nil): break
        }
    }

    /// False if it cannot be.
    private func undo(_ step: Step) -> Bool {
        let (folder, item) = (step.change.folder, step.item)
        do throws(Errno) {
            switch (item.new, item.old) {
            case (.some, .some): try exchange(item, in: folder)
            case (.some, nil): try renameFreely(item.name, to: item.hidden, in: folder)
            case (nil, .some): try renameFreely(item.hidden, to: item.name, in: folder)
            case (nil, nil): break
            }
            return true
        } catch {
            return false
        }
    }

    private func exchange(_ item: GroupItem, in folder: Descriptor) throws(Errno) {
        do throws(Errno) {
            return try Self.rename(item.hidden, to: item.name, in: folder, CL_RENAME_EXCHANGE)
        } catch .invalidArgument, .notSupported, .noFunction {
            // A file system that cannot.
        }
        let aside = versions.names.next(for: item.old?.inode ?? 0, .staged)
        try Self.rename(item.name, to: aside, in: folder)
        do throws(Errno) {
            try Self.rename(item.hidden, to: item.name, in: folder)
        } catch {
            try Self.rename(aside, to: item.name, in: folder)
            throw error
        }
        try Self.rename(aside, to: item.hidden, in: folder)
    }

    /// To a name that nobody has taken meanwhile.
    private func renameFreely(_ old: EntryName, to new: EntryName, in folder: Descriptor) throws(Errno) {
        do throws(Errno) {
            try Self.rename(old, to: new, in: folder, CL_RENAME_NOREPLACE)
        } catch .invalidArgument, .notSupported, .noFunction {
            try Self.rename(old, to: new, in: folder)
        } catch .fileExists {
            throw .staleNFSFileHandle
        }
    }

    /// After `commit`: the old versions go. Waits for the disk.
    public func finish() {
        for step in steps where step.item.old != nil { WorkingCopy.unlink((step.change.folder, step.item.hidden)) }
        guard let id else { return }
        for folder in Self.folders(of: steps.map(\.change)) { try? Self.sync(folder) }
        try? versions.pending.finish(id)
    }

    /// It is not to be. The staged versions stay where they are.
    public func abandon() {
        if let id, !isStuck { try? versions.pending.finish(id) }
    }

    // MARK: - System calls

    static func status(_ name: EntryName, in folder: Descriptor) throws(Errno) -> GroupItem.Version? {
        do throws(Errno) {
            return GroupItem.Version(try FileStatus(of: name, in: folder))
        } catch .noSuchFileOrDirectory {
            return nil
        }
    }

    static func rename(_ old: EntryName, to new: EntryName, in folder: Descriptor, _ flags: UInt32 = 0) throws(Errno) {
        _ = try check(
            old.withCString { old in new.withCString { cl_renameat2(folder.number, old, folder.number, $0, flags) } })
    }

    private static func folders(of changes: [GroupChange]) -> [Descriptor] {
        var paths: Set<StorePath> = []
        return changes.filter { paths.insert($0.folderPath).inserted }.map(\.folder)
    }

    /// A folder that may not be read cannot be synced: its file system's own order has to do.
    static func sync(_ folder: Descriptor) throws(Errno) {
        guard let readable = try? Descriptor(opening: ".", in: folder, flags: O_RDONLY | O_DIRECTORY) else { return }
        _ = try check(cl_fsync(readable.number, 0))
    }
}

extension VersionStore {
    /// Readies names to be changed together; to be followed by `commit` and `finish`, or by `abandon`.
    ///
    /// - Parameter isDurable: a single one, too, is to survive a power cut from `finish` on.
    public func prepare(_ changes: [GroupChange], isDurable: Bool = false) throws(Errno) -> GroupPublication {
        try GroupPublication(changes, self, isDurable: isDurable)
    }

    /// A hidden name for a version that is made by others, and that a claim publishes under `name`.
    public func stagedName(for name: EntryName) -> EntryName { names.next(intendedFor: name) }
}
