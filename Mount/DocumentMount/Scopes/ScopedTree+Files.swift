import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Opens, and what is done with open files and folders: refused with ESTALE once the grant is over by which they were opened.
extension ScopedTree {
    func open(_ caller: Caller, node: NodeID, flags: Int32, reply: consuming Reply<OpenedFile>) {
        let scoped: (node: NodeID, caller: Caller, grant: Grant)?
        let isAnnounced = announcer.isCaller(caller)
        let writes = flags & O_ACCMODE != O_RDONLY || flags & O_TRUNC != 0
        do throws(Errno) { scoped = try inside(node, caller, writes: writes && !isAnnounced) } catch {
            // The kernel would walk the path once more for an ESTALE, and find out.
            return reply.fail(error)
        }
        guard let scoped else { return next.open(caller, node: node, flags: flags, reply: reply) }
        if isAnnounced {
            _ = reply.succeed(.nothing)
            return
        }
        files.open(scoped.caller, node: scoped.node, flags: flags, reply: reply)
    }

    func create(
        _ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>
    ) {
        let created: (entry: Entry, handle: FileHandle, mode: OpenMode)
        let grant: Grant
        do throws(Errno) {
            if let folder = try documentFolder(parent) {
                (created, grant) = (try self.created(in: folder, name, caller, mode: mode, flags: flags), folder)
            } else if let scoped = try inside(parent, caller, writes: true) {
                (created, grant) = (try files.creating(scoped.caller, in: table.node(scoped.node), name: name, mode: mode, flags: flags), scoped.grant)
                note(.appeared, name, in: scoped.node, isFolder: false, caller)
            } else {
                return next.create(caller, in: parent, name: name, mode: mode, flags: flags, reply: reply)
            }
        } catch {
            return reply.fail(error)
        }
        answer(created, grant, reply)
    }

    func createTemporary(_ caller: Caller, in parent: NodeID, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>) {
        let created: (entry: Entry, handle: FileHandle, mode: OpenMode)
        let grant: Grant
        do throws(Errno) {
            guard let scoped = try inside(parent, caller, writes: true) else {
                return next.createTemporary(caller, in: parent, mode: mode, flags: flags, reply: reply)
            }
            (created, grant) = (try files.creatingTemporary(scoped.caller, in: table.node(scoped.node), mode: mode, flags: flags), scoped.grant)
        } catch {
            return reply.fail(error)
        }
        answer(created, grant, reply)
    }

    private func answer(
        _ created: (entry: Entry, handle: FileHandle, mode: OpenMode), _ grant: Grant, _ reply: consuming Reply<CreatedFile>
    ) {
        let entry = scoped(created.entry, grant)
        let id = files.handOver(created.handle)
        if !reply.succeed(CreatedFile(entry: entry, file: OpenedFile(handle: id, mode: created.mode))) {
            files.release(id)
            forget(entry.node, count: 1)
        }
    }

    /// Throws ESTALE for a handle that was opened by a grant which is over.
    private func check(_ handle: HandleID) throws(Errno) {
        guard handle != .nothing else { return }
        let view = FileHandle.of(handle).caller.view
        if view != 0, !grants.holds(view) { throw .staleNFSFileHandle }
    }

    func read(_ caller: Caller, handle: HandleID, at offset: off_t, count: Int, reply: consuming Reply<FileData>) {
        do throws(Errno) { try check(handle) } catch { return reply.fail(error) }
        next.read(caller, handle: handle, at: offset, count: count, reply: reply)
    }

    func write(
        _ caller: Caller, handle: HandleID, at offset: off_t, flags: Int32, _ data: UnsafeRawBufferPointer
    ) throws(Errno) -> Int {
        do throws(Errno) { try check(handle) } catch {
            // The save has an end missing.
            next.writeFailed(handle, error)
            throw error
        }
        let count = try next.write(caller, handle: handle, at: offset, flags: flags, data)
        noteWritten(by: handle)
        return count
    }

    /// Bytes that are written by an inode of a grant are not in the kernel's pages of the document's own.
    private func noteWritten(by handle: HandleID) {
        let handle = FileHandle.of(handle)
        guard handle.caller.view != 0, handle.version == nil, handle.node.state.withLock({ $0.handles.contains(where: \.isCached) }) else { return }
        files.session.current?.notifier.contentsChanged(ofFile: handle.node, table)
    }

    func allocate(_ caller: Caller, handle: HandleID, mode: Int32, offset: off_t, length: off_t) throws(Errno) {
        try check(handle)
        try next.allocate(caller, handle: handle, mode: mode, offset: offset, length: length)
        noteWritten(by: handle)
    }

    func copyRange(
        _ caller: Caller, from: HandleID, at offset: off_t, to: HandleID, at newOffset: off_t, count: Int, flags: UInt32
    ) throws(Errno) -> Int {
        do throws(Errno) {
            try check(from)
            try check(to)
        } catch {
            next.writeFailed(to, error)
            throw error
        }
        let copied = try next.copyRange(caller, from: from, at: offset, to: to, at: newOffset, count: count, flags: flags)
        noteWritten(by: to)
        return copied
    }

    /// Carried out for a grant that is over, too: it ends what was begun.
    func flush(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64) throws(Errno) {
        try next.flush(caller, node: storeNode(node), handle: handle, lockOwner: lockOwner)
    }

    func synchronize(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno) {
        // It would publish a save.
        try check(handle)
        try next.synchronize(caller, handle: handle, dataOnly: dataOnly)
    }

    private func storeNode(_ node: NodeID) -> NodeID { (table.node(node).item as? ScopedItem).map { table.id(of: $0.target) } ?? node }

    func conflictingLock(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, lock: RecordLock) throws(Errno) -> RecordLock {
        try check(handle)
        return try next.conflictingLock(caller, node: storeNode(node), handle: handle, lockOwner: lockOwner, lock: lock)
    }

    func setLock(
        _ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, lock: RecordLock, waits: Bool, reply: consuming Reply<Done>
    ) {
        // Unlocking goes on.
        if lock.type != F_UNLCK { do throws(Errno) { try check(handle) } catch { return reply.fail(error) } }
        next.setLock(caller, node: storeNode(node), handle: handle, lockOwner: lockOwner, lock: lock, waits: waits, reply: reply)
    }

    func lockWhole(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, operation: Int32, reply: consuming Reply<Done>) {
        if operation & LOCK_UN == 0 { do throws(Errno) { try check(handle) } catch { return reply.fail(error) } }
        next.lockWhole(caller, node: storeNode(node), handle: handle, lockOwner: lockOwner, operation: operation, reply: reply)
    }

    func release(_ handle: HandleID) {
        guard handle != .nothing else { return next.release(handle) }
        let opened = FileHandle.of(handle)
        let written = opened.caller.view != 0 && opened.isWritable ? (node: opened.served, caller: opened.caller) : nil
        next.release(handle)
        if let written { noteClosed(written.node, written.caller) }
    }

    // MARK: - Folders

    func openFolder(_ caller: Caller, node: NodeID, reply: consuming Reply<OpenedFolder>) {
        let scoped: (node: NodeID, caller: Caller, grant: Grant)?
        do throws(Errno) { scoped = try inside(node, caller) } catch { return reply.fail(error) }
        guard let scoped else { return next.openFolder(caller, node: node, reply: reply) }
        files.answer(reply) { () throws(Errno) in
            var opened = try files.openFolder(scoped.caller, table.node(scoped.node), entriesAfter: [])
            // Nobody would have the kernel drop it.
            opened.cached = false
            return opened
        }
    }

    func readFolder(
        _ caller: Caller, node: NodeID, handle: HandleID, offset: Int64, plus: Bool, into buffer: inout DirectoryBuffer
    ) throws(Errno) {
        guard let scoped = try inside(node, caller) else {
            return try next.readFolder(caller, node: node, handle: handle, offset: offset, plus: plus, into: &buffer)
        }
        // Names alone, which the kernel then looks up.
        try files.readFolder(
            scoped.caller, table.node(scoped.node), FolderHandle.of(handle), offset: offset, plus: plus, into: &buffer
        ) { (_) throws(Errno) in .absent(validity: .none) }
    }
}
