import CLinux
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// Something in a snapshot that is no folder, as it was at the snapshot's instant: its inode is kept by a descriptor, and its
/// content copied before somebody writes that in place. The kernel may remember it for long: its descriptors go with the claim.
final class SnapshotEntry: VirtualItem {
    private struct State {
        var status: cl_status
        /// O_PATH of the inode: for its extended attributes, which are as they are now. Nil when the claim has ended.
        var inode: Descriptor?
        /// O_PATH of the inode, or a copy of its content; nil if the content was lost: what wrote it in place came before it
        /// could be copied. Also nil when the claim has ended.
        var content: Descriptor?
        /// What `content` is of, if it is a copy: until nobody has it open any more.
        var copy: FrozenContent?
        var isCopied = false
        /// It is shown as it is now.
        var isLive = false
        /// Where there is room for a copy.
        var folder: Descriptor?
        var handles: [ObjectIdentifier: FileHandle] = [:]
    }

    let key: [UInt8]
    let type: mode_t
    let pinned: FileIdentity
    let share: SnapshotShare
    /// Its content is not shown: the holder of the claim was not allowed to read it. It is not pinned.
    let isWithheld: Bool
    /// Leaf, held while the content is being copied.
    private let state: Mutex<State>

    init(
        key: [UInt8], status: cl_status, inode: Descriptor, in folder: Descriptor, isWithheld: Bool, for share: SnapshotShare
    ) {
        self.key = key
        self.share = share
        self.isWithheld = isWithheld
        type = status.st.st_mode & S_IFMT
        pinned = FileIdentity(status)
        state = Mutex(State(status: status, inode: inode, content: inode, folder: folder))
    }

    private var inode: Descriptor? { state.withLock { $0.inode } }
    var attributeSource: Descriptor? { inode }
    func checkMayChangeAttributes() throws(Errno) { throw .readOnlyFileSystem }

    /// The claim has ended: nobody opens it any more. Who has it open goes on.
    func end() {
        state.withLock { state in
            (state.inode, state.content, state.folder) = (nil, nil, nil)
            Self.letGo(&state)
        }
    }

    /// Nobody opens the copy any more, nor has it open.
    private static func letGo(_ state: inout State) { if state.inode == nil, state.handles.isEmpty { state.copy = nil } }

    func attributes(_ caller: Credentials, inode: UInt64) -> stat {
        snapshotAttributes(
            state.withLock { state in
                if state.isLive, let inode = state.inode { _ = cl_statx_fd(inode.number, &state.status) }
                return state.status
            }, inode: inode)
    }

    var isLive: Bool { state.withLock { $0.isLive } }

    func linkTarget() throws(Errno) -> [UInt8] {
        guard type == S_IFLNK else { throw .invalidArgument }
        guard let inode else { throw .staleNFSFileHandle }
        return try withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { (buffer) throws(Errno) in
            let length = try check(
                cl_readlinkat(inode.number, "", buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count - 1))
            return Array(buffer.prefix(length)) + [0]
        }
    }

    /// Makes a handle of the content by `body`, which is told when it is another file. Until `closed`. Throws EACCES for what the
    /// claim's holder was not allowed to read, whoever asks: it may have been written since.
    func opened(_ body: (Descriptor) throws(Errno) -> FileHandle) throws(Errno) -> FileHandle {
        if isWithheld { throw .permissionDenied }
        return try state.withLock { (state) throws(Errno) in
            guard let content = state.content else { throw .staleNFSFileHandle }
            let handle = try body(content)
            state.handles[ObjectIdentifier(handle)] = handle
            return handle
        }
    }

    func closed(_ handle: FileHandle) {
        state.withLock { state in
            state.handles[ObjectIdentifier(handle)] = nil
            Self.letGo(&state)
        }
    }

    /// Has the content copied, once: it is written in place from now on, or already.
    /// - Parameter losesContent: what to do if it cannot be: whoever has it open gets an error from then on; else nothing happens.
    func detach(
        losesContent: Bool, _ copy: (_ content: Descriptor, _ folder: Descriptor) throws(FrozenCopyFailure) -> FrozenContent
    ) throws(FrozenCopyFailure) {
        try state.withLock { (state) throws(FrozenCopyFailure) in
            guard !state.isCopied, let content = state.content, let inode = state.inode, let folder = state.folder else { return }
            do throws(FrozenCopyFailure) {
                let copy = try copy(content, folder)
                (state.content, state.copy) = (copy.file, copy)
                // It may have grown since it was first seen.
                var (now, own) = (cl_status(), cl_status())
                if cl_statx_fd(inode.number, &now) == 0, cl_statx_fd(copy.file.number, &own) == 0 {
                    state.status.st.st_mtim = now.st.st_mtim
                    state.status.st.st_size = own.st.st_size
                    state.status.st.st_blocks = own.st.st_blocks
                }
            } catch {
                guard losesContent else { throw error }
                state.content = nil
            }
            state.isCopied = true
            // Reads of an O_PATH descriptor answer EBADF.
            for handle in state.handles.values { handle.redirect(to: state.content ?? inode, of: handle.node) }
            if state.content == nil { throw .keepsChanging }
        }
    }

    /// It is shown as it is, whoever writes it.
    func stayLive() { state.withLock { ($0.isCopied, $0.isLive) = (true, true) } }
}

/// A folder in a snapshot.
final class SnapshotFolder: VirtualItem {
    let key: [UInt8]
    let status: cl_status

    private struct Content {
        let inode: Descriptor
        let entries: [(name: EntryName, item: any VirtualItem)]
        let places: [EntryName: Int]
    }
    /// Leaf. Nil when the claim has ended.
    private let content: Mutex<Content?>

    /// Empty, until `fill`.
    init(key: [UInt8], status: cl_status, inode: Descriptor) {
        self.key = key
        self.status = status
        content = Mutex(Content(inode: inode, entries: [], places: [:]))
    }

    func fill(_ entries: [(name: EntryName, item: any VirtualItem)]) {
        let places = Dictionary(entries.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        content.withLock { content in content = content.map { Content(inode: $0.inode, entries: entries, places: places) } }
    }

    /// Lets go of what is in it one after another: each folder by the one above would take stack for every level.
    deinit {
        var items = end()
        while let item = items.popLast() {
            if let folder = item as? SnapshotFolder { items += folder.end() }
        }
    }

    var attributeSource: Descriptor? { content.withLock { $0?.inode } }
    func checkMayChangeAttributes() throws(Errno) { throw .readOnlyFileSystem }

    /// The claim has ended. Returns what was in the folder, which is to end too.
    func end() -> [any VirtualItem] {
        content.withLock { content in
            defer { content = nil }
            return content?.entries.map(\.item) ?? []
        }
    }

    var type: mode_t { S_IFDIR }

    func attributes(_ caller: Credentials, inode: UInt64) -> stat { snapshotAttributes(status, inode: inode) }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        let item = content.withLock { content in content.flatMap { content in content.places[name].map { content.entries[$0].item } } }
        guard let item else { throw .noSuchFileOrDirectory }
        return item
    }

    func children(_ caller: Credentials) -> [(EntryName, any VirtualItem)] {
        content.withLock { $0?.entries.map { ($0.name, $0.item) } ?? [] }
    }
}

/// As the file had them, under an inode number of its own.
private func snapshotAttributes(_ status: cl_status, inode: UInt64) -> stat {
    var result = status.st
    result.st_ino = ino_t(inode)
    return result
}
