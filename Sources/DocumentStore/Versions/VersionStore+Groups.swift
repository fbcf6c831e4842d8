import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Completing what was to be published together.
extension VersionStore {
    /// Does again what of a logged group was not done. What stands for another file, or was edited, by now stays, and the version
    /// goes to the kept ones. May be cut short and done again.
    func completeGroups(_ recovery: inout Recovery) {
        for (id, items) in pending.leftOverGroups.sorted(by: { $0.key < $1.key }) {
            do throws(Errno) {
                for item in items { try complete(item, &recovery) }
                try pending.finish(id)
            } catch {
                recovery.failed += 1
                recovery.reason = error
            }
        }
    }

    private func complete(_ item: GroupItem, _ recovery: inout Recovery) throws(Errno) {
        if let new = item.new, let folder = try? store.folder(item.folder),
            try GroupPublication.status(item.hidden, in: folder) == nil,
            try GroupPublication.status(item.name, in: folder)?.isSameFile(as: new) == true
        {
            return
        }
        guard let (folder, path) = try place(of: item.hidden, in: item.folder) else {
            // Done, but for a name that was to go.
            guard item.new == nil, let folder = try? store.folder(item.folder) else { return }
            if try GroupPublication.status(item.name, in: folder) == item.old { WorkingCopy.unlink((folder, item.name)) }
            return try GroupPublication.sync(folder)
        }
        let hidden = try GroupPublication.status(item.hidden, in: folder)
        if let old = item.old, let hidden, hidden.isSameFile(as: old) {
            // The old version, whose place the new one has taken.
            WorkingCopy.unlink((folder, item.hidden))
        } else {
            let found = try GroupPublication.status(item.name, in: folder)
            let aside = try found == nil ? item.old.flatMap { (old) throws(Errno) in try Self.aside(old, in: folder) } : nil
            let isNew = item.new.map { hidden?.isSameFile(as: $0) == true } ?? false
            if isNew, found == item.old || aside != nil {
                try GroupPublication.rename(item.hidden, to: item.name, in: folder, 0)
                if let aside { WorkingCopy.unlink((folder, aside)) }
                recovery.completed += 1
            } else {
                if let version = try Self.openedUnlessLink(item.hidden, in: folder) {
                    try keep(version, path.appending(item.name), .edited)
                    recovery.kept += 1
                }
                WorkingCopy.unlink((folder, item.hidden))
            }
        }
        try GroupPublication.sync(folder)
    }

    /// The hidden name to which the old version was put aside, on a file system that cannot exchange names.
    private static func aside(_ old: GroupItem.Version, in folder: Descriptor) throws(Errno) -> EntryName? {
        Self.name(of: old.inode, in: folder).flatMap { $0.withCString(HiddenName.isHidden) ? $0 : nil }
    }
}

extension VersionStore {
    /// Keeps a version that stands under a hidden name, where it stays. False for a symbolic link.
    public func keepStaged(_ hidden: EntryName, in folder: Descriptor, document: StorePath) throws(Errno) -> Bool {
        guard let version = try Self.openedUnlessLink(hidden, in: folder) else { return false }
        try keep(version, document, .unpublished)
        return true
    }

    /// Keeps a document that `user` is about to remove for good. Throws EFBIG if it is too large to be kept.
    public func keepRemoved(
        _ name: EntryName, in folder: Descriptor, document: StorePath, by user: ActingUser
    ) throws(Errno) {
        let file = try Self.opened(name, in: folder)
        let version = try kept.keep(file, moving: false, document: document, saver: nil, reason: .removed, by: user)
        if !version.hasContent, version.size > 0 { throw .fileTooLarge }
    }
}

/// A copy of a document that somebody works on, under a hidden name, until it is published together with others.
public struct StagedCopy: Sendable {
    public let name: EntryName
    /// The document's when it was copied.
    let base: VersionAttributes
    let hasProjects: Bool
    /// Whether a change always shows in the times.
    let hasFineTimes: Bool
    /// What the copy was like when it was made.
    let identity: FileIdentity
    let changed: timespec

    /// Whether nothing was done to it since it was made, for sure.
    public func isUntouched(in folder: Descriptor) -> Bool {
        guard hasFineTimes, let status = try? FileStatus(of: name, in: folder) else { return false }
        return FileIdentity(status) == identity && status.st.st_ctim.tv_sec == changed.tv_sec
            && status.st.st_ctim.tv_nsec == changed.tv_nsec
    }

    /// Does to the version what others have changed of the document's attributes since it was copied, but for those that were
    /// changed of the version too. Both open for reading.
    public func mergeAttributes(from document: Descriptor, to version: Descriptor) throws(Errno) {
        do throws(AttributeFailure) {
            var theirs = AttributeChanges(from: base, to: try attributes(of: document, isDocument: true))
            if theirs.isEmpty { return }
            theirs.leaveOut(AttributeChanges(from: base, to: try attributes(of: version, isDocument: false)))
            try theirs.apply(to: version)
        } catch {
            throw error.errno
        }
    }

    private func attributes(of file: Descriptor, isDocument: Bool) throws(AttributeFailure) -> VersionAttributes {
        try VersionAttributes(of: file, isDocument: isDocument, hasProjects: hasProjects)
    }
}

extension WorkingCopy {
    /// Gives the copy the document's content and times, and a hidden name in its folder: for who is to work on it until it is
    /// published together with others. Afterwards the copy is as discarded, but for that name.
    public func stage(in folder: Descriptor) throws(Errno) -> StagedCopy {
        do throws(Errno) {
            try FileCopy.copy(document, to: file)
            let times = try FileStatus(of: document).st
            _ = try check(cl_futimens(file.number, [times.st_atim, times.st_mtim]))
            let name = try nameHidden(in: folder, .staged).place.name
            return StagedCopy(
                name: name, base: base, hasProjects: traits.hasProjects, hasFineTimes: traits.hasFineTimes, identity: identity,
                changed: try FileStatus(of: file).st.st_ctim)
        } catch {
            discard()
            throw error
        }
    }
}
