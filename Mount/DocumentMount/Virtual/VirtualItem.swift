import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// A folder or link that is made at each lookup: `.recents`, a tag, a link to a document. What it shows depends on who asks;
/// [README.md](README.md) says what the kernel may remember of it.
///
/// The operations that change something stand for others in the store: a link made in a tag's folder tags a document.
protocol VirtualItem: AnyObject, Sendable {
    /// What tells the item from all others; its inode number is made of it.
    var key: [UInt8] { get }
    var type: mode_t { get }
    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat

    /// For a link: the target, NUL-terminated.
    func linkTarget() throws(Errno) -> [UInt8]
    /// For a folder: what stands under a name, and all names.
    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem
    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)]
    /// The links in a folder of links, for the daemon's own purposes: nobody is shown their names.
    func links(_ caller: Credentials) -> VirtualListing?

    /// How long the kernel may go by what it was told of the item: not at all where users are shown different things.
    var validity: CacheTime { get }
    /// The same of its attributes.
    var attributesValidity: CacheTime { get }
    /// How long the kernel may go by the names that a folder has just listed, if that is longer than by names that were looked up.
    var listedValidity: CacheTime? { get }
    /// Throws ESTALE if something else stands there by now: the kernel then looks the name up again.
    func checkIsCurrent() throws(Errno)
    /// Throws ESTALE for a folder that the kernel may have under another name than its own: it then looks the name up again.
    func checkHasItsName(_ caller: Credentials) throws(Errno)
    /// Throws EACCES if the caller may not read a file, or look names up in a folder. The kernel has judged by what it was told up to a
    /// second ago of what stood there then.
    func checkMayUse(_ caller: Credentials) throws(Errno)
    /// Of a file, what it holds; opened for reading.
    func content() throws(Errno) -> Descriptor

    /// An open file of the item is closed.
    func closed(_ handle: FileHandle)
    /// Throws the error of chmod(2), chown(2), truncate(2) and utimensat(2), which have no effect otherwise: most items are made anew at
    /// each lookup.
    func checkMayChangeAttributes() throws(Errno)
    /// The file of which the item has the extended attributes; nil if it has none.
    var attributeSource: Descriptor? { get }

    func makeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem
    /// A symbolic link is made here.
    func addLink(_ name: EntryName, target: [UInt8], _ caller: Credentials) throws(Errno) -> any VirtualItem
    /// A document is linked or moved here.
    func add(_ document: StorePath, _ name: EntryName, _ caller: Credentials) throws(Errno)
    func remove(_ name: EntryName, _ caller: Credentials) throws(Errno)
    func removeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno)
    /// An entry of this folder is renamed within the virtual folders.
    func rename(_ name: EntryName, to folder: any VirtualItem, _ newName: EntryName, _ caller: Credentials) throws(Errno)
}

// What an item does not offer is refused, and whatever was to be put there stays where it was.
extension VirtualItem {
    func linkTarget() throws(Errno) -> [UInt8] { throw .invalidArgument }
    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem { throw .notDirectory }
    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] { throw .notDirectory }
    func content() throws(Errno) -> Descriptor { throw .notPermitted }
    func links(_ caller: Credentials) -> VirtualListing? { nil }
    var validity: CacheTime { .none }
    var attributesValidity: CacheTime { validity }
    var listedValidity: CacheTime? { nil }
    func checkIsCurrent() throws(Errno) {}
    func checkHasItsName(_ caller: Credentials) throws(Errno) {}
    func checkMayUse(_ caller: Credentials) throws(Errno) {}
    func closed(_ handle: FileHandle) {}
    func checkMayChangeAttributes() throws(Errno) {}
    var attributeSource: Descriptor? { nil }
    func makeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem { throw .notPermitted }
    func addLink(_ name: EntryName, target: [UInt8], _ caller: Credentials) throws(Errno) -> any VirtualItem {
        throw .notPermitted
    }
    func add(_ document: StorePath, _ name: EntryName, _ caller: Credentials) throws(Errno) { throw .notPermitted }
    func remove(_ name: EntryName, _ caller: Credentials) throws(Errno) { throw .notPermitted }
    func removeFolder(_ name: EntryName, _ caller: Credentials) throws(Errno) { throw .notPermitted }
    func rename(_ name: EntryName, to folder: any VirtualItem, _ newName: EntryName, _ caller: Credentials) throws(Errno) {
        throw .notPermitted
    }
}

extension VirtualItem {
    /// The item under a name in a folder. Throws EACCES if the caller may not look names up there.
    func found(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        try checkMayUse(caller)
        return try child(name, caller)
    }

    /// The identity of the item's node: on a device that no file has.
    var identity: FileIdentity {
        let second = key.reversed().fnv1a(from: 0x9E37_79B9_7F4A_7C15)
        return FileIdentity(device: .max, inode: key.fnv1a() | 1 << 63, birth: Int64(bitPattern: second))
    }

    /// Attributes of a folder or link, changed at `modified`. It belongs to the daemon's user and is open to all: the kernel
    /// has one inode for all who look, and who may do what is decided here.
    func attributes(
        inode: UInt64, mode: mode_t, links: UInt = 1, size: Int = 0, modified: timespec
    ) -> stat {
        var status = stat()
        status.st_ino = ino_t(inode)
        status.st_mode = type | mode
        status.st_nlink = nlink_t(links)
        (status.st_uid, status.st_gid) = (geteuid(), getegid())
        status.st_size = off_t(size)
        status.st_blksize = 4096
        (status.st_atim, status.st_mtim, status.st_ctim) = (modified, modified, modified)
        return status
    }
}
