import CLinux
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// Changes as fanotify(7) tells them: of whole file systems at once, with who made them. Needs CAP_SYS_ADMIN and
/// CAP_DAC_READ_SEARCH.
///
/// The kernel also tells of this process's own changes, which cost 0.4 us each to read and drop, and of everything else on
/// the file system. The marks cost every program there: 0.6 us a write, 1 us a file made or removed.
final class FanotifySource: ChangeSource {
    private let queueDescriptor: Descriptor
    private let store: SharedStore
    private let rootPlace: FolderPlace
    private let mount: Descriptor
    private let resolver: FolderResolver
    private let log: Logger
    private let ownPID = getpid()
    /// The last process that was looked at, and whether it is a child of this one.
    private var lastCloser: (pid: pid_t, isChild: Bool) = (0, false)
    /// What is asked for: renames with both names, or their two halves before Linux 5.17.
    private let mask: UInt64
    private let isEnding = Atomic(false)
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: bufferSize, alignment: 8)

    private(set) var coverage = StoreWatcher.Coverage.all
    var queue: Int32 { queueDescriptor.number }

    /// Holds some 1,000 events.
    private static let bufferSize = 64 << 10
    /// So many changes are told at once; a consumer can begin before the last one of a large burst was read.
    private static let batchLimit = 4_096
    /// So many bytes are read before what was found in them is told.
    private static let readLimit = 2 << 20
    /// After so many bytes, some 4,000 events, there is no pause before the next read: the kernel's queue holds 16,384.
    private static let busyThreshold = 256 << 10

    private static let namesAndAttributes = CL_FAN_CREATE | CL_FAN_DELETE | CL_FAN_ATTRIB | CL_FAN_ONDIR
    /// Writing, and closing after writing: the only sign of what was written through a mapping.
    private static let contents = CL_FAN_MODIFY | CL_FAN_CLOSE_WRITE

    /// Marks the root's file system and those of `inner`. Throws EPERM without the capabilities, EXDEV, ENODEV or EOPNOTSUPP
    /// for a file system that fanotify cannot watch.
    init(_ store: SharedStore, inner: [InnerMount], ownMount: Descriptor?, log: Logger) throws(Errno) {
        self.store = store
        self.log = log
        mount = try store.folder(.root)
        queueDescriptor = Descriptor(owning: try check(cl_fanotify_open()))
        rootPlace = FolderPlace(identity: FileIdentity(try FileStatus(of: store.root)), path: .root)
        try Self.checkHandles(mount)
        mask = try Self.markStore(mount, queue: queueDescriptor)
        resolver = try FolderResolver(store, mount: mount)
        markInner(inner)
        if let ownMount { ignoreContents(through: ownMount) }
    }

    deinit { buffer.deallocate() }

    func end() { isEnding.store(true, ordering: .relaxed) }

    func collect(into changes: inout [OutsideChange]) throws(Errno) -> NextCollection {
        var total = 0
        while changes.count < Self.batchLimit, total < Self.readLimit, !isEnding.load(ordering: .relaxed) {
            let length = cl_read(queue, buffer, Self.bufferSize)
            if length == -Int(EAGAIN) { return total < Self.busyThreshold ? .whenReadable : .atOnce }
            total += try check(length)
            try translate(UnsafeRawBufferPointer(start: buffer, count: length), into: &changes)
        }
        return .atOnce
    }

    func innerMountsChanged(to mounts: [InnerMount], telling changes: inout [OutsideChange]) {
        markInner(mounts)
        changes.append(rootPlace.change(.overflow, to: nil, isFolder: true, by: nil))
    }

    /// Turns what read(2) gave into changes. Throws EINVAL for what is not in the kernel's form.
    func translate(_ bytes: UnsafeRawBufferPointer, into changes: inout [OutsideChange]) throws(Errno) {
        var event = cl_fanotify_event()
        var offset = 0
        while try check(cl_fanotify_next(bytes.baseAddress, bytes.count, &offset, &event)) == 1 {
            let moved = event.mask & (CL_FAN_RENAME | CL_FAN_MOVED_FROM | CL_FAN_MOVED_TO) != 0
            if moved, event.mask & CL_FAN_ONDIR != 0 { resolver.foldersMoved() }
            if event.pid == ownPID || isInherited(event) { continue }
            if isEnding.load(ordering: .relaxed) { return }
            if event.mask & CL_FAN_Q_OVERFLOW != 0 {
                resolver.foldersMoved()
                changes.append(rootPlace.change(.overflow, to: nil, isFolder: true, by: nil))
                continue
            }
            try tell(event, into: &changes)
        }
    }

    /// Whether a file that this process wrote was closed by a child of its own, which had it between posix_spawn(3) and its exec: no
    /// child writes in the store.
    private func isInherited(_ event: cl_fanotify_event) -> Bool {
        guard event.mask & Self.contents == CL_FAN_CLOSE_WRITE, event.pid > 0 else { return false }
        if lastCloser.pid != event.pid {
            lastCloser = (event.pid, ProcessStatus(of: event.pid)?.parent == ownPID)
        }
        return lastCloser.isChild
    }

    private func tell(_ event: cl_fanotify_event, into changes: inout [OutsideChange]) throws(Errno) {
        var event = event
        var (at, from, to) = (cl_fanotify_place(), cl_fanotify_place(), cl_fanotify_place())
        _ = try check(cl_fanotify_places(&event, &at, &from, &to))
        let isFolder = event.mask & CL_FAN_ONDIR != 0
        if event.mask & CL_FAN_RENAME != 0 {
            tellMove(from: from, to: to, isFolder: isFolder, by: event.pid, into: &changes)
        }
        guard at.key != nil, let folder = resolver.folder(at) else { return }
        let name = Self.name(at)
        func append(_ kind: OutsideChange.Kind, _ writing: OutsideChange.Writing = []) {
            changes.append(folder.change(kind, to: name, isFolder: isFolder, by: event.pid, writing: writing))
        }
        let writing = Self.writing(event.mask)
        // The kernel merges what happened to one name and drops the order: whoever looks after both finds what is there.
        let gone = event.mask & (CL_FAN_DELETE | CL_FAN_MOVED_FROM) != 0
        let come = event.mask & (CL_FAN_CREATE | CL_FAN_MOVED_TO) != 0
        if gone { append(.disappeared) }
        if come { append(.appeared, writing) }
        if gone || come { return }
        if !writing.isEmpty { append(.contentChanged, writing) }
        if event.mask & CL_FAN_ATTRIB != 0 { append(.attributesChanged) }
    }

    private static func writing(_ mask: UInt64) -> OutsideChange.Writing {
        var writing: OutsideChange.Writing = []
        if mask & CL_FAN_MODIFY != 0 { writing.insert(.modified) }
        if mask & CL_FAN_CLOSE_WRITE != 0 { writing.insert(.closed) }
        return writing
    }

    /// A rename within the store, into it, or out of it.
    private func tellMove(
        from: cl_fanotify_place, to: cl_fanotify_place, isFolder: Bool, by pid: Int32, into changes: inout [OutsideChange]
    ) {
        let (old, new) = (resolver.folder(from), resolver.folder(to))
        switch (old, Self.name(from), new, Self.name(to)) {
        case (let old?, let oldName?, let new?, let newName?):
            changes.append(
                old.change(.moved(to: new.place(of: newName)), to: oldName, isFolder: isFolder, by: pid))
        case (let old?, let oldName?, nil, _):
            changes.append(old.change(.disappeared, to: oldName, isFolder: isFolder, by: pid))
        case (nil, _, let new?, let newName?):
            changes.append(new.change(.appeared, to: newName, isFolder: isFolder, by: pid))
        default:
            break
        }
    }

    /// The name in a place; nil for `.`, the folder itself.
    private static func name(_ place: cl_fanotify_place) -> EntryName? {
        guard let text = place.name, text[0] != 0 else { return nil }
        if text[0] == CChar(UInt8(ascii: ".")), text[1] == 0 { return nil }
        return EntryName(copying: text)
    }
}

// MARK: - Marks

extension FanotifySource {
    private static func mark(_ folder: Descriptor, queue: Descriptor, mask: UInt64) throws(Errno) {
        _ = try check(
            cl_fanotify_mark(queue.number, CL_FAN_MARK_ADD | CL_FAN_MARK_FILESYSTEM, mask, folder.number, nil))
    }

    /// Marks the store's own file system; answers with the mask the kernel took.
    private static func markStore(_ folder: Descriptor, queue: Descriptor) throws(Errno) -> UInt64 {
        let common = namesAndAttributes | contents
        do throws(Errno) {
            try mark(folder, queue: queue, mask: common | CL_FAN_RENAME)
            return common | CL_FAN_RENAME
        } catch .invalidArgument {
            try mark(folder, queue: queue, mask: common | CL_FAN_MOVED_FROM | CL_FAN_MOVED_TO)
            return common | CL_FAN_MOVED_FROM | CL_FAN_MOVED_TO
        }
    }

    /// Throws EPERM if handles, the only way fanotify names a folder, cannot be opened.
    private static func checkHandles(_ mount: Descriptor) throws(Errno) {
        var handle = [UInt8](repeating: 0, count: Int(CL_HANDLE_MAX))
        var length = 0
        var mountID: Int32 = 0
        _ = try check(cl_name_to_handle(mount.number, "", CL_AT_EMPTY_PATH, &handle, &length, &mountID))
        _ = Descriptor(owning: try check(cl_open_by_handle(mount.number, handle, length, CL_O_PATH)))
    }

    /// Marks the file systems mounted inside the store; the kernel takes the marks of one that is unmounted away itself.
    private func markInner(_ mounts: [InnerMount]) {
        var paths: [UInt64: [StorePath]] = [:]
        if let id = try? Self.fileSystemID(mount) { paths[id] = [.root] }
        var unwatched: [StorePath] = []
        for inner in mounts {
            do throws(Errno) {
                let folder = try store.folder(inner.path)
                try Self.mark(folder, queue: queueDescriptor, mask: mask)
                paths[try Self.fileSystemID(folder), default: []].append(inner.path)
            } catch {
                log.warning(
                    "changes made outside are not seen in a file system mounted inside the store",
                    metadata: ["path": "\(inner.path)", "error": "\(error)"])
                unwatched.append(inner.path)
            }
        }
        resolver.setMounts(paths)
        let reason = "not watched: \(unwatched.map(\.description).joined(separator: ", "))"
        coverage = unwatched.isEmpty ? .all : .partial(watched: paths.count, reason: reason)
    }

    /// What this process, and the kernel on its behalf, writes through its own mount is not even queued.
    private func ignoreContents(through ownMount: Descriptor) {
        do throws(Errno) {
            let folder = try SharedStore.opened(ownMount)
            let flags = CL_FAN_MARK_ADD | CL_FAN_MARK_MOUNT | CL_FAN_MARK_IGNORE_ALWAYS
            _ = try check(cl_fanotify_mark(queue, flags, Self.contents, folder.number, nil))
        } catch {
            log.debug("own writes are told and dropped, not ignored", metadata: ["error": "\(error)"])
        }
    }

    private static func fileSystemID(_ folder: Descriptor) throws(Errno) -> UInt64 {
        var id: UInt64 = 0
        let result = withUnsafeMutableBytes(of: &id) { bytes in
            // Safe: the eight bytes of an integer.
            cl_filesystem_id(folder.number, bytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
        _ = try check(result)
        return id
    }
}
