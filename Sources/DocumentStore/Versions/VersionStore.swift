public import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// Working copies, their publishing, and what is kept of those that were not: of one store, for its one daemon.
public final class VersionStore: Sendable {
    let store: SharedStore
    let names = HiddenNames()
    public let leftNames = LeftNames()
    let fileSystems = FileSystems()
    let pending: PublicationLog
    public let kept: KeptVersions

    /// File systems may refuse a write of so many bytes as a whole where less room is left: XFS reserves blocks for 1,024 pages.
    static let largestWrite: UInt64 = 4 << 20
    /// With so much room a save of a document is not expected to fill the disk.
    private static let plenty: UInt64 = 64 << 20

    /// Whether a file's file system has room for the saves of the next moments, of 64 MiB. One system call at most.
    /// - Parameter status: the file's.
    public func hasPlentyOfRoom(for file: Descriptor, _ status: cl_status) -> Bool {
        (try? fileSystems.traits(of: file, status, bytes: Self.plenty))?.hasRoom ?? false
    }

    /// Opens or makes what is kept in the state folder, which must be on a file system that keeps it and not in the store.
    /// Call `completeIntents()` before the store is served, and `sweep()` at any time after.
    /// - Parameter shares: told what users have of what is kept.
    public init(
        _ store: SharedStore, stateFolder: String, limits: KeptVersions.Limits = KeptVersions.Limits(), shares: UserShares? = nil,
        told: @escaping @Sendable (KeptVersion, KeptVersions.Change) -> Void = { _, _ in }
    ) throws(Errno) {
        self.store = store
        let state = try Descriptor(opening: stateFolder, flags: O_RDONLY | O_DIRECTORY)
        pending = try PublicationLog(in: state)
        kept = try KeptVersions(in: state, limits: limits, shares: shares, told: told)
    }

    /// Makes the copy that a save is to write.
    ///
    /// It belongs to the document's owner, whoever makes it, and has the document's group, mode, access
    /// list, extended attributes, inode flags and project id, but not set-ID bits and capabilities.
    ///
    /// - Parameters:
    ///   - document: open for reading or writing; for writing if the save may have to be published in place.
    ///   - status: the document's, if it was just asked for.
    ///   - folder: the document's own; O_PATH will do.
    ///   - user: whose save it is.
    ///   - unnamed: false: as on a file system that has no files without a name.
    /// Eight system calls (seven with `status`) on a file system without project ids, two more with them, if the document
    /// has no extended attributes and the calling thread's identity and umask give the owner and mode wanted.
    public func workingCopy(
        of document: Descriptor, status: cl_status? = nil, in folder: Descriptor, unnamed: Bool = true, by user: ActingUser
    ) throws(WorkingCopyRefusal) -> WorkingCopy {
        do throws(Errno) { try user.assume() } catch { throw .unmade(error) }
        return try WorkingCopy(of: document, status: status, in: folder, versions: self, unnamed: unnamed)
    }

    /// Makes the copy that is to have a document's name while the document itself is written (`ExchangedCopy`).
    ///
    /// - Parameters:
    ///   - document: open for reading and writing.
    ///   - status: the document's.
    ///   - folder: the document's own; O_PATH will do.
    ///   - user: whose save it is.
    public func exchangedCopy(
        of document: Descriptor, status: cl_status, in folder: Descriptor, by user: ActingUser
    ) throws(WorkingCopyRefusal) -> ExchangedCopy {
        do throws(Errno) { try user.assume() } catch { throw .unmade(error) }
        return try ExchangedCopy(of: document, status: status, in: folder, versions: self)
    }
}
