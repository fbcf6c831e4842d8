import CLinux
import Glibc
public import StorePrimitives
import SystemPackage

extension WorkingCopy {
    /// Makes this copy's content that of the document's own inode: for who goes on using that inode, a `tail -f`, a live
    /// writer, a second name. Who reads meanwhile may see a part of each version.
    ///
    /// The copy is named and the publication logged first, both durably: a crash from then on is completed at the next mount. Costs
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
            let status = try FileStatus(of: target)
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

    /// Gives `target`, into which the content was published, what was written to this copy meanwhile: the bytes of `range`, and
    /// the size. Not logged.
    public func bringUpToDate(_ target: Descriptor, in range: Range<Int64>) throws(Errno) {
        let (own, other) = (try FileStatus(of: file), try FileStatus(of: target))
        let end = min(range.upperBound, Int64(own.st.st_size))
        var offset = range.lowerBound
        try withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { (buffer) throws(Errno) in
            while offset < end {
                let wanted = min(buffer.count, Int(end - offset))
                let count = try check(cl_pread(file.number, buffer.baseAddress, wanted, off_t(offset)))
                guard count > 0 else { break }
                var written = 0
                while written < count {
                    written += try check(
                        cl_pwrite(target.number, buffer.baseAddress! + written, count - written, off_t(offset) + off_t(written)))
                }
                offset += Int64(count)
            }
        }
        if own.st.st_size != other.st.st_size { _ = try check(cl_ftruncate(target.number, own.st.st_size)) }
    }

    private func logged(
        at path: StorePath, in folder: Descriptor, into target: Descriptor, _ status: cl_status,
        replacing: (_ willWrite: () -> Void) throws(Errno) -> Void
    ) throws(Errno) {
        guard let name = path.lastName else { throw .isDirectory }
        let hidden: HiddenPlace
        do throws(Errno) {
            (hidden, _) = try nameHidden(in: folder)
        } catch .permissionDenied, .notPermitted {
            // The folder takes no files any more. As on a plain folder then: a crash in the middle leaves it in parts.
            return try replacing {}
        }
        let identity = FileIdentity(status)
        let started = cl_realtime_coarse_ns()
        let publication = PendingPublication(
            folder: path.parent, name: name, hidden: hidden.name, inode: identity.inode, birth: identity.birth,
            size: Int64(status.st.st_size), modified: saturatedNanoseconds(status.st.st_mtim), started: started,
            until: started + PublicationLog.Lease.length)
        var lease: PublicationLog.Lease
        do throws(Errno) {
            _ = try check(cl_fsync(file.number, 0))
            try makeDurable(namesIn: hidden.folder)
            lease = try versions.pending.begin(publication)
        } catch {
            dropName()
            throw error
        }
        // Also when it failed: nobody is to complete this later, over what was written since. A publication without its version is
        // none, so the name goes first.
        defer {
            dropName()
            lease.finish()
        }
        try replacing { lease.renew() }
        _ = try check(cl_fsync(target.number, 0))
    }
}
