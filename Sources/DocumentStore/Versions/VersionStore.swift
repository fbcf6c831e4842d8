public import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// Working copies, their publishing, and what is kept of those that were not: of one store, for its one daemon.
public final class VersionStore: Sendable {
    /// An O_PATH descriptor will do.
    let root: Descriptor
    let names = HiddenNames()
    let fileSystems = FileSystems()
    let intents: IntentLog
    public let kept: KeptVersions

    /// Opens or makes what is kept in the state folder, which must be on a file system that keeps it and not in the store.
    /// Call `completeIntents()` before the store is served, and `sweep()` at any time after.
    public init(root: Descriptor, stateFolder: String, limits: KeptVersions.Limits = KeptVersions.Limits()) throws(Errno) {
        self.root = root
        let state = try Descriptor(opening: stateFolder, flags: O_RDONLY | O_DIRECTORY)
        intents = try IntentLog(in: state)
        kept = try KeptVersions(in: state, limits: limits)
    }

    /// Makes the copy that a save is to write.
    ///
    /// It belongs to the document's owner, whatever the calling thread's identity, and has the document's group, mode, access
    /// list, extended attributes, inode flags and project id, but not set-ID bits and capabilities.
    ///
    /// - Parameters:
    ///   - document: open for reading or writing; for writing if the save may have to be published in place.
    ///   - status: the document's, if it was just asked for.
    ///   - folder: the document's own; O_PATH will do.
    ///   - unnamed: false: as on a file system that has no files without a name.
    /// Eight system calls (seven with `status`) on a file system without project ids, two more with them, if the document
    /// has no extended attributes and the calling thread's identity and umask give the owner and mode wanted.
    public func workingCopy(
        of document: Descriptor, status: cl_status? = nil, in folder: Descriptor, unnamed: Bool = true
    ) throws(WorkingCopyRefusal) -> WorkingCopy {
        try WorkingCopy(of: document, status: status, in: folder, versions: self, unnamed: unnamed)
    }

    /// Makes a kept version the content of `name` in `folder`, as a save: what is there is replaced as a whole and keeps its
    /// attributes; if there is nothing, it is made anew with the owner and mode the document had. The kept version stays.
    ///
    /// Throws ENOENT if there is no such version for this user, EFBIG if its content was not kept, EINVAL if something
    /// else than a file stands there; whether the user may write there is for the caller to see to.
    public func restore(
        _ id: UInt64, for uid: UInt32, as name: EntryName, in folder: Descriptor
    ) throws(Errno) {
        let version = try kept.version(id, for: uid)
        let content = try kept.content(of: id, for: uid)
        var status = cl_status()
        let found = name.withCString { cl_statx(folder.number, $0, AT_SYMLINK_NOFOLLOW, &status) }
        if found == -ENOENT { return try makeAnew(version, content, as: name, in: folder) }
        _ = try check(found)
        guard status.st.st_mode & S_IFMT == S_IFREG else { throw .invalidArgument }
        let document = try name.withCString { (text) throws(Errno) in
            try Descriptor(opening: text, in: folder, flags: O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
        }
        do {
            let copy = try workingCopy(of: document, in: folder)
            do {
                try FileCopy.copy(content, to: copy.file)
                try copy.publish(as: name, in: folder, durably: true)
            } catch {
                copy.discard()
                throw error
            }
        } catch {
            throw Self.errno(error)
        }
    }

    private func makeAnew(
        _ version: KeptVersion, _ content: Descriptor, as name: EntryName, in folder: Descriptor
    ) throws(Errno) {
        let hidden = names.next(for: 0, .part)
        let file = try hidden.withCString { (text) throws(Errno) in
            try Descriptor(opening: text, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        }
        do throws(Errno) {
            try FileCopy.copy(content, to: file)
            _ = try check(cl_fchown(file.number, version.owner, version.group))
            _ = try check(cl_fchmod(file.number, version.mode & 0o777))
            _ = try check(cl_fsync(file.number, 0))
            _ = try check(
                hidden.withCString { old in
                    name.withCString { cl_renameat2(folder.number, old, folder.number, $0, CL_RENAME_NOREPLACE) }
                })
        } catch {
            WorkingCopy.unlink((folder, hidden))
            throw error
        }
    }

    private static func errno(_ error: any Error) -> Errno {
        switch error {
        case let error as Errno: error
        case WorkingCopyRefusal.room: .noSpace
        case WorkingCopyRefusal.unmade(let errno): errno
        case WorkingCopyRefusal.attribute(let failure), PublishFailure.attribute(let failure): failure.errno
        case PublishFailure.failed(let errno): errno
        case PublishFailure.linked: .tooManyLinks
        default: .noSuchFileOrDirectory
        }
    }
}
