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

    let descriptor: Descriptor

    /// Throws what `SharedStore` does.
    init(_ folder: StorePath, in store: SharedStore) throws(Errno) {
        descriptor = try store.open(folder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
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

    var hasAccessList: Bool { XattrSupport.hasAccessList(descriptor) }

    func status(of name: EntryName) -> cl_status? {
        held(name).flatMap { try? FileStatus(of: $0) }
    }

    func hasAccessList(_ name: EntryName) -> Bool {
        held(name).map(XattrSupport.hasAccessList) ?? false
    }

    private func held(_ name: EntryName) -> Descriptor? {
        try? .named(name, in: descriptor, flags: CL_O_PATH | O_NOFOLLOW)
    }
}
