import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Finds out which folder of the store a kernel's folder handle means.
///
/// The answers are kept, those for folders outside the store too: a busy neighbour on the same file system costs one lookup
/// an event. Not thread-safe.
final class FolderResolver {
    private let store: SharedStore
    private let rootIdentity: FileIdentity
    private var climb: FolderClimb
    /// On the store's file system, and not O_PATH, as open_by_handle_at(2) wants it.
    private let mount: Descriptor
    /// By file system id: the mounts inside the store through which its folders may be seen. For those but the root no
    /// descriptor is kept, it would keep them from being unmounted.
    private var mountPaths: [UInt64: [StorePath]] = [:]
    /// The root's absolute path; nil after it may have changed.
    private var prefix: [UInt8]?

    /// Two generations: when the newer is full the older is forgotten. What is used stays, at the cost of a copy.
    private var newer: [Key: FolderPlace?] = [:]
    private var older: [Key: FolderPlace?] = [:]
    private static let generationSize = 512

    /// A file system's id and a handle, as `cl_fanotify_place` has them.
    private typealias Key = [UInt8]

    init(_ store: SharedStore, mount: Descriptor) throws(Errno) {
        self.store = store
        self.mount = mount
        rootIdentity = FileIdentity(try FileStatus(of: store.root))
        climb = FolderClimb(root: rootIdentity)
    }

    /// Says through which mounts the store shows which file system.
    func setMounts(_ paths: [UInt64: [StorePath]]) {
        mountPaths = paths
        foldersMoved()
    }

    /// A folder was moved, somewhere: paths that were found before may no longer hold.
    func foldersMoved() {
        newer.removeAll(keepingCapacity: true)
        older.removeAll(keepingCapacity: true)
        climb.foldersMoved()
        prefix = nil
    }

    /// The folder behind a key; nil if it is not in the store, or no longer exists. O(1) if asked before, else some 10 us.
    func folder(_ place: cl_fanotify_place) -> FolderPlace? {
        guard let start = place.key else { return nil }
        let key = Key(UnsafeBufferPointer(start: start, count: place.key_length))
        if let known = newer[key] { return known }
        if let known = older[key] {
            remember(known, for: key)
            return known
        }
        do throws(Errno) {
            let found = try resolve(key)
            remember(found, for: key)
            return found
        } catch .staleNFSFileHandle {
            // Gone for good: a handle is never given to another folder.
            remember(nil, for: key)
            return nil
        } catch {
            return nil
        }
    }

    private func remember(_ place: FolderPlace?, for key: Key) {
        if newer.count >= Self.generationSize {
            swap(&newer, &older)
            newer.removeAll(keepingCapacity: true)
        }
        newer[key] = .some(place)
    }

    private func resolve(_ key: Key) throws(Errno) -> FolderPlace? {
        let fileSystem = key.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        let handle = Array(key[Int(CL_FANOTIFY_KEY_HANDLE)...])
        for mountPath in mountPaths[fileSystem] ?? [.root] {
            let anchor = mountPath.isRoot ? mount : try store.folder(mountPath)
            let folder = Descriptor(
                owning: try check(cl_open_by_handle(anchor.number, handle, handle.count, CL_O_PATH | O_DIRECTORY)))
            let status = try FileStatus(of: folder)
            guard status.st.st_nlink > 0 else { return nil }
            let identity = FileIdentity(status)
            if let path = try path(of: folder, identity: identity) { return FolderPlace(identity: identity, path: path) }
        }
        return nil
    }

    /// The folder's path inside the store. The kernel's answer is checked by going there from the root: a path that begins
    /// like the store's may be one of another mount, and a rename may have come between.
    private func path(of folder: Descriptor, identity: FileIdentity) throws(Errno) -> StorePath? {
        let attempts = 3
        for _ in 0..<attempts {
            let absolute: [UInt8]
            do throws(Errno) {
                absolute = try DescriptorPath.read(folder)
            } catch .fileNameTooLong {
                return try climb.path(of: folder)
            }
            guard let path = DescriptorPath.inside(try rootPrefix(), absolute) else { return nil }
            if path.isRoot { return identity == rootIdentity ? path : nil }
            if let there = try? store.held(path), FileIdentity(of: there) == identity { return path }
            prefix = nil
        }
        return nil
    }

    private func rootPrefix() throws(Errno) -> [UInt8] {
        if let prefix { return prefix }
        let read = try DescriptorPath.read(store.root)
        prefix = read
        return read
    }
}
