import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Requests that come with a version that another has replaced, and are meant for the document: the kernel walks the path again, or,
/// where it cannot, they are carried out on the published version.
extension SaveService {
    /// An open for reading of a version that another has replaced: has the kernel walk the path again, once, to the one that stands
    /// there now. An open without a path, as through /proc/self/fd, comes back: it is to read the published version, as on a plain folder (true).
    /// The kernel's own opens, which it makes for ioctl(2) on a descriptor, have no path either, and no O_LARGEFILE (fs/fuse/ioctl.c).
    ///
    /// - Parameter isRetry: see `takeMark`.
    func retrySuperseded(_ node: Node, flags: Int32, _ caller: Caller, isRetry: Bool) throws(Errno) -> Bool {
        guard flags & CL_O_LARGEFILE != 0 else { return false }
        guard let document = node.saved.load(), document.isSuperseded(node) || document.isExchanged(node, hiddenFrom: caller) else { return false }
        guard isRetry || !isOpenRetried(of: caller) else {
            staleRetries.note(caller.thread, flags: flags, in: document)
            throw .staleNFSFileHandle
        }
        return true
    }

    /// Whether the kernel retries the caller's open when that is answered ESTALE. Those that it makes for a listener of
    /// fanotify(7), in the listener's read(2), it does not. One read of /proc.
    private func isOpenRetried(of caller: Caller) -> Bool { caller.thread > 0 && !ProcessFacts.isReading(caller.thread) }

    /// Whether this open(2) was answered ESTALE before: it is not to be so twice. Taken once for each OPEN, by whatever that finds: left
    /// behind, the mark would be the thread's next open's.
    func takeMark(_ caller: Caller, at node: Node, flags: Int32) -> Bool {
        staleRetries.areSome && staleRetries.take(caller.thread, at: node.place, flags: flags)
    }

    /// The published version, open for reading, for an open that came with another one's node. Nil if the caller may not read it, or is to have
    /// the version that was asked for.
    func openedInstead(of node: Node, flags: Int32, _ caller: Caller) throws(Errno) -> (node: Node, file: Descriptor)? {
        // The inode that a save has kept is its working copy, which only its own programs are to have.
        guard let document = node.saved.load(), document.isExchanged(node) || isLeft(node, for: caller) else { return nil }
        for _ in 0..<Self.maximumAttempts {
            guard let published = document.state.withLock({ $0.published }), mayBeRedirected(caller, from: node, to: published, use: R_OK)
            else { return nil }
            // Replaced meanwhile, it may be found no more.
            do throws(Errno) {
                return (published, try locator.opened(published, flags: flags & Self.openFlagsKept))
            } catch .staleNFSFileHandle {}
        }
        throw .resourceBusy
    }

    /// An open of a file that has lost its last name has the kernel walk the path again, once: the path was walked before, or by an entry
    /// that the kernel has yet to forget, and another file may have the name now. An open without a path comes back, to the removed file.
    func retryRemoved(_ node: Node, flags: Int32, _ caller: Caller) throws(Errno) {
        guard node.state.withLock({ $0.isRemoved }), !staleRetries.isKnown(caller.thread, flags: flags), isOpenRetried(of: caller) else { return }
        staleRetries.note(caller.thread, at: node.place, flags: flags)
        throw .staleNFSFileHandle
    }

    /// The published version of the document that a node is a version of, with a lookup counted. A working copy stands for itself. ENOENT
    /// where the caller may not be redirected to it: the name is another file's.
    func newest(of node: Node, for caller: Caller) throws(Errno) -> Node {
        let published = node.saved.load().flatMap { document -> Node? in
            guard document.isSuperseded(node) else { return nil }
            // With the state held, and so before it is let go of.
            return document.state.withLock { state in
                if let published = state.published { table.hold(published) }
                return state.published
            }
        }
        guard let published else {
            table.hold(node)
            return node
        }
        guard mayBeRedirected(caller, from: node, to: published) else {
            table.forget(published, count: 1)
            throw .noSuchFileOrDirectory
        }
        return published
    }

    /// How long a request may be on its way on a machine that is held up, by its disk or its host.
    private static let longestRequest: Int64 = 10_000_000_000

    /// The version whose attributes are asked for or changed by a request that came with `node`: another one, if that replaced it while
    /// the request was on its way.
    func changed(_ node: Node, by caller: Caller) -> Node {
        if let standIn = standIn(for: node) { return standIn }
        guard let document = node.saved.load(), document.isSuperseded(node),
            cl_monotonic_ns() - document.replacedAt.load(ordering: .relaxed) < Self.longestRequest,
            let published = document.state.withLock({ $0.published }), mayBeRedirected(caller, from: node, to: published)
        else { return node }
        return published
    }

    /// Whether a request that the kernel has allowed on one version may be carried out on another. The kernel judges by owner, group, mode
    /// and access list of the version that it knows: they are to be the same, or the document the caller's own, who may change them.
    /// Four system calls.
    ///
    /// - Parameter use: R_OK and W_OK of an open, which may be judged anew where they are not the same.
    func mayBeRedirected(_ caller: Caller, from node: Node, to published: Node, use: Int32? = nil) -> Bool {
        if caller.uid == 0 { return true }
        guard let old = try? locator.pathDescriptor(of: node), let new = try? locator.pathDescriptor(of: published) else { return false }
        var (before, now) = (cl_status(), cl_status())
        guard cl_statx_fd(old.number, &before) == 0, cl_statx_fd(new.number, &now) == 0 else { return false }
        if now.st.st_uid == caller.uid { return true }
        let isSame = (now.st.st_uid, now.st.st_gid, now.st.st_mode) == (before.st.st_uid, before.st.st_gid, before.st.st_mode)
            && haveSameAccessList(new, old)
        return isSame || use.map { access.may(access.credentials(of: caller), use: new, $0) } ?? false
    }

    private func haveSameAccessList(_ one: Descriptor, _ other: Descriptor) -> Bool {
        guard let list = accessList(of: one) else { return false }
        return list == accessList(of: other)
    }

    /// Empty without one. Nil if it is longer than any that is met, or cannot be read.
    private func accessList(of file: Descriptor) -> [UInt8]? {
        var list = [UInt8](repeating: 0, count: 4096)
        let length = try? withProcPath(of: file) { (path) throws(Errno) in
            cl_getxattr(path, CL_ACCESS_LIST, &list, list.count)
        }
        switch length {
        case .some(-Int(ENODATA)), .some(-Int(EOPNOTSUPP)): return []
        case .some(0...): return Array(list.prefix(length ?? 0))
        default: return nil
        }
    }
}

extension SavedDocument {
    /// Whether the node is the inode that a save has kept, and the caller, who came by a name that the kernel has yet to forget, is none of
    /// that save's programs.
    fileprivate func isExchanged(_ node: Node, hiddenFrom caller: Caller) -> Bool {
        guard isActive.load(ordering: .acquiring), isExchanged(node) else { return false }
        let asker = saver(caller)
        return ifActive { _, machine in machine.lookup(asker) != node.versionID } ?? false
    }
}
