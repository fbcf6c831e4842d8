import CLinux
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Requests of the replay process: answered as done if they are what is being replayed, else refused; never carried out. What
/// the kernel has afterwards must be true, so each looks at the store first.
extension MountedFileSystem {
    /// What it is shown under a name; nil: what everyone is. Nothing of it is remembered by the kernel, so others ask for
    /// themselves.
    func replayedEntry(_ name: BorrowedName, in parent: Node, _ folder: Descriptor) -> Entry? {
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
            return phantom(type)
        }
    }

    /// The answer to a LOOKUP of a name on the way.
    func onTheWay(_ entry: Entry) -> Entry {
        var entry = entry
        // The kernel is to ask when anybody else uses the name: to watch it, say.
        if entry.node != .none, table.node(entry.node).isOnlyReplayed.load(ordering: .relaxed) { entry.validity = .none }
        return entry
    }

    func replayedMaking(_ name: BorrowedName, in parent: Node, type: mode_t, _ caller: Caller) throws(Errno) -> Entry {
        let isReplayed = replay.withCurrent { replayed in
            if case .made(let place) = replayed?.change { place.isName(name, in: parent) } else { false }
        }
        guard isReplayed else { throw .resourceBusy }
        var entry: Entry
        let folder = try locator.folder(parent)
        // The replay process holds the folder in the kernel: nobody else looks the name up meanwhile.
        let wasKnown = isKnown(name, in: folder)
        do throws(Errno) {
            entry = try lookUp(name, in: parent, folder, caller)
        } catch .noSuchFileOrDirectory {
            // It is gone again, or elsewhere, which is replayed next.
            return phantom(type)
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

    func replayedRemoval(_ name: BorrowedName, in parent: Node, isFolder: Bool) throws(Errno) {
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
        let pin = Pin(folder.state.withLock { $0.folder }, for: geteuid(), of: shares)
        folder.lost(in: parent, name: name, pin: pin, isLast: true)
        table.detach(folder)
    }

    func replayedMove(
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
            status.st = attributesOfNothing(node.type, inode: node.identity.inode)
            status.st.st_size = max(0, node.state.withLock { $0.told.size })
        }
        // It loses one; without any it would be gone for those who have it under another name.
        if status.st.st_nlink == 0 || node.hasOtherNames { status.st.st_nlink += 1 }
        return Entry(
            node: table.id(of: node), generation: node.generation,
            attributes: Attributes(status: presented(status), validity: .none), validity: .none)
    }

    /// An entry that stands for what was never seen, so that its going, or moving, can be told.
    private func phantom(_ type: mode_t) -> Entry {
        let node = table.phantom(type: type)
        let status = attributesOfNothing(type, inode: node.identity.inode)
        return Entry(
            node: table.id(of: node), generation: node.generation, attributes: Attributes(status: status, validity: .none),
            validity: .none)
    }

    private func attributesOfNothing(_ type: mode_t, inode: UInt64) -> stat {
        var status = stat()
        status.st_ino = ino_t(inode)
        status.st_mode = type | 0o700
        status.st_nlink = 1
        (status.st_uid, status.st_gid) = (geteuid(), getegid())
        return status
    }
}

/// Something that is gone, or has not been seen: nothing can be done with it.
final class Phantom: VirtualItem {
    let type: mode_t
    var key: [UInt8] { [] }
    init(type: mode_t) { self.type = type }
    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat { throw .noSuchFileOrDirectory }
}
