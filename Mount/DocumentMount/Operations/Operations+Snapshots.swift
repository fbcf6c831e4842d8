import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Files of snapshots, and the mount's own: only read, and through the daemon, which may have to go on with a copy.
extension MountedFileSystem {
    func openItem(
        _ item: any VirtualItem, _ node: Node, flags: Int32, _ caller: Caller, _ reply: consuming Reply<OpenedFile>
    ) {
        do throws(Errno) { try checkRoom(for: .openFiles, caller) } catch { return reply.fail(error) }
        if let entry = item as? SnapshotEntry, entry.type == S_IFREG {
            return openSnapshot(entry, node, flags: flags, caller, reply)
        }
        guard item.type == S_IFREG else { return reply.fail(.notPermitted) }
        if let preview = item as? any PreviewTreeItem {
            return wait(for: { preview.neededToOpen }, of: preview, caller, reply) { [unowned self] reply in
                openOwn(item, node, flags: flags, caller, reply)
            }
        }
        openOwn(item, node, flags: flags, caller, reply)
    }

    private func openSnapshot(
        _ entry: SnapshotEntry, _ node: Node, flags: Int32, _ caller: Caller, _ reply: consuming Reply<OpenedFile>
    ) {
        guard flags & O_ACCMODE == O_RDONLY, flags & O_TRUNC == 0 else { return reply.fail(.readOnlyFileSystem) }
        // What it shows never changes, so the kernel's pages of it hold.
        let mode = OpenMode.cached(keeps: !entry.isLive)
        let handle: FileHandle
        do throws(Errno) {
            handle = try entry.opened { (content) throws(Errno) in
                FileHandle(
                    node: node, descriptor: try locator.reopened(content, flags: flags & SaveService.openFlagsKept),
                    flags: flags, caller: caller, before: nil, mode: mode, refreshed: nil, isNew: false,
                    decision: FileHandle.Decision())
            }
        } catch {
            return reply.fail(error)
        }
        handOver(handle, of: node, mode, reply)
    }

    /// A file of the mount's own, which is another node when it has changed.
    private func openOwn(
        _ item: any VirtualItem, _ node: Node, flags: Int32, _ caller: Caller, _ reply: consuming Reply<OpenedFile>
    ) {
        guard flags & O_ACCMODE == O_RDONLY, flags & O_TRUNC == 0 else { return reply.fail(.permissionDenied) }
        let mode = OpenMode.cached(keeps: true)
        let handle: FileHandle
        do throws(Errno) {
            try item.checkIsCurrent()
            try item.checkMayUse(credentials(of: caller))
            let content = try item.content()
            let decision = FileHandle.Decision(share: item is PreviewFile ? try share(of: content, for: caller) : nil)
            handle = FileHandle(
                node: node, descriptor: content, flags: flags, caller: caller, before: nil, mode: mode, refreshed: nil, isNew: false,
                decision: decision)
        } catch {
            return reply.fail(error)
        }
        // Close waits for nothing: there is nothing to write. A record lock, of which no writer is here to be kept out, ends with RELEASE.
        handOver(handle, of: node, mode, isFlushed: false, reply)
    }

    /// The pages that a file in memory takes.
    private func share(of content: Descriptor, for caller: Caller) throws(Errno) -> TakenShare {
        let status = try FileStatus(of: content)
        let bytes = Int(clamping: status.allocatedBytes)
        guard let share = TakenShare(.previewBytes, bytes, of: shares, for: caller.uid) else { throw .noMemory }
        return share
    }

    private func handOver(
        _ handle: FileHandle, of node: Node, _ mode: OpenMode, isFlushed: Bool = true, _ reply: consuming Reply<OpenedFile>
    ) {
        node.state.withLock { state in
            state.plainOpens += 1
            state.handles.append(handle)
        }
        let id = handOver(handle)
        if !reply.succeed(OpenedFile(handle: id, mode: mode, isFlushed: isFlushed)) { release(id) }
    }

    /// Of what a virtual item's extended attributes are read; nil if it has none.
    func attributeSource(of item: any VirtualItem) -> Descriptor? {
        (item as? SnapshotEntry)?.inode ?? (item as? SnapshotFolder)?.inode
    }

    /// A snapshot's extended attributes are as they are now, and so for who may read the document now: the kernel judges by its mode at the
    /// snapshot's instant.
    func checkMayReadAttributes(of node: Node, _ inode: Descriptor, _ caller: Caller) throws(Errno) {
        guard node.item != nil else { return }
        let credentials = credentials(of: caller)
        guard tags.access.isUnlimited(credentials) || tags.access.may(credentials, use: inode, R_OK)
        else { throw .permissionDenied }
    }
}
