import CLinux
import Glibc
public import StorePrimitives
import SystemPackage

extension WorkingCopy {
    /// Makes this copy's content that of the document's own inode: for who goes on using that inode, a `tail -f`, a live
    /// writer, a second name. Who reads meanwhile may see a part of each version.
    ///
    /// The copy is named and the intent logged first, both durably: a crash from then on is completed at the next mount. Costs
    /// three syncs and the copying; must not be called where others wait. Afterwards the copy is as discarded.
    ///
    /// - Parameters:
    ///   - path: where the document stands now.
    ///   - folder: the open folder of `path`.
    ///   - target: the document, open for writing; if nil, `document`, which must be.
    ///   - keepingTimes: the saver set the times itself.
    /// Throws the errno of what failed. ENOSPC and EDQUOT come before the document was touched; after another error during
    /// the copying, EIO say, it is in parts, and this copy still whole.
    public func publishInPlace(
        at path: StorePath, in folder: Descriptor, into target: Descriptor? = nil, keepingTimes: Bool = false
    ) throws(PublishFailure) {
        let target = target ?? document
        let own: VersionAttributes
        do throws(AttributeFailure) { own = try ownAttributes() } catch { throw .attribute(error) }
        let changes = AttributeChanges(from: base, to: own)
        do throws(Errno) {
            try FileCopy.reserve(for: file, in: target)
            // After that: reserving is a modification to some file systems.
            let status = try OpenFolder.status(of: target)
            // Without a name nobody will look for it after a crash.
            if status.st.st_nlink == 0 {
                try? changes.apply(to: target)
                try FileCopy.copy(file, to: target)
            } else {
                try logged(at: path, in: folder, into: target, status) { (willWrite) throws(Errno) in
                    // Before the content: what was made secret must be so when it comes.
                    do throws(AttributeFailure) { try changes.apply(to: target) } catch { throw error.errno }
                    try FileCopy.copy(file, to: target, willWrite: willWrite)
                }
            }
            if keepingTimes { _ = try check(cl_futimens(target.number, [own.status.st.st_atim, own.status.st.st_mtim])) }
        } catch {
            throw .failed(error)
        }
    }

    private func logged(
        at path: StorePath, in folder: Descriptor, into target: Descriptor, _ status: cl_status,
        replacing: (_ willWrite: () -> Void) throws(Errno) -> Void
    ) throws(Errno) {
        guard let name = path.lastName else { throw .isDirectory }
        let hidden = try nameHidden(in: folder)
        let identity = FileIdentity(status)
        let started = cl_realtime_coarse_ns()
        let intent = PublishIntent(
            folder: path.parent, name: name, hidden: hidden.name, inode: identity.inode, birth: identity.birth,
            size: Int64(status.st.st_size), modified: saturatedNanoseconds(status.st.st_mtim), started: started,
            until: started + IntentLog.Lease.length)
        var lease: IntentLog.Lease
        do throws(Errno) {
            _ = try check(cl_fsync(file.number, 0))
            try syncFolder(hidden.folder)
            lease = try versions.intents.begin(intent)
        } catch {
            Self.unlink(hidden)
            throw error
        }
        // Also when it failed: nobody is to complete this later, over what was written since. An intent without its version is
        // none, so the name goes first.
        defer {
            Self.unlink(hidden)
            lease.finish()
        }
        try replacing { lease.renew() }
        _ = try check(cl_fsync(target.number, 0))
    }
}
