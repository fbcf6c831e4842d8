import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// A small document's content, read before its open is registered.
struct ReadContent {
    let bytes: [UInt8]
    /// The file as it was before it was read.
    let seen: Node.Seen
}

/// A document's last page, and where in the file it begins, read before its open is registered.
struct LastPage {
    let bytes: [UInt8]
    let offset: Int64
}

/// Making a file's handle, and how the kernel reads and writes the file by it.
extension MountedFileSystem {
    /// Up to this size a document that is only read comes from the kernel's pages: registering a file for passthrough and
    /// taking it back costs more than copying so much once.
    private static let largestKept: off_t = 64 << 10

    var isPassthroughOn: Bool { privileges.passthrough && session.current?.passthroughGranted ?? false }

    func registerNew(
        _ node: Node, _ descriptor: Descriptor, flags: Int32, _ caller: Caller
    ) -> (FileHandle, OpenMode) {
        let isWritable = flags & O_ACCMODE != O_RDONLY
        let decision = isWritable ? saves.decisionForNewFile() : FileHandle.Decision()
        return register(
            node, descriptor, flags: flags, caller, before: nil, isNew: true, decision, isAmongSaves: true)!
    }

    /// Makes the handle and chooses how the kernel reads and writes it. Nil if it would be a writer of which a save that has
    /// begun meanwhile does not know, or would read by a node that is not the published version's any more; `isAmongSaves` says that it may.
    func register(
        _ node: Node, _ descriptor: Descriptor, flags: Int32, _ caller: Caller, before: cl_status?, isNew: Bool,
        _ decision: FileHandle.Decision, isAmongSaves: Bool = false, content: ReadContent? = nil, lastPage: LastPage? = nil
    ) -> (FileHandle, OpenMode)? {
        let isWritable = flags & O_ACCMODE != O_RDONLY
        let keepsSetIDBits = isWritable && Self.hasSetIDBits(before)
        // To ask costs a read of /proc at times.
        let hasHostedSaves = node.hasHostedSaves
        let mayMatter = isWritable
            ? decision.reason == .notTruncating || decision.isElsewhere
            : hasHostedSaves || !isPassthroughOn || Self.isSmall(before, flags)
        let isRelay = mayMatter && saves.processes.isRelay(caller.thread)
        let isAmongRelays = isRelay && (isWritable || hasHostedSaves)
        // Of a write that the kernel makes itself, the daemon does not learn that it failed.
        let mayLackRoom = isWritable && decision.reason == .notTruncating && isPassthroughOn
            && before.map { !saves.store.hasPlentyOfRoom(for: descriptor, $0) } ?? false
        // By the kernel's pages it would read to the size that a save by another handle gives the inode.
        let readsPastPages = isRelay || hasHostedSaves && !isWritable && session.current?.directMapsGranted ?? false
        var decision = decision
        decision.isRelays = isRelay && isWritable
        return node.state.withLock { state in
            if !isAmongSaves {
                let isActive = node.saved.load()?.isActive.load(ordering: .sequentiallyConsistent) ?? false
                guard isWritable ? !isActive : !node.hasLostReaders else { return nil }
            }
            // Readers may have it passed through, which excludes all else: the bits go now then, not with the first write.
            var now = cl_status()
            if keepsSetIDBits, state.backing != nil, caller.uid != 0, cl_statx_fd(descriptor.number, &now) == 0 {
                _ = fchmod(descriptor.number, now.st.st_mode & 0o1777)
                attributesMayChange(of: node)
            }
            // What is written to a working copy, or to another file than the node's, the daemon must see.
            let isDirect =
                keepsSetIDBits && state.backing == nil || mayLackRoom || decision.isElsewhere || decision.version != nil && isPassthroughOn
                || node.hostedWritings.load(ordering: .sequentiallyConsistent) > 0
                || SaveService.mustBeDirect(decision, flags: flags, caller, isRelay: isAmongRelays, file: descriptor, state)
            if isDirect, let lastPage { keepSize(of: node, &state, lastPage) }
            let (mode, refreshed) =
                // The kernel has another inode of it, of which nothing is known here.
                caller.view != 0 ? (.direct(beside: nil), nil)
                : isDirect
                ? (directMode(&state), nil)
                : openMode(
                    of: node, &state, descriptor, flags: flags, caller, readsPastPages: readsPastPages, before: before, content)
            let handle = FileHandle(
                node: node, descriptor: descriptor, flags: flags, caller: caller, before: before, mode: mode,
                refreshed: refreshed, isNew: isNew, decision: decision)
            if !handle.hasBacking { state.plainOpens += 1 }
            state.handles.append(handle)
            if handle.isWritable {
                state.writers += 1
                if handle.mayBeMappedForWriting { state.unheardWriters += 1 }
                writers.opened(handle)
            }
            return (handle, mode)
        }
    }

    static func hasSetIDBits(_ status: cl_status?) -> Bool { (status?.st.st_mode ?? 0) & (S_ISUID | S_ISGID) != 0 }

    /// The content, if the kernel is to be given it with the open. With no lock held: the disk may be slow.
    func contentToStore(of node: Node, _ descriptor: Descriptor, _ status: cl_status, flags: Int32) -> ReadContent? {
        guard Self.isSmall(status, flags) else { return nil }
        let now = Node.Seen(status.st)
        guard node.state.withLock({ $0.mayStore(now) && $0.pages != now }) else { return nil }
        let size = Int(now.size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, pread(descriptor.number, buffer.baseAddress, size, 0))
        }
        return bytes.count == size ? ReadContent(bytes: bytes, seen: now) : nil
    }

    /// A document's last page, if the kernel is to be given it with the open of a node that has, or had, another file's size in the kernel.
    func lastPage(of descriptor: Descriptor, _ status: cl_status) -> LastPage? {
        let size = status.st.st_size
        guard size > 0 else { return nil }
        let start = (size - 1) & ~4_095
        let bytes = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
            count = max(0, min(pread(descriptor.number, buffer.baseAddress, 4_096, start), Int(size - start)))
        }
        return bytes.isEmpty ? nil : LastPage(bytes: bytes, offset: Int64(start))
    }

    /// Has the kernel take the inode of a node to be as long at least as the file that a handle reads. sendfile(2), copy_file_range(2) and
    /// mappings go by that size, which is another file's where a handle writes such a file by the node, or the handle reads another version's.
    /// With the node's state held, and only if no other handle may read by the kernel's pages, which would be waited for.
    private func keepSize(of node: Node, _ state: inout Node.State, _ page: LastPage) {
        guard !state.handles.contains(where: { $0.flags & O_ACCMODE != O_WRONLY || !$0.isDirect }), let session = session.current else { return }
        _ = page.bytes.withUnsafeBytes { session.notifier.storeNow($0, at: page.offset, of: table.id(of: node)) }
        state.pages = nil
    }

    private static func isSmall(_ status: cl_status?, _ flags: Int32) -> Bool {
        guard let size = status?.st.st_size else { return false }
        return flags & (O_ACCMODE | O_TRUNC) == O_RDONLY && size > 0 && size <= largestKept
    }

    /// With the node's state held.
    ///
    /// - Returns: with the mode, as what the file is to be known once the kernel has dropped its pages with this open.
    func openMode(
        of node: Node, _ state: inout Node.State, _ descriptor: Descriptor, flags: Int32, _ caller: Caller, readsPastPages: Bool,
        before: cl_status?, _ content: ReadContent?
    ) -> (OpenMode, refreshed: Node.Seen?) {
        guard let session = session.current else { return (.cached(keeps: false), nil) }
        if state.backing == nil {
            // What was read is good if the file is still as it was before.
            let status = content == nil ? before ?? Self.status(of: descriptor) : Self.status(of: descriptor)
            guard isPassthroughOn, !state.passthroughRefused, state.plainOpens == 0, !Self.isSmall(status, flags) else {
                return readsPastPages ? (directMode(&state), nil) : cached(node, &state, status, content, session)
            }
            // The kernel writes with the identity that registers the file: the blocks kept for root are for root.
            // The state is held over one ioctl: opens of one inode must agree on its backing.
            guard let id = try? privileges.using(as: caller, { () throws(Errno) in try session.openBacking(descriptor.number) })
            else {
                state.passthroughRefused = true
                return readsPastPages ? (directMode(&state), nil) : cached(node, &state, status, content, session)
            }
            state.backing = Node.Backing(id: id, opens: 0)
        }
        state.backing!.opens += 1
        return (.passthrough(state.backing!.id), nil)
    }

    /// The mode of an open of which every read and write comes to the daemon. With the node's state held.
    func directMode(_ state: inout Node.State) -> OpenMode {
        state.backing?.opens += 1
        return .direct(beside: state.backing?.id)
    }

    /// Answers an open by one of the daemon's own processes, which reads and writes nothing. A node that is open with a backing needs a
    /// handle, which counts among those opens.
    func openNothing(_ file: OpenedFile, of node: Node, _ caller: Caller, _ reply: consuming Reply<OpenedFile>) {
        guard node.state.withLock({ $0.backing != nil }), let descriptor = try? locator.pathDescriptor(of: node) else {
            _ = reply.succeed(file)
            return
        }
        let (handle, mode) = node.state.withLock { state in
            let mode = directMode(&state)
            let handle = FileHandle(
                node: node, descriptor: descriptor, flags: O_RDONLY, caller: caller, before: nil, mode: mode, refreshed: nil, isNew: false,
                decision: FileHandle.Decision(isElsewhere: true))
            if !handle.hasBacking { state.plainOpens += 1 }
            state.handles.append(handle)
            return (handle, mode)
        }
        let id = handOver(handle)
        if !reply.succeed(OpenedFile(handle: id, mode: mode, isFlushed: false)) { release(id) }
    }

    /// The kernel's pages hold if the file is as it was when they were known to be good. If not, those of a small document are
    /// put there with the open, which spares the READ.
    private func cached(
        _ node: Node, _ state: inout Node.State, _ status: cl_status?, _ content: ReadContent?, _ session: FuseSession
    ) -> (OpenMode, refreshed: Node.Seen?) {
        let now = status.map { Node.Seen($0.st) }
        if let now, state.pages == now, state.unheardWriters == 0 { return (.cached(keeps: true), nil) }
        let known = now.flatMap { $0.isSettled && state.unheardWriters == 0 ? $0 : nil }
        if let content, content.seen == now, state.mayStore(content.seen),
            content.bytes.withUnsafeBytes({ session.notifier.storeNow($0, of: table.id(of: node)) }) {
            state.pages = known
            return (.cached(keeps: true), nil)
        }
        state.pages = nil
        // Changed from outside: its size goes with what is read.
        if let now, now != state.told { session.notifier.attributesChangedNow(of: table.id(of: node)) }
        return (.cached(keeps: false), known)
    }

    /// The kernel has opened a file, as a READ shows, and dropped the pages it had before.
    func pagesRefreshed(by handle: FileHandle) {
        guard let refreshed = handle.takeRefreshed() else { return }
        handle.node.state.withLock { if $0.pages == nil, $0.unheardWriters == 0 { $0.pages = refreshed } }
    }

    private static func status(of descriptor: Descriptor) -> cl_status? {
        return try? FileStatus(of: descriptor)
    }
}

extension Node.State {
    /// Whether the kernel may be given the content of a file that is `now`. Without other handles no app writes meanwhile, and no
    /// READ is on its way whose page the kernel would wait for; and the kernel knows the size, beyond which its old pages stay.
    fileprivate func mayStore(_ now: Node.Seen) -> Bool {
        backing == nil && plainOpens == 0 && unheardWriters == 0 && told == now
    }
}

extension Node.Seen {
    /// Whether a later change would show in the times: not while the file system's clock may still stand at them.
    fileprivate var isSettled: Bool {
        let newest = max(modified, changed)
        let grain: Int64 = modified % 1_000_000_000 == 0 ? 2_000_000_000 : 20_000_000
        return newest < Clock.now - grain
    }
}
