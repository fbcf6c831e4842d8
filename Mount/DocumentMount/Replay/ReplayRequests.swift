import CLinux
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// The layer for requests of two `quire-replay` processes. Those of the process that replays outside changes (`OutsideReplay`) are
/// answered as done if they are the change being replayed, else refused; none is carried out. The kernel must know the truth afterwards,
/// so this layer looks at the store first. The process that has the kernel forget names and contents (`NameForgetter`) finds nothing.
final class ReplayRequests: FileSystemLayer {
    let next: VirtualTree
    private let files: MountedFileSystem
    private let replay: OutsideReplay
    private let forgetter: NameForgetter

    init(before next: VirtualTree) {
        self.next = next
        files = next.next
        (replay, forgetter) = (files.replay, files.forgetter)
    }

    private var table: NodeTable { files.table }
    private var locator: Locator { files.locator }

    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName, reply: consuming Reply<Entry>) {
        let isReplayed = replay.isCaller(caller)
        guard isReplayed || forgetter.isCaller(caller) else { return next.lookup(caller, in: parent, name: name, reply: reply) }
        let folder = table.node(parent)
        if !isReplayed, forgetter.isForgetting(name, in: folder, table) { return answer(reply) { .absent(validity: .none) } }
        guard isReplayed, !next.isVirtual(name, in: folder) else {
            return next.lookup(caller, in: parent, name: name, reply: reply)
        }
        answer(reply) { () throws(Errno) in try entry(under: name, in: folder, caller) }
    }

    private func entry(under name: BorrowedName, in folder: Node, _ caller: Caller) throws(Errno) -> Entry {
        if folder.isRoot, files.saves.saveNotifier.areAskedFor(name, by: caller) { return try files.supersededEntry() }
        if !files.isHidden(name), let entry = replayedEntry(name, in: folder, try locator.folder(folder)) { return entry }
        return onTheWay(try files.lookup(caller, in: folder, name: name))
    }

    func attributes(_ caller: Caller, of node: NodeID, handle: HandleID?) throws(Errno) -> Attributes {
        if replay.isCaller(caller) { noteShown(table.node(node)) }
        return try next.attributes(caller, of: node, handle: handle)
    }

    private func noteShown(_ node: Node) {
        if node.item == nil { replay.shown(node) }
    }

    func change(_ caller: Caller, node: NodeID, handle: HandleID?, to changes: AttributeRequest) throws(Errno) -> Attributes {
        guard replay.isCaller(caller), table.node(node).item == nil else {
            return try next.change(caller, node: node, handle: handle, to: changes)
        }
        let node = table.node(node)
        // The kernel takes the attributes of a SETATTR's reply over, however old they are: it is to ask again. (A GETATTR's it does not, if it was
        // told meanwhile that they have changed.)
        return Attributes(status: files.attributes(of: node, try locator.status(of: node)).status, validity: .none)
    }

    func open(_ caller: Caller, node: NodeID, flags: Int32, reply: consuming Reply<OpenedFile>) {
        let isReplayed = replay.isCaller(caller)
        guard isReplayed || forgetter.isCaller(caller), table.node(node).item == nil else {
            return next.open(caller, node: node, flags: flags, reply: reply)
        }
        let node = table.node(node)
        files.openNothing(!isReplayed && forgetter.isDropping(node, table) ? .droppingContent : .nothing, of: node, caller, reply)
    }

    func makeNode(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, device: dev_t) throws(Errno) -> Entry {
        guard replay.isCaller(caller) else { return try next.makeNode(caller, in: parent, name: name, mode: mode, device: device) }
        return try replayedMaking(name, in: table.node(parent), type: mode & S_IFMT, caller)
    }

    func makeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t) throws(Errno) -> Entry {
        guard replay.isCaller(caller) else { return try next.makeFolder(caller, in: parent, name: name, mode: mode) }
        return try replayedMaking(name, in: table.node(parent), type: S_IFDIR, caller)
    }

    func makeSymbolicLink(_ caller: Caller, in parent: NodeID, name: BorrowedName, target: UnsafePointer<CChar>) throws(Errno) -> Entry {
        guard replay.isCaller(caller) else { return try next.makeSymbolicLink(caller, in: parent, name: name, target: target) }
        return try replayedMaking(name, in: table.node(parent), type: S_IFLNK, caller)
    }

    func unlink(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        guard replay.isCaller(caller) else { return try next.unlink(caller, in: parent, name: name) }
        try replayedRemoval(name, in: table.node(parent), isFolder: false)
    }

    func removeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        guard replay.isCaller(caller) else { return try next.removeFolder(caller, in: parent, name: name) }
        try replayedRemoval(name, in: table.node(parent), isFolder: true)
    }

    func rename(
        _ caller: Caller, from parent: NodeID, name: BorrowedName, to newParent: NodeID, newName: BorrowedName, flags: UInt32
    ) throws(Errno) {
        guard replay.isCaller(caller) else {
            return try next.rename(caller, from: parent, name: name, to: newParent, newName: newName, flags: flags)
        }
        try replayedMove(name, in: table.node(parent), to: newName, in: table.node(newParent))
    }

    // MARK: - Answers to the process that replays

    /// The entry that the process is shown under a name; nil: the one that all programs are shown. The kernel remembers none of these, so
    /// that other programs' lookups reach the daemon.
    private func replayedEntry(_ name: BorrowedName, in parent: Node, _ folder: Descriptor) -> Entry? {
        enum Answer {
            case truth, absent
            case gone(Node?, mode_t)
            case node(Node)
        }
        let answer = replay.withCurrent { replayed -> Answer in
            switch replayed?.change {
            case .made(let place) where place.isName(name, in: parent): return .absent
            case .gone(let place, let type) where place.isName(name, in: parent): return .gone(replayed?.found, type)
            case .moved(let source, _, let node) where source.isName(name, in: parent): return .node(node)
            case .moved(_, let target, _) where target.isName(name, in: parent):
                return replayed?.found.map { .node($0) } ?? .absent
            default: return .truth
            }
        }
        switch answer {
        case .truth: return nil
        case .absent: return .absent(validity: .none)
        case .node(let node): return ghost(of: node)
        case .gone(let found, let type):
            guard !isKnown(name, in: folder) else { return nil }
            replay.withCurrent { $0?.isLookedUp = true }
            if let found, isGone(found) { return ghost(of: found) }
            return table.phantomEntry(type: type)
        }
    }

    /// The answer to a LOOKUP of a name on the way.
    private func onTheWay(_ entry: Entry) -> Entry {
        var entry = entry
        // The kernel is to ask when another program uses the name: to watch it, say. A file manager's lookup of an absent name counts.
        if entry.node == .none || table.node(entry.node).isOnlyReplayed.load(ordering: .relaxed) { entry.validity = .none }
        return entry
    }

    private func replayedMaking(_ name: BorrowedName, in parent: Node, type: mode_t, _ caller: Caller) throws(Errno) -> Entry {
        let isReplayed = replay.withCurrent { replayed in
            if case .made(let place) = replayed?.change { place.isName(name, in: parent) } else { false }
        }
        guard isReplayed else { throw .resourceBusy }
        var entry: Entry
        let folder = try locator.folder(parent)
        // The replay process holds the folder in the kernel: nobody else looks the name up meanwhile.
        let wasKnown = isKnown(name, in: folder)
        do throws(Errno) {
            entry = try files.lookUp(name, in: parent, folder, caller)
        } catch .noSuchFileOrDirectory {
            // It is gone again, or elsewhere, which is replayed next.
            return table.phantomEntry(type: type)
        }
        let node = table.node(entry.node)
        guard entry.attributes.status.st_mode & S_IFMT == type else {
            table.forget(node, count: 1)
            throw .resourceBusy
        }
        node.state.withLock { $0.replayed = cl_monotonic_ns() }
        // Within a claim the name stands for something else.
        if parent.staged.load()?[EntryName(copying: name)].isEmpty == false { entry.validity = .none }
        if !wasKnown, node.isFolder {
            node.isOnlyReplayed.store(true, ordering: .relaxed)
            entry.validity = .none
        }
        return entry
    }

    private func replayedRemoval(_ name: BorrowedName, in parent: Node, isFolder: Bool) throws(Errno) {
        let removal = replay.withCurrent { replayed -> (found: Node?, isLookedUp: Bool)? in
            guard case .gone(let place, _) = replayed?.change, place.isName(name, in: parent) else { return nil }
            return (replayed?.found, replayed?.isLookedUp == true)
        }
        guard let removal, !isKnown(name, in: try locator.folder(parent)) else { throw .resourceBusy }
        guard isFolder else { return }
        // In a removed folder the kernel makes nothing any more: only if it is that folder, and gone for ever.
        guard let folder = removal.found, isGone(folder) else {
            guard removal.isLookedUp else { throw .resourceBusy }
            return
        }
        // The process that removed it is not known.
        let pin = Pin(folder.state.withLock { $0.folder }, for: geteuid(), of: files.shares)
        folder.lost(in: parent, name: name, pin: pin, isLast: true)
        table.detach(folder)
    }

    private func replayedMove(
        _ name: BorrowedName, in parent: Node, to newName: BorrowedName, in newParent: Node
    ) throws(Errno) {
        let moved = replay.withCurrent { replayed -> Node? in
            guard case .moved(let source, let target, let node) = replayed?.change, source.isName(name, in: parent),
                target.isName(newName, in: newParent)
            else { return nil }
            return node
        }
        guard let moved, !isKnown(name, in: try locator.folder(parent)) else { throw .resourceBusy }
        guard let status = try? FileStatus(of: newName, in: locator.folder(newParent)), FileIdentity(status) == moved.identity
        else { throw .resourceBusy }
        let hasOtherNames = status.st.st_nlink > 1 && !moved.isFolder
        moved.seen(in: newParent, name: newName, hasOtherNames: hasOtherNames)
    }

    /// Whether what stands under a name is known to the kernel: then it is not to be taken for what stood there before.
    private func isKnown(_ name: BorrowedName, in folder: Descriptor) -> Bool {
        (try? FileStatus(of: name, in: folder)).flatMap { table.known(FileIdentity($0)) } != nil
    }

    /// Whether a folder was removed, and not moved to where nobody sees it.
    private func isGone(_ folder: Node) -> Bool {
        guard let descriptor = folder.state.withLock({ $0.folder ?? $0.pinned }) else { return true }
        var status = cl_status()
        return cl_statx_fd(descriptor.number, &status) != 0 || status.st.st_nlink == 0
    }

    /// The entry of what may have no name any more, for a moment.
    private func ghost(of node: Node) -> Entry {
        table.hold(node)
        var status = cl_status()
        if let found = locator.statusAtHand(of: node) {
            status = found
        } else {
            status.st = Phantom.attributes(node.type, inode: node.identity.inode)
            status.st.st_size = max(0, node.state.withLock { $0.told.size })
        }
        // It loses one; without any it would be gone for those who have it under another name.
        if status.st.st_nlink == 0 || node.hasOtherNames { status.st.st_nlink += 1 }
        return Entry(
            node: table.id(of: node), generation: node.generation,
            attributes: Attributes(status: files.presented(status), validity: .none), validity: .none)
    }
}

/// Something that is gone, or has not been seen: nothing can be done with it.
final class Phantom: VirtualItem {
    let type: mode_t
    var key: [UInt8] { [] }
    init(type: mode_t) { self.type = type }
    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat { throw .noSuchFileOrDirectory }

    static func attributes(_ type: mode_t, inode: UInt64) -> stat {
        var status = stat()
        status.st_ino = ino_t(inode)
        status.st_mode = type | 0o700
        status.st_nlink = 1
        (status.st_uid, status.st_gid) = (geteuid(), getegid())
        return status
    }
}
