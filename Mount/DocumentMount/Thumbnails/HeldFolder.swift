import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage

/// A folder of the store that is held on to: what is in it is asked for without going the folder's path each time.
struct HeldFolder {
    struct Item {
        let name: EntryName
        let isFolder: Bool
    }

    private let descriptor: Descriptor

    /// No link is followed. Throws what openat2(2) does.
    init(_ folder: StorePath, in store: Descriptor) throws(Errno) {
        descriptor = Descriptor(owning: try check(folder.withCString {
            cl_open_beneath(store.number, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        }))
    }

    /// The documents and folders, in the order of their names. Those with names that end with one dot and other entries of the
    /// mount's own are left out.
    func items() throws(Errno) -> [Item] {
        var items: [Item] = []
        try FolderHandle.ReadAhead.all(of: descriptor) { entry in
            let name = EntryName(copying: entry.name)
            guard name.bytes != [UInt8(ascii: ".")], !name.bytes.elementsEqual("..".utf8), !name.withCString(HiddenName.isHidden)
            else { return }
            var type = mode_t(entry.type) << 12
            if type == 0, let status = status(of: name) { type = status.st.st_mode & S_IFMT }
            if type == S_IFREG || type == S_IFDIR { items.append(Item(name: name, isFolder: type == S_IFDIR)) }
        }
        return items.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }

    /// The folder's own.
    var status: cl_status? {
        return try? FileStatus(of: descriptor)
    }

    var hasAccessList: Bool { Self.hasAccessList("/proc/self/fd/\(descriptor.number)", followed: true) }

    func status(of name: EntryName) -> cl_status? {
        return try? FileStatus(of: name, in: descriptor)
    }

    func hasAccessList(_ name: EntryName) -> Bool {
        let path = Array("/proc/self/fd/\(descriptor.number)/".utf8) + name.bytes + [0]
        return path.withUnsafeBytes { Self.hasAccessList($0.assumingMemoryBound(to: CChar.self).baseAddress!, followed: false) }
    }

    /// - Parameter followed: whether the path is a link to what is meant.
    static func hasAccessList(_ path: UnsafePointer<CChar>, followed: Bool) -> Bool {
        (followed ? cl_getxattr : cl_lgetxattr)(path, CL_ACCESS_LIST, nil, 0) > 0
    }
}
