import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

/// Files of snapshots: only read, and through the daemon, which may have to go on with a copy.
extension MountedFileSystem {
    func openItem(
        _ item: any VirtualItem, _ node: Node, flags: Int32, _ caller: Caller, _ reply: consuming Reply<OpenedFile>
    ) {
        guard let entry = item as? SnapshotEntry, entry.type == S_IFREG else { return reply.fail(.notPermitted) }
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
        node.state.withLock { state in
            state.plainOpens += 1
            state.handles.append(handle)
        }
        let id = handOver(handle)
        if !reply.succeed(OpenedFile(handle: id, mode: mode)) { release(id) }
    }

    /// Of what a virtual item's extended attributes are read; nil if it has none.
    func attributeSource(of item: any VirtualItem) -> Descriptor? {
        (item as? SnapshotEntry)?.inode ?? (item as? SnapshotFolder)?.inode
    }
}
