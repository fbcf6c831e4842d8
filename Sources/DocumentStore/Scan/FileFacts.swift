import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// What the index keeps of one document, read in one go.
public struct FileFacts: Hashable, Sendable {
    public let path: StorePath
    public let identity: FileIdentity
    /// The file's handle, as `cl_open_by_handle` takes it; empty where the file system has none.
    public let handle: [UInt8]
    /// Hard links to the file.
    public let linkCount: UInt64
    /// The uid of who owns it.
    public let owner: UInt32
    /// In bytes.
    public private(set) var size: Int64
    /// Time of the last change of the content, in nanoseconds since 1970.
    public private(set) var modified: Int64
    public private(set) var isPackage = false
    /// False for a package whose contents nobody has looked at: size and time say nothing then.
    public private(set) var isMeasured = true
    /// The raw value of the xattr `user.xdg.tags`; nil if there is none, or none that this process may read.
    public let tagsValue: [UInt8]?

    public init(
        path: StorePath, identity: FileIdentity, handle: [UInt8], linkCount: UInt64, owner: UInt32, size: Int64,
        modified: Int64, tagsValue: [UInt8]?
    ) {
        self.path = path
        self.identity = identity
        self.handle = handle
        self.linkCount = linkCount
        self.owner = owner
        self.size = size
        self.modified = modified
        self.tagsValue = tagsValue
    }

    /// Of a package that is not measured.
    fileprivate var unmeasured: FileFacts {
        var facts = self
        (facts.size, facts.isPackage, facts.isMeasured) = (0, true, false)
        return facts
    }

    /// The facts of the entry `name` of `folder` (O_PATH will do), which stands at `path`; nil if it is neither a regular file nor a
    /// package, or on a file system that is served. Throws openat2(2)'s errno, ENOENT if there is no such entry. Five system calls; the content
    /// is never opened, nor is a package measured.
    /// - Parameter isPackage: whether it is a package if it is a folder.
    public static func read(in folder: Descriptor, name: EntryName, path: StorePath, isPackage: Bool = false) throws(Errno) -> FileFacts? {
        var reader = FileFactsReader()
        return try name.withCString { (text) throws(Errno) in try reader.read(text, in: folder, isPackage: isPackage) { path } }
    }

    /// A package's facts with those of its contents; nil if these cannot be read, or `goesOn` said no. O(files in it).
    public func measured(in store: SharedStore, countsAll: Bool, goesOn: () -> Bool) -> FileFacts? {
        guard let contents = try? PackageContents(of: path, in: store, countsAll: countsAll, goesOn: goesOn) else { return nil }
        var facts = self
        (facts.size, facts.modified, facts.isMeasured) = (contents.size, contents.modified, true)
        return facts
    }
}

/// Reads the facts of many files, using its buffers again.
struct FileFactsReader {
    /// `/proc/self/fd/N`: the one way to an xattr of a file that is not open.
    private var link = [CChar](repeating: 0, count: 32)
    private var handle = [UInt8](repeating: 0, count: Int(CL_HANDLE_MAX))
    private var value = [UInt8](repeating: 0, count: 1_024)

    /// As `FileFacts.read`; asks for the path only if there are facts.
    mutating func read(
        _ name: UnsafePointer<CChar>, in folder: Descriptor, isPackage: Bool = false, path: () -> StorePath
    ) throws(Errno) -> FileFacts? {
        let file: Descriptor
        do throws(Errno) { file = try .named(name, in: folder, flags: CL_O_PATH | O_NOFOLLOW) } catch .improperLink { return nil }
        let status = try FileStatus(of: file)
        guard status.isRegular || isPackage && status.isFolder else { return nil }
        var handleLength = 0
        var mountID: Int32 = 0
        if cl_name_to_handle(file.number, "", CL_AT_EMPTY_PATH, &handle, &handleLength, &mountID) < 0 { handleLength = 0 }
        let facts = FileFacts(
            path: path(), identity: FileIdentity(status), handle: Array(handle[..<handleLength]),
            // Each folder in a package is a link more.
            linkCount: status.isFolder ? 1 : UInt64(status.st.st_nlink), owner: status.st.st_uid, size: Int64(status.st.st_size),
            modified: saturatedNanoseconds(status.st.st_mtim),
            tagsValue: tags(file))
        return status.isFolder ? facts.unmeasured : facts
    }

    private mutating func tags(_ file: Descriptor) -> [UInt8]? {
        cl_proc_path(file.number, nil, &link, link.count)
        var length = cl_getxattr(link, TagsAttribute.name, &value, value.count)
        if length == -Int(ERANGE) {
            value = [UInt8](repeating: 0, count: 64 << 10)  // XATTR_SIZE_MAX: the longest there can be
            length = cl_getxattr(link, TagsAttribute.name, &value, value.count)
        }
        return length < 0 ? nil : Array(value[..<length])
    }
}

/// The xattr that holds a document's tags, shared with other programs of the desktop.
enum TagsAttribute {
    static let name = "user.xdg.tags"
}
