import CLinux
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Changes as inotify(7) tells them: a watch on each folder, no word of who did it. Needs no privilege.
final class InotifySource: ChangeSource {
    private let queueDescriptor: Descriptor
    private let store: SharedStore
    private let rootPlace: FolderPlace
    private let log: Logger
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: bufferSize, alignment: 8)

    private var folders = WatchedFolders()
    private var scans: [InotifyScan] = []
    private var moves = PendingMoves()
    private var round: UInt32 = 0
    /// The system's limit was met, and said once.
    private var limitReached = false
    private var unreadable = 0

    var queue: Int32 { queueDescriptor.number }

    private static let bufferSize = 64 << 10
    private static let batchLimit = 4_096
    /// How long folders are walked before events are read again.
    private static let sliceNanoseconds: Int64 = 20_000_000

    private static let mask =
        CL_IN_CREATE | CL_IN_DELETE | CL_IN_MOVED_FROM | CL_IN_MOVED_TO | CL_IN_MODIFY | CL_IN_CLOSE_WRITE | CL_IN_ATTRIB
        | CL_IN_ONLYDIR | CL_IN_EXCL_UNLINK

    /// Sets watches for up to `settingLimit` milliseconds. Throws EMFILE at the limit of inotify queues.
    init(_ store: SharedStore, log: Logger, settingLimit: Int64) throws(Errno) {
        self.store = store
        self.log = log
        rootPlace = FolderPlace(identity: FileIdentity(try FileStatus(of: store.root)), path: .root)
        queueDescriptor = Descriptor(owning: try check(cl_inotify_open()))
        scans = [InotifyScan(store, from: .root, purpose: .beginning, start: nil)]
        var none: [OutsideChange] = []
        scan(for: settingLimit * 1_000_000, into: &none)
        for index in scans.indices { scans[index].endsInOverflow = true }
    }

    deinit { buffer.deallocate() }

    var coverage: StoreWatcher.Coverage {
        if limitReached {
            let reason = "the system's limit of watches is reached: raise fs.inotify.max_user_watches (sysctl)"
            return .partial(watched: folders.count, reason: reason)
        }
        if scans.contains(where: { $0.endsInOverflow }) {
            return .partial(watched: folders.count, reason: "watches are still being set")
        }
        guard unreadable == 0 else {
            return .partial(watched: folders.count, reason: "\(unreadable) folders may not be read by this user")
        }
        return .all
    }

    /// A collection takes no longer than a slice.
    func end() {}

    func collect(into changes: inout [OutsideChange]) throws(Errno) -> NextCollection {
        while changes.count < Self.batchLimit {
            let length = cl_read(queue, buffer, Self.bufferSize)
            if length == -Int(EAGAIN) { break }
            try translate(UnsafeRawBufferPointer(start: buffer, count: try check(length)), into: &changes)
        }
        for move in moves.takeExpired(now: cl_monotonic_ns()) { left(move, into: &changes) }
        scan(for: Self.sliceNanoseconds, into: &changes)
        if !scans.isEmpty || changes.count >= Self.batchLimit { return .atOnce }
        return moves.isEmpty ? .whenReadable : .afterPause
    }

    func innerMountsChanged(to mounts: [InnerMount], telling changes: inout [OutsideChange]) { repair() }

    /// Turns what read(2) gave into changes. Throws EINVAL for what is not in the kernel's form.
    func translate(_ bytes: UnsafeRawBufferPointer, into changes: inout [OutsideChange]) throws(Errno) {
        var event = cl_inotify_event()
        var offset = 0
        while try check(cl_inotify_next(bytes.baseAddress, bytes.count, &offset, &event)) == 1 {
            if event.mask & CL_IN_Q_OVERFLOW != 0 {
                repair()
            } else if event.mask & CL_IN_IGNORED != 0 {
                folders.remove(event.watch)
            } else if let folder = folders.place(of: event.watch) {
                tell(event, in: folder, into: &changes)
            }
        }
    }

    private func tell(_ event: cl_inotify_event, in folder: FolderPlace, into changes: inout [OutsideChange]) {
        let isFolder = event.mask & CL_IN_ISDIR != 0
        guard let text = event.name else {
            if event.mask & CL_IN_ATTRIB != 0 {
                changes.append(folder.change(.attributesChanged, to: nil, isFolder: true, by: nil))
            }
            return
        }
        let name = EntryName(copying: text)
        let watch = isFolder ? folders.child(of: event.watch, named: name) : nil
        if event.mask & CL_IN_MOVED_FROM != 0 {
            moves.add(
                PendingMove(
                    cookie: event.cookie, parent: event.watch, folder: folder, name: name, isFolder: isFolder, watch: watch))
        } else if event.mask & CL_IN_MOVED_TO != 0 {
            if let move = moves.take(event.cookie) {
                let kind = OutsideChange.Kind.moved(to: folder.place(of: name))
                changes.append(move.folder.change(kind, to: move.name, isFolder: isFolder, by: nil))
                if let moved = move.watch {
                    folders.move(moved, to: name, in: event.watch)
                    // It may have gone from where a repair has not been to where it has.
                    if isRepairing { repair() }
                } else if isFolder {
                    arrived(name, in: event.watch, folder)
                }
            } else {
                changes.append(folder.change(.appeared, to: name, isFolder: isFolder, by: nil))
                if isFolder { arrived(name, in: event.watch, folder) }
            }
        } else if event.mask & CL_IN_CREATE != 0 {
            changes.append(folder.change(.appeared, to: name, isFolder: isFolder, by: nil))
            if isFolder { arrived(name, in: event.watch, folder) }
        } else if event.mask & CL_IN_DELETE != 0 {
            changes.append(folder.change(.disappeared, to: name, isFolder: isFolder, by: nil))
        } else if event.mask & CL_IN_ATTRIB != 0 {
            // A folder with a watch tells of itself.
            if watch == nil { changes.append(folder.change(.attributesChanged, to: name, isFolder: isFolder, by: nil)) }
        } else if event.mask & (CL_IN_MODIFY | CL_IN_CLOSE_WRITE) != 0 {
            let writing: OutsideChange.Writing = event.mask & CL_IN_MODIFY != 0 ? .modified : .closed
            let change = folder.change(.contentChanged, to: name, isFolder: isFolder, by: nil, writing: writing)
            if changes.last?.isLike(change) == true {
                changes[changes.count - 1].writing.formUnion(writing)
            } else {
                changes.append(change)
            }
        }
    }

    private func arrived(_ name: EntryName, in parent: WatchedFolders.Watch, _ folder: FolderPlace) {
        scans.append(
            InotifyScan(store, from: folder.path.appending(name), purpose: .arrival, start: (parent, name)))
    }

    /// Something was moved away, and nothing of the kind arrived: it left the store.
    private func left(_ move: PendingMove, into changes: inout [OutsideChange]) {
        changes.append(move.folder.change(.disappeared, to: move.name, isFolder: move.isFolder, by: nil))
        guard let watch = move.watch, folders.stands(watch, at: move.name, in: move.parent),
            let place = folders.place(of: watch), !isThere(place)
        else { return }
        drop(folders.subtree(of: watch))
    }

    /// Whether the folder is at its place: it may have left and come back.
    private func isThere(_ place: FolderPlace) -> Bool {
        guard let folder = try? store.folder(place.path), let status = try? FileStatus(of: folder)
        else { return false }
        return FileIdentity(status) == place.identity
    }

    private func drop(_ watches: [WatchedFolders.Watch]) {
        for watch in watches {
            _ = cl_inotify_remove(queue, watch)
            folders.remove(watch)
        }
    }
}

// MARK: - Setting watches

extension InotifySource {
    /// Goes through the whole store again, and tells an overflow when that is done.
    private func repair() {
        round &+= 1
        unreadable = 0
        scans = [InotifyScan(store, from: .root, purpose: .repair(round: round), start: nil)]
    }

    private var isRepairing: Bool { scans.contains { $0.isRepair } }

    /// Walks folders for so long, if there are any to be walked.
    private func scan(for nanoseconds: Int64, into changes: inout [OutsideChange]) {
        guard !scans.isEmpty else { return }
        let deadline = cl_monotonic_ns() + nanoseconds
        while !scans.isEmpty, cl_monotonic_ns() < deadline {
            if step(&scans[0], into: &changes) { continue }
            let done = scans.removeFirst()
            unreadable += done.walk.skipped
            if case .repair(let round) = done.purpose { drop(folders.notSeen(in: round)) }
            if done.endsInOverflow { changes.append(rootPlace.change(.overflow, to: nil, isFolder: true, by: nil)) }
        }
    }

    /// Watches one folder, then reads it, so that what is made in it is either found or told. False when the walk is over.
    private func step(_ scan: inout InotifyScan, into changes: inout [OutsideChange]) -> Bool {
        // The folder a walk begins at may be gone again: then there is nothing to watch.
        guard let visit = try? scan.walk.next() else { return false }
        let watch = cl_inotify_add(queue, "/proc/self/fd/\(visit.descriptor.number)", Self.mask)
        if watch == -ENOSPC { sayLimitReached() }
        guard watch >= 0 else { return watch != -ENOSPC }
        let isRepair = scan.isRepair
        // A folder met again was read when it got its watch. One that came back from outside is put in its new place.
        let known = folders[watch] != nil
        if !known || isRepair || visit.depth == 0 {
            let (parent, name) = scan.parent(of: visit)
            folders.insert(watch, identity: visit.identity, name: name, in: parent, round: round)
        }
        scan.entered(visit, watch: watch)
        if known && !isRepair { return true }
        // By the tree rather than the walk: a folder above may have moved since the walk began.
        let place = folders.place(of: watch) ?? FolderPlace(identity: visit.identity, path: visit.path)
        scan.walk.list(visit) { text, kind in
            if scan.purpose == .arrival {
                let name = EntryName(copying: text)
                changes.append(place.change(.appeared, to: name, isFolder: kind == .folder, by: nil))
            }
            return true
        }
        return true
    }

    private func sayLimitReached() {
        guard !limitReached else { return }
        limitReached = true
        log.warning(
            """
            there are more folders than this user may watch, changes made outside are not seen in the rest: raise \
            fs.inotify.max_user_watches, as in `sysctl fs.inotify.max_user_watches=1048576`
            """, metadata: ["watched": "\(folders.count)"])
    }
}
