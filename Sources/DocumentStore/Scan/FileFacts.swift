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
    public let size: Int64
    /// Time of the last change of the content, in nanoseconds since 1970.
    public let modified: Int64
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

    /// The facts of the entry `name` of `folder` (O_PATH will do), which stands at `path`; nil if it is not a regular file.
    /// Throws statx(2)'s errno, ENOENT if there is no such entry. Three system calls; the entry is never opened.
    public static func read(in folder: Descriptor, name: EntryName, path: StorePath) throws(Errno) -> FileFacts? {
        var reader = FileFactsReader()
        reader.enter(folder)
        return try name.withCString { (text) throws(Errno) in try reader.read(text) { path } }
    }
}

/// Reads the facts of many files of one folder after another, using its buffers again.
struct FileFactsReader {
    private var folder: Descriptor?
    /// `/proc/self/fd/N/`, behind which names are put: the one way to an xattr of a file that is not open.
    private var link: [CChar] = []
    private var linkPrefix = 0
    private var handle = [UInt8](repeating: 0, count: Int(CL_HANDLE_MAX))
    private var value = [UInt8](repeating: 0, count: 1_024)

    /// Makes `folder` the one whose entries are read.
    mutating func enter(_ folder: Descriptor) {
        self.folder = folder
        link = "/proc/self/fd/\(folder.number)/".utf8.map { CChar(bitPattern: $0) }
        linkPrefix = link.count
    }

    /// As `FileFacts.read`; asks for the path only if it is a regular file.
    mutating func read(_ name: UnsafePointer<CChar>, path: () -> StorePath) throws(Errno) -> FileFacts? {
        guard let folder else { preconditionFailure("enter(_:) names the folder first") }
        let status = try FileStatus(of: name, in: folder)
        guard status.isRegular else { return nil }
        var handleLength = 0
        var mountID: Int32 = 0
        if cl_name_to_handle(folder.number, name, 0, &handle, &handleLength, &mountID) < 0 { handleLength = 0 }
        return FileFacts(
            path: path(), identity: FileIdentity(status), handle: Array(handle[..<handleLength]),
            linkCount: UInt64(status.st.st_nlink), owner: status.st.st_uid, size: Int64(status.st.st_size),
            modified: saturatedNanoseconds(status.st.st_mtim),
            tagsValue: tags(name))
    }

    private mutating func tags(_ name: UnsafePointer<CChar>) -> [UInt8]? {
        link.removeSubrange(linkPrefix...)
        link.append(contentsOf: UnsafeBufferPointer(start: name, count: strlen(name) + 1))
        var length = cl_lgetxattr(link, TagsAttribute.name, &value, value.count)
        if length == -Int(ERANGE) {
            value = [UInt8](repeating: 0, count: 64 << 10)  // XATTR_SIZE_MAX: the longest there can be
            length = cl_lgetxattr(link, TagsAttribute.name, &value, value.count)
        }
        return length < 0 ? nil : Array(value[..<length])
    }
}

/// The xattr that holds a document's tags, shared with other programs of the desktop.
enum TagsAttribute {
    static let name = "user.xdg.tags"
}
