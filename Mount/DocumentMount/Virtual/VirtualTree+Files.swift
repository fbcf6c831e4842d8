import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Opens and extended attributes of virtual items. Their files can only be read, and through the daemon, which may have to continue
/// with a copy of a snapshot's content.
extension VirtualTree {
    func open(_ caller: Caller, node: NodeID, flags: Int32, reply: consuming Reply<OpenedFile>) {
        let known = table.node(node)
        guard let item = known.item else { return next.open(caller, known, flags: flags, reply) }
        openItem(item, known, flags: flags, caller, reply)
    }

    func release(_ handle: HandleID) {
        guard handle != .nothing, let item = FileHandle.of(handle).node.item else { return next.release(handle) }
        let opened = FileHandle.of(handle)
        next.release(handle)
        item.closed(opened)
    }

    private func openItem(
        _ item: any VirtualItem, _ node: Node, flags: Int32, _ caller: Caller, _ reply: consuming Reply<OpenedFile>
    ) {
        do throws(Errno) { try next.checkRoom(for: .openFiles, caller) } catch { return reply.fail(error) }
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
                    node: node, descriptor: try next.locator.reopened(content, flags: flags & SaveService.openFlagsKept),
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
        let id = next.handOver(handle)
        if !reply.succeed(OpenedFile(handle: id, mode: mode, isFlushed: isFlushed)) { release(id) }
    }

    // MARK: - Extended attributes

    func extendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        let known = table.node(node)
        guard let item = known.item else { return try next.extendedAttribute(caller, of: known, name: name, into: buffer) }
        if let value = try next.mountsAttribute(name, into: buffer) { return value }
        guard let source = item.attributeSource else {
            // That there is no such thing here at all: ls(1) then asks of no other link.
            throw item is VirtualLink && Self.isSecurityLabel(name) ? .notSupported : .noData
        }
        if !MountedFileSystem.isKernels(name) { try checkMayReadAttributes(of: source, caller) }
        return try next.attribute(name, of: source, into: buffer)
    }

    private static func isSecurityLabel(_ name: UnsafePointer<CChar>) -> Bool { strncmp(name, "security.", 9) == 0 }

    func extendedAttributeNames(_ caller: Caller, of node: NodeID, into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        guard let item = table.node(node).item else { return try next.extendedAttributeNames(caller, of: node, into: buffer) }
        guard let source = item.attributeSource else { return 0 }
        try checkMayReadAttributes(of: source, caller)
        return try next.attributeNames(of: source, shownTo: caller, into: buffer)
    }

    func setExtendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, value: UnsafeRawBufferPointer, flags: Int32
    ) throws(Errno) {
        guard table.node(node).item == nil else { throw .notPermitted }
        try next.setExtendedAttribute(caller, of: node, name: name, value: value, flags: flags)
    }

    func removeExtendedAttribute(_ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>) throws(Errno) {
        guard table.node(node).item == nil else { throw .noData }
        try next.removeExtendedAttribute(caller, of: node, name: name)
    }

    /// A snapshot's extended attributes are as they are now, and so for who may read the document now: the kernel judges by its mode at the
    /// snapshot's instant.
    private func checkMayReadAttributes(of inode: Descriptor, _ caller: Caller) throws(Errno) {
        let (access, credentials) = (next.tags.access, credentials(of: caller))
        guard access.isUnlimited(credentials) || access.may(credentials, use: inode, R_OK) else { throw .permissionDenied }
    }
}
