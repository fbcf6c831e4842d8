import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Finds a node's file in the store: by the names it was last seen under, each checked against the node's identity, so that a
/// file put in its place from outside is never taken for it.
final class Locator: Sendable {
    private let folders: FolderCache
    let names = NamesLock()
    /// Folders on other file systems are not kept open: their owner may want to unmount them.
    private let device: UInt64

    init(root: FileIdentity, folders: FolderCache) {
        self.folders = folders
        device = root.device
    }

    /// The inode number as apps see it. A file system mounted inside the store has inode numbers of its own, which must not meet
    /// the store's: programs take two files of one device and inode for hard links.
    func presentedInode(_ inode: UInt64, on device: UInt64) -> UInt64 {
        device == self.device ? inode : inode ^ (device &<< 40)
    }

    /// Whether a device is another's than the store's: a file system mounted inside it. Virtual items have one that no file has.
    func isInner(_ device: UInt64) -> Bool { device != self.device && device != .max }

    /// Changes names in folders, in the order that `NamesLock` keeps; without it where a server answers for a folder, as it may never answer.
    @inline(__always)
    func changingNames<Result, Failure: Error>(
        in parent: Node, _ other: Node? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if parent.isServed || other?.isServed == true { return try body() }
        return try names.changing(body)
    }

    /// The O_PATH descriptor of a folder. One lock when it is kept open, else one openat and one statx a level.
    /// Throws .staleNFSFileHandle if it is nowhere under its names: the kernel then walks the path again.
    func folder(_ node: Node) throws(Errno) -> Descriptor {
        let (kept, link) = Self.kept(node)
        if let kept { return kept }
        return try folder(node, link)
    }

    /// Goes up to a folder that is kept open, and down again. Not by recursion: an app decides how deep a tree is.
    private func folder(_ node: Node, _ link: Node.Link?) throws(Errno) -> Descriptor {
        var way: [(node: Node, name: EntryName)] = []
        var (current, link) = (node, link)
        var opened: Descriptor?
        while opened == nil {
            guard current.isFolder else { throw .notDirectory }
            // Folders swapped from outside may make their last seen names a circle.
            guard let here = link, way.count < Self.longestWay else { throw .staleNFSFileHandle }
            way.append((current, here.name))
            current = here.parent
            (opened, link) = Self.kept(current)
        }
        guard var parent = opened else { throw .staleNFSFileHandle }
        while let (node, name) = way.popLast() {
            parent = try open(name, in: parent, flags: CL_O_PATH | O_DIRECTORY | O_NOFOLLOW, as: node)
            // The last ones, of which others are looked at next; all of a deep tree would leave no room for anybody's.
            guard node.identity.device == device, way.count < Self.keptOfWay else { continue }
            node.state.withLock {
                $0.folder = parent
                $0.folderUsed = true
            }
            folders.added(node)
        }
        return parent
    }

    /// Levels, each a few microseconds.
    private static let longestWay = 100_000
    private static let keptOfWay = 256

    /// A folder's descriptor if it is at hand, else how it was last seen.
    private static func kept(_ node: Node) -> (Descriptor?, Node.Link?) {
        node.state.withLock { state in
            if let folder = state.folder {
                state.folderUsed = true
                return (folder, nil)
            }
            return (state.pinned, state.link)
        }
    }

    /// What statx tells of the node now.
    func status(of node: Node) throws(Errno) -> cl_status {
        // By its name in the folder, the kernel tells of a mounted file system's root only what it knows, which may be nothing yet.
        if let known = statusAtHand(of: node) {
            guard known.isMountRoot, isInner(node.identity.device) else { return known }
            let status = try FileStatus(of: searched(node, flags: CL_O_PATH))
            // The kernel may have taken it for another inode before its server was asked.
            guard FileIdentity(status) == node.identity else { throw .staleNFSFileHandle }
            return status
        }
        let found: Descriptor
        do throws(Errno) {
            found = try searched(node, flags: CL_O_PATH)
        } catch {
            // Whoever has it open is told of what that stands for, though it be another version's file.
            guard let handle = node.state.withLock({ $0.handles.first }) else { throw error }
            found = handle.descriptor
        }
        let status = try FileStatus(of: found)
        return status
    }

    /// The same, nil if it is not found under the name that was last seen: also from within `names.changing`.
    func statusAtHand(of node: Node) -> cl_status? {
        let (kept, link) = node.state.withLock { state in
            (state.pinned ?? state.folder ?? state.openFile, state.link)
        }
        var status = cl_status()
        if let kept { return cl_statx_fd(kept.number, &status) == 0 ? status : nil }
        if let link, let parent = try? folder(link.parent) {
            if let status = try? FileStatus(of: link.name, in: parent), FileIdentity(status) == node.identity { return status }
            // Another version has taken the name meanwhile.
            if let pinned = node.state.withLock({ $0.pinned }), cl_statx_fd(pinned.number, &status) == 0 { return status }
        }
        return nil
    }

    /// An O_PATH descriptor of any node.
    func pathDescriptor(of node: Node) throws(Errno) -> Descriptor {
        if node.isFolder { return try folder(node) }
        return try opened(node, flags: CL_O_PATH | O_NOFOLLOW)
    }

    /// Opens a node's file. `flags` hold no O_CREAT and no O_TRUNC.
    func opened(_ node: Node, flags: Int32) throws(Errno) -> Descriptor {
        let (kept, link) = node.state.withLock { state in (state.pinned ?? state.folder, state.link) }
        if let kept { return try reopened(kept, flags: flags) }
        if let link, let parent = try? folder(link.parent) {
            do throws(Errno) {
                return try open(link.name, in: parent, flags: flags | O_NOFOLLOW, as: node)
            } catch .noSuchFileOrDirectory, .staleNFSFileHandle, .tooManySymbolicLinkLevels, .notDirectory {
                // The name stands for something else: look under the others.
            }
            // Another version has taken the name meanwhile.
            if let pinned = node.state.withLock({ $0.pinned }) { return try reopened(pinned, flags: flags) }
        }
        do throws(Errno) {
            return try searched(node, flags: flags)
        } catch {
            guard let open = node.state.withLock({ $0.openFile }) else { throw error }
            return try reopened(open, flags: flags)
        }
    }

    /// An O_PATH descriptor of an open file that has no name to find it by.
    func reopenedByPath(_ descriptor: Descriptor) throws(Errno) -> Descriptor {
        try withProcPath(of: descriptor) { (path) throws(Errno) in try Descriptor(opening: path, flags: CL_O_PATH) }
    }

    /// Opens again what a descriptor has open, whatever became of its name.
    func reopened(_ descriptor: Descriptor, flags: Int32) throws(Errno) -> Descriptor {
        if flags & CL_O_PATH != 0 { return descriptor }
        return try withProcPath(of: descriptor) { (path) throws(Errno) in
            try Descriptor(opening: path, flags: flags & ~O_NOFOLLOW)
        }
    }

    /// Opens what has a name in a folder, if that is the node's file. `flags` hold O_NOFOLLOW.
    func open(_ name: EntryName, in parent: Descriptor, flags: Int32, as node: Node) throws(Errno) -> Descriptor {
        // O_NONBLOCK: a FIFO put there from outside must not hold the thread; on a regular file it means nothing.
        let number = name.withCString { cl_open_on_mount(parent.number, $0, flags | O_NONBLOCK) }
        guard number == -EXDEV else {
            let opened = Descriptor(owning: try check(number))
            guard FileIdentity(try FileStatus(of: opened)) == node.identity else { throw .staleNFSFileHandle }
            return opened
        }
        // Something is mounted there, which is asked nothing until it is known to be the node's own.
        let held = try name.withCString { (name) throws(Errno) in
            try Descriptor(opening: name, in: parent, flags: CL_O_PATH | O_NOFOLLOW)
        }
        // Another user's server may not tell root anything.
        guard let known = try? FileStatus(knownOf: held), FileIdentity(known) == node.identity else { throw .staleNFSFileHandle }
        return try reopened(held, flags: flags | O_NONBLOCK)
    }

    /// Opens the file the slow way: by every name known, with no name changing meanwhile. Never from within `names.changing`.
    private func searched(_ node: Node, flags: Int32) throws(Errno) -> Descriptor {
        // A file system inside the store may never answer: everybody else's names do not stand still for that.
        if isInner(node.identity.device) { return try foundByName(node, flags: flags) }
        return try names.still { () throws(Errno) in try foundByName(node, flags: flags) }
    }

    private func foundByName(_ node: Node, flags: Int32) throws(Errno) -> Descriptor {
        let (pinned, links) = node.state.withLock { state in
            (state.pinned, (state.link.map { [$0] } ?? []) + state.otherLinks)
        }
        // It lost its last name to what had to be waited for.
        if let pinned { return try reopened(pinned, flags: flags) }
        for link in links {
            guard let parent = try? folder(link.parent) else { continue }
            if let file = try? open(link.name, in: parent, flags: flags | O_NOFOLLOW, as: node) { return file }
        }
        throw .staleNFSFileHandle
    }
}

/// Calls `body` with a path that leads to the file a descriptor has open, for the calls that take no descriptor.
func withProcPath<Result>(
    of descriptor: Descriptor, name: UnsafePointer<CChar>? = nil, _ body: (UnsafePointer<CChar>) throws(Errno) -> Result
) throws(Errno) -> Result {
    let capacity = 32 + (name.map { strlen($0) + 1 } ?? 0)
    let path = UnsafeMutablePointer<CChar>.allocate(capacity: capacity)
    defer { path.deallocate() }
    cl_proc_path(descriptor.number, name, path, capacity)
    return try body(path)
}
