import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Completing what was to be published together.
extension VersionStore {
    /// Does again what of a logged group was not done. What stands for another file, or was edited, by now stays, and the version
    /// goes to the kept ones. May be cut short and done again.
    func completeGroups(_ recovery: inout Recovery) {
        for (id, items) in intents.leftOverGroups.sorted(by: { $0.key < $1.key }) {
            do throws(Errno) {
                for item in items { try complete(item, &recovery) }
                try intents.finish(id)
            } catch {
                recovery.failed += 1
                recovery.reason = error
            }
        }
    }

    private func complete(_ item: GroupItem, _ recovery: inout Recovery) throws(Errno) {
        guard let (folder, path) = try place(of: item.hidden, in: item.folder) else {
            // Done, but for a name that was to go.
            guard item.new == nil, let folder = try? OpenFolder.at(item.folder, below: self.root) else { return }
            if try Self.version(item.name, in: folder) == item.old { WorkingCopy.unlink((folder, item.name)) }
            return try GroupPublication.sync(folder)
        }
        let hidden = try Self.version(item.hidden, in: folder)
        if let new = item.new, let hidden, hidden.isSameFile(as: new) {
            let found = try Self.version(item.name, in: folder)
            if found == item.old {
                try GroupPublication.rename(item.hidden, to: item.name, in: folder, 0)
                recovery.completed += 1
            } else {
                try keep(try Self.opened(item.hidden, in: folder), path.appending(item.name), .edited)
                recovery.kept += 1
                WorkingCopy.unlink((folder, item.hidden))
            }
        } else {
            // The old version, whose place the new one has taken.
            WorkingCopy.unlink((folder, item.hidden))
        }
        try GroupPublication.sync(folder)
    }

    private static func version(_ name: EntryName, in folder: Descriptor) throws(Errno) -> GroupItem.Version? {
        var status = cl_status()
        let result = name.withCString { cl_statx(folder.number, $0, AT_SYMLINK_NOFOLLOW, &status) }
        if result == -ENOENT { return nil }
        _ = try check(result)
        return GroupItem.Version(status)
    }
}

extension WorkingCopy {
    /// Gives the copy the document's content and times, and a hidden name in its folder: for who is to work on it until it is
    /// published together with others. Afterwards the copy is as discarded, but for that name.
    public func stage(in folder: Descriptor) throws(Errno) -> EntryName {
        do throws(Errno) {
            try FileCopy.copy(document, to: file)
            let times = try OpenFolder.status(of: document).st
            _ = try check(cl_futimens(file.number, [times.st_atim, times.st_mtim]))
            return try nameHidden(in: folder, .staged).name
        } catch {
            discard()
            throw error
        }
    }
}
