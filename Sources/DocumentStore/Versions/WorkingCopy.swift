import CLinux
import Glibc
public import StorePrimitives
import Synchronization
public import SystemPackage

/// The version a save writes: a new inode with the document's attributes, which nobody finds by name until it is published.
///
/// Nothing here takes a lock: the caller sees to it that one save publishes at a time for a document, and that a copy is
/// published or discarded once.
public final class WorkingCopy: Sendable {
    /// Open for reading and writing; further descriptors through `/proc/self/fd`.
    public let file: Descriptor
    public let identity: FileIdentity
    /// The document as it was when the save began, open as the caller gave it.
    public let document: Descriptor
    public let documentIdentity: FileIdentity

    /// The document's attributes when the save began: what others change since is told by comparing with these.
    let base: VersionAttributes
    /// When the save began, in nanoseconds since 1970.
    let time: Int64
    /// The document's status change time was so young then that a later change may carry the same one.
    let baseIsYoung: Bool
    let traits: FileSystemTraits
    let versions: VersionStore
    /// Leaf; held while the copy is given a name or loses it.
    let naming: Mutex<Naming>

    /// Status change times may be up to 10 ms behind the clock (a tick at 100 Hz).
    private static let youngNanoseconds: Int64 = 20_000_000

    init(
        of document: Descriptor, status known: cl_status?, in folder: Descriptor, versions: VersionStore, unnamed: Bool
    ) throws(WorkingCopyRefusal) {
        var status = known ?? cl_status()
        if known == nil { try Self.done(cl_statx_fd(document.number, &status)) }
        // What the new version will take is not known yet; where there is a quota, the write will tell.
        let hasRoom: Bool
        do throws(Errno) {
            (traits, hasRoom) = try versions.fileSystems.traits(of: document, status, bytes: UInt64(clamping: status.allocatedBytes))
        } catch {
            throw .unmade(error)
        }
        guard hasRoom else { throw .room }
        do throws(AttributeFailure) {
            base = try VersionAttributes(of: document, isDocument: true, hasProjects: traits.hasProjects, status: status)
            if base.flags & CL_FLAGS_FORBIDDING != 0 { throw AttributeFailure(.flags, .notPermitted) }
        } catch {
            throw .attribute(error)
        }
        documentIdentity = FileIdentity(status)
        time = cl_realtime_coarse_ns()
        baseIsYoung = !traits.hasFineTimes && time &- saturatedNanoseconds(base.status.st.st_ctim) < Self.youngNanoseconds

        let hidden: HiddenPlace?
        (file, hidden) = try Self.made(for: document, documentIdentity, in: folder, mode: base.mode, traits, versions.names, unnamed: unnamed)
        naming = Mutex(Naming(place: hidden))
        do throws(AttributeFailure) {
            let own = try VersionAttributes(of: file, isDocument: false, hasProjects: traits.hasProjects)
            identity = FileIdentity(own.status)
            // The folder hands its own project down, and takes in no file of another (EXDEV).
            if own.project != 0, own.project != base.project { throw AttributeFailure(.project, .improperLink) }
            let changes = AttributeChanges(from: own, to: base)
            if !changes.isEmpty { try changes.apply(to: file) }
        } catch {
            if let hidden { Self.unlink(hidden) }
            throw .attribute(error)
        }
        self.document = document
        self.versions = versions
    }

    /// The document itself, which has changed places with `copy` and stands under a hidden name now.
    init(exchanging document: Descriptor, for copy: WorkingCopy, _ base: VersionAttributes, at place: HiddenPlace) {
        file = document
        identity = copy.documentIdentity
        self.document = copy.file
        documentIdentity = copy.identity
        traits = copy.traits
        versions = copy.versions
        time = cl_realtime_coarse_ns()
        self.base = base
        baseIsYoung = !traits.hasFineTimes
        naming = Mutex(Naming(place: place))
    }

    private static func made(
        for document: Descriptor, _ identity: FileIdentity, in folder: Descriptor, mode: mode_t, _ traits: FileSystemTraits,
        _ names: HiddenNames, unnamed: Bool
    ) throws(WorkingCopyRefusal) -> (Descriptor, HiddenPlace?) {
        do throws(WorkingCopyRefusal) {
            return try made(for: identity, in: folder, mode: mode, names, unnamed: unnamed)
        } catch where traits.freesByCommit && error.isWantOfRoom {
            // A save that failed for want of room may have ended just now.
            _ = cl_syncfs(document.number)
            return try made(for: identity, in: folder, mode: mode, names, unnamed: unnamed)
        }
    }

    private static func made(
        for document: FileIdentity, in folder: Descriptor, mode: mode_t, _ names: HiddenNames, unnamed: Bool
    ) throws(WorkingCopyRefusal) -> (Descriptor, HiddenPlace?) {
        if unnamed {
            let number = cl_openat(folder.number, ".", CL_O_TMPFILE | O_RDWR | CL_O_LARGEFILE, mode & 0o777)
            if number >= 0 { return (Descriptor(owning: number), nil) }
            // What kernels and file systems say that know no O_TMPFILE (open(2)).
            guard [-EOPNOTSUPP, -EISDIR, -ENOENT, -EINVAL].contains(number) else { throw .unmade(Errno(rawValue: -number)) }
        }
        let name = names.next(for: document.inode, .part)
        // Nobody else may open it by name: the mode comes last.
        let number = name.withCString {
            cl_openat(folder.number, $0, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | CL_O_LARGEFILE, 0o600)
        }
        guard number >= 0 else { throw .unmade(Errno(rawValue: -number)) }
        return (Descriptor(owning: number), (folder, name))
    }

    private static func done(_ result: Int32) throws(WorkingCopyRefusal) {
        if result < 0 { throw .unmade(Errno(rawValue: -result)) }
    }

    /// Ends a save that is not to be published. The content goes when the last descriptor is closed.
    public func discard() { dropName() }

    /// The document's attributes now, of which `published` is known.
    func documentAttributes(_ document: Descriptor, _ published: cl_status) throws(AttributeFailure) -> VersionAttributes {
        try VersionAttributes(of: document, isDocument: true, hasProjects: traits.hasProjects, status: published)
    }

    func ownAttributes() throws(AttributeFailure) -> VersionAttributes {
        try VersionAttributes(of: file, isDocument: false, hasProjects: traits.hasProjects)
    }
}

/// Why a document has no working copy: the open is live.
public enum WorkingCopyRefusal: Error, Hashable, Sendable {
    /// An attribute of the document cannot be given to a new file.
    case attribute(AttributeFailure)
    /// The file system has no room for two versions.
    case room
    /// No file can be made in the document's folder.
    case unmade(Errno)

    /// As the open that is refused for it fails.
    public var errno: Errno { if case .unmade(let errno) = self { errno } else { .noSpace } }

    /// With more room there would be one.
    public var isWantOfRoom: Bool {
        switch self {
        case .room, .unmade(.noSpace), .unmade(.diskQuotaExceeded): true
        case .attribute, .unmade: false
        }
    }
}

/// Why a version was not published. Its hidden name is gone, unless it had one all the time.
public enum PublishFailure: Error, Hashable, Sendable {
    /// The document's name stands for nothing any more.
    case removed
    /// The document's name stands for another file.
    case replaced
    /// The document has a second name by now: to be published in place.
    case linked
    /// What somebody changed on the document cannot be done to the new version: to be published in place.
    case attribute(AttributeFailure)
    /// No other file may take the name (EACCES, EPERM, EBUSY, EXDEV): to be published in place.
    case nameRefused
    /// The version can be kept; it may be past publishing (an inode that has lost its only name is given no other).
    case failed(Errno)
}
