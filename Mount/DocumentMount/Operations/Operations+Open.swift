import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func open(_ caller: Caller, node: NodeID, flags: Int32, reply: consuming Reply<OpenedFile>) {
        let handle: FileHandle
        let mode: OpenMode
        do throws(Errno) {
            let node = table.node(node)
            guard node.item == nil else { throw .notPermitted }
            (handle, mode) = try opened(node, flags: flags, caller)
        } catch {
            return reply.fail(error)
        }
        let id = handOver(handle)
        if !reply.succeed(OpenedFile(handle: id, mode: mode)) { release(id) }
    }

    func create(
        _ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, flags: Int32,
        reply: consuming Reply<CreatedFile>
    ) {
        let created: (Entry, FileHandle, OpenMode)
        do throws(Errno) {
            let parent = table.node(parent)
            try refuseVirtual(parent, name)
            created = try self.created(caller, in: parent, name: name, mode: mode, flags: flags)
        } catch {
            return reply.fail(error)
        }
        answer(created, reply)
    }

    func createTemporary(
        _ caller: Caller, in parent: NodeID, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>
    ) {
        let created: (Entry, FileHandle, OpenMode)
        do throws(Errno) {
            let parent = table.node(parent)
            guard parent.item == nil else { throw .notSupported }
            created = try temporary(caller, in: parent, mode: mode, flags: flags)
        } catch {
            return reply.fail(error)
        }
        answer(created, reply)
    }

    private func answer(_ created: (entry: Entry, handle: FileHandle, mode: OpenMode), _ reply: consuming Reply<CreatedFile>) {
        let id = handOver(created.handle)
        let file = OpenedFile(handle: id, mode: created.mode)
        if !reply.succeed(CreatedFile(entry: created.entry, file: file)) {
            let node = created.handle.node
            release(id)
            table.forget(node, count: 1)
        }
    }

    private func opened(_ node: Node, flags: Int32, _ caller: Caller) throws(Errno) -> (FileHandle, OpenMode) {
        let writable = flags & O_ACCMODE != O_RDONLY
        let descriptor = try locator.opened(node, flags: flags & Self.openFlagsKept)
        var before: cl_status?
        if writable || flags & O_TRUNC != 0 {
            var status = cl_status()
            _ = try check(cl_statx_fd(descriptor.number, &status))
            before = status
        }
        if flags & O_TRUNC != 0 { try truncate(descriptor, isWritable: writable) }
        let (handle, mode) = register(
            node, descriptor, flags: flags, caller, before: before, isNew: false)
        // The attributes the kernel holds may go out of date from now on through a mapping, see attributeTime(of:).
        if writable { attributesMayChange(of: node) }
        if !writable { journal.opened(node, caller, flags: flags) }
        return (handle, mode)
    }

    /// A new file is empty: nothing can be stored through a mapping before a request that has the kernel ask again. Saves the
    /// question that the kernel would ask at once.
    private static let timeWhenMade = CacheTime(seconds: 0.02)

    private func attributesMayChange(of node: Node) { session.current?.notifier.attributesChangedNow(of: table.id(of: node)) }

    /// What the daemon's own descriptor takes of an app's flags. O_DIRECT is the kernel's affair: the daemon's buffers have
    /// no alignment. Nor O_APPEND: the kernel says where to
    /// write, and fcntl(2) may clear the flag. The name was resolved already.
    private static let openFlagsKept = O_ACCMODE | O_SYNC | O_DSYNC | CL_O_NOATIME | CL_O_LARGEFILE

    /// O_TRUNC, after the file was found to be the right one.
    private func truncate(_ descriptor: Descriptor, isWritable: Bool) throws(Errno) {
        // Linux truncates for O_RDONLY|O_TRUNC too, which ftruncate(2) refuses.
        let writable = isWritable ? descriptor : try locator.reopened(descriptor, flags: O_WRONLY)
        _ = try check(cl_ftruncate(writable.number, 0))
    }

    private func created(
        _ caller: Caller, in parent: Node, name: BorrowedName, mode: mode_t, flags: Int32
    ) throws(Errno) -> (Entry, FileHandle, OpenMode) {
        let folder = try locator.folder(parent)
        // Always exclusive: what is there already must go through lookup and the kernel's permission check. ESTALE makes the
        // kernel walk the path again.
        let openFlags = (flags & Self.openFlagsKept) | O_CREAT | O_EXCL | O_NOFOLLOW
        let (entry, descriptor, node) = try locator.names.changing { () throws(Errno) -> (Entry, Descriptor, Node) in
            let number = try privileges.acting(as: caller, mode: mode) { () throws(Errno) in
                do throws(Errno) {
                    return try check(cl_openat(folder.number, name, openFlags, mode))
                } catch .fileExists where flags & O_EXCL == 0 {
                    throw Errno.staleNFSFileHandle
                }
            }
            let descriptor = Descriptor(owning: number)
            var status = cl_status()
            _ = try check(cl_statx_fd(number, &status))
            let entry = known(name, in: parent, status)
            return (entry, descriptor, table.node(entry.node))
        }
        node.hasNoCapabilities.store(true, ordering: .relaxed)
        tunnel.made(node, in: parent, name, by: caller, descriptor, isWritten: flags & O_ACCMODE != O_RDONLY)
        let (handle, openMode) = register(node, descriptor, flags: flags, caller, before: nil, isNew: true)
        var fresh = entry
        if handle.isWritable { fresh.attributes.validity = Self.timeWhenMade }
        return (fresh, handle, openMode)
    }

    private func temporary(
        _ caller: Caller, in parent: Node, mode: mode_t, flags: Int32
    ) throws(Errno) -> (Entry, FileHandle, OpenMode) {
        let folder = try locator.folder(parent)
        let number = try privileges.acting(as: caller, mode: mode) { () throws(Errno) in
            try check(
                cl_openat(folder.number, ".", (flags & (Self.openFlagsKept | O_EXCL)) | CL_O_TMPFILE, mode))
        }
        let descriptor = Descriptor(owning: number)
        var status = cl_status()
        _ = try check(cl_statx_fd(number, &status))
        // No name: the descriptor is how it is found, also when the app links it into a folder.
        let pinned = try locator.reopenedByPath(descriptor)
        let node = table.lookedUp(FileIdentity(status), type: S_IFREG)
        node.state.withLock { $0.pinned = pinned }
        node.hasNoCapabilities.store(true, ordering: .relaxed)
        let (handle, openMode) = register(node, descriptor, flags: flags, caller, before: nil, isNew: true)
        return (entry(for: node, status), handle, openMode)
    }

    /// Makes the handle and chooses how the kernel reads and writes it: all opens of one inode in one way.
    private func register(
        _ node: Node, _ descriptor: Descriptor, flags: Int32, _ caller: Caller, before: cl_status?, isNew: Bool
    ) -> (FileHandle, OpenMode) {
        let keepsSetIDBits = flags & O_ACCMODE != O_RDONLY && (before?.st.st_mode ?? 0) & (S_ISUID | S_ISGID) != 0
        let mode = keepsSetIDBits ? .direct : node.state.withLock { state in openMode(&state, descriptor, caller) }
        var usesPassthrough = false
        if case .passthrough = mode { usesPassthrough = true }
        let handle = FileHandle(
            node: node, descriptor: descriptor, flags: flags, caller: caller, before: before,
            usesPassthrough: usesPassthrough, isNew: isNew)
        node.state.withLock { state in
            state.handles.append(handle)
            if handle.isWritable { state.writers += 1 }
        }
        if handle.isWritable { writers.opened(handle) }
        return (handle, mode)
    }

    private func openMode(_ state: inout Node.State, _ descriptor: Descriptor, _ caller: Caller) -> OpenMode {
        guard privileges.passthrough, !state.passthroughRefused, let session = session.current, session.passthroughGranted
        else { return .cached }
        if state.backing == nil {
            // Rank 2 held over one ioctl: opens of one inode must agree on its backing.
            // The kernel writes with the identity that registers the file: the blocks kept for root are for root.
            guard let id = try? privileges.using(as: caller, { () throws(Errno) in try session.openBacking(descriptor.number) })
            else {
                state.passthroughRefused = true
                return .cached
            }
            state.backing = Node.Backing(id: id, opens: 0)
        }
        state.backing!.opens += 1
        return .passthrough(state.backing!.id)
    }

    private func handOver(_ handle: FileHandle) -> HandleID {
        openHandles.add(1, ordering: .relaxed)
        return handle.handedToKernel()
    }

    func release(_ id: HandleID) {
        defer { openHandles.subtract(1, ordering: .relaxed) }
        // Before the handle's address can be another's.
        locks.released(handle: id)
        let handle = FileHandle.consume(id)
        let node = handle.node
        let finished = node.state.withLock { state -> BackingID? in
            if let index = state.handles.firstIndex(where: { $0 === handle }) { state.handles.remove(at: index) }
            if handle.isWritable { state.writers -= 1 }
            guard handle.usesPassthrough else { return nil }
            state.backing!.opens -= 1
            guard state.backing!.opens == 0 else { return nil }
            defer { state.backing = nil }
            return state.backing!.id
        }
        if let finished { session.current?.closeBacking(finished) }
        if handle.isWritable {
            writers.closed(handle)
            noteWriting(handle)
        }
    }

    /// At the end of serving: files still open for writing get no RELEASE.
    func noteOpenWriters() { for handle in writers.current { noteWriting(handle) } }

    /// Tells the journal of a document that was written: seen by its size and times, since the daemon sees no writes under
    /// passthrough.
    private func noteWriting(_ handle: FileHandle) {
        var status = cl_status()
        guard cl_statx_fd(handle.descriptor.number, &status) == 0, status.st.st_nlink > 0 else { return }
        if let before = handle.before, before.st.st_size == status.st.st_size,
            before.st.st_mtim.tv_sec == status.st.st_mtim.tv_sec, before.st.st_mtim.tv_nsec == status.st.st_mtim.tv_nsec
        {
            return
        }
        journal.written(handle.node, handle.caller)
    }
}
