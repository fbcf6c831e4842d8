import CLinux
import Glibc
public import StorePrimitives
import SystemPackage

extension WorkingCopy {
    /// Has the content on disk before a name can lead to it, where the file system needs that (`FileSystemTraits.Ordering`). What
    /// comes before `publish`; may wait for the disk, so nothing that others wait for should be held.
    public func writeOut() throws(Errno) {
        try traits.ordering.writeOut(file)
    }

    /// Has the disk begin with what `writeOut` will wait for. Waits only where the disk takes no more requests.
    public func beginWritingOut() {
        if traits.ordering == .writeOut { cl_begin_write_out(file.number) }
    }

    /// Throws ENOSPC or EDQUOT if the acting user's next write to the copy may fail. For one that the kernel writes itself for a program:
    /// only that program learns that a write has failed. Makes a file of `VersionStore.largestWrite` without a name for a moment.
    public func expectRoom() throws(Errno) {
        var system = cl_file_system()
        _ = try check(cl_file_system(file.number, &system))
        if system.available < VersionStore.largestWrite { throw .noSpace }
        // The memory that a tmpfs would take has its price.
        if traits.ordering == .nothing { return }
        guard let folder = naming.withLock({ $0.place?.folder }) else { return }
        let number = cl_openat(folder.number, ".", CL_O_TMPFILE | O_WRONLY, 0o600)
        guard number >= 0 else { return }
        let result = withExtendedLifetime(Descriptor(owning: number)) { cl_fallocate($0.number, 0, 0, off_t(clamping: VersionStore.largestWrite)) }
        if result == -ENOSPC || result == -EDQUOT { throw Errno(rawValue: -result) }
    }

    /// Makes this the document's content, after `writeOut`: renames it over `name`.
    ///
    /// What others changed of the document's attributes since the save began is merged; where the saver changed the same one,
    /// its own stays. Outside processes may still replace the name between the check and the rename, some microseconds.
    ///
    /// - Parameters:
    ///   - name, folder: where the document stands now.
    ///   - expected: the version to be replaced, if it is another than the one the save began with.
    ///   - keepingTimes: the saver set the times itself. Else they are set to now if the last write is more than 50 ms ago, so
    ///     that `make` sees the change.
    ///   - times: what others set meanwhile, unless the saver did afterwards.
    ///   - merged: called before the rename if attributes were merged: the kernel may know the copy's from before.
    ///
    /// statx, statx, linkat, renameat. To be followed by `makeDurable` if the name is to survive a power cut.
    public func publish(
        as name: EntryName, in folder: Descriptor, replacing expected: FileIdentity? = nil, keepingTimes: Bool = false,
        _ times: SetTimes? = nil, merged: () -> Void = {}
    ) throws(PublishFailure) {
        let published = try checked(name, in: folder, is: expected ?? documentIdentity)
        if try mergeAttributes(of: published, name, in: folder) { merged() }
        do throws(Errno) {
            let isSet = try times.map(take) ?? false
            if !keepingTimes, !isSet { try bringTimeUpToDate() }
            let (hidden, isNew) = try nameHidden(in: folder)
            do throws(Errno) {
                _ = try check(
                    hidden.name.withCString { old in
                        name.withCString { new in cl_renameat2(hidden.folder.number, old, folder.number, new, 0) }
                    })
                naming.withLock { $0 = Naming(place: nil, isOver: true) }
            } catch {
                if isNew { dropName() }
                throw error
            }
        } catch .permissionDenied, .notPermitted, .resourceBusy, .improperLink {
            throw .nameRefused
        } catch {
            throw .failed(error)
        }
    }

    /// The status of the file that stands under `name`. Throws if that is another one than `expected`, or has a second name.
    func checked(
        _ name: EntryName, in folder: Descriptor, is expected: FileIdentity
    ) throws(PublishFailure) -> cl_status {
        let status: cl_status
        do throws(Errno) {
            status = try FileStatus(of: name, in: folder)
        } catch {
            throw error == .noSuchFileOrDirectory ? .removed : .failed(error)
        }
        guard FileIdentity(status) == expected else { throw .replaced }
        guard status.st.st_nlink == 1 else { throw .linked }
        return status
    }

    /// No system call when nothing can have changed; two when the status change time cannot tell.
    private func mergeAttributes(of published: cl_status, _ name: EntryName, in folder: Descriptor) throws(PublishFailure) -> Bool {
        let isSame = FileIdentity(published) == documentIdentity
        let changed = published.st.st_ctim, before = base.status.st.st_ctim
        if isSame, !baseIsYoung, changed.tv_sec == before.tv_sec, changed.tv_nsec == before.tv_nsec { return false }
        do throws(AttributeFailure) {
            let current = isSame ? document : try opened(name, in: folder)
            var theirs = AttributeChanges(from: base, to: try documentAttributes(current, published))
            if theirs.isEmpty { return false }
            theirs.leaveOut(AttributeChanges(from: base, to: try ownAttributes()))
            try theirs.apply(to: file)
            return true
        } catch {
            throw .attribute(error)
        }
    }

    private func opened(_ name: EntryName, in folder: Descriptor) throws(AttributeFailure) -> Descriptor {
        let flags = O_NOFOLLOW | O_NONBLOCK | CL_O_LARGEFILE
        do throws(Errno) {
            do throws(Errno) {
                return try .named(name, in: folder, flags: flags | O_RDONLY)
            } catch .permissionDenied {
                return try .named(name, in: folder, flags: flags | O_WRONLY)
            }
        } catch {
            throw AttributeFailure(.extendedAttribute, error)
        }
    }

    private static let lateNanoseconds: Int64 = 50_000_000

    private func bringTimeUpToDate() throws(Errno) {
        // In a short save the last write cannot be long ago.
        guard cl_realtime_coarse_ns() &- time > Self.lateNanoseconds else { return }
        let status = try FileStatus(of: file)
        guard cl_realtime_coarse_ns() &- saturatedNanoseconds(status.st.st_mtim) > Self.lateNanoseconds else { return }
        let times = [timespec(tv_sec: 0, tv_nsec: CL_UTIME_OMIT), timespec(tv_sec: 0, tv_nsec: CL_UTIME_NOW)]
        _ = try check(cl_futimens(file.number, times))
    }

    /// Has the names in a folder survive a power cut. Waits for the disk.
    public func makeDurable(namesIn folder: Descriptor) throws(Errno) {
        if case .nothing = traits.ordering { return }
        let readable: Descriptor
        do throws(Errno) {
            readable = try Descriptor(opening: ".", in: folder, flags: O_RDONLY | O_DIRECTORY)
        } catch .permissionDenied {
            // A folder that may be searched and not read: the file's own sync takes its name along on journaling systems.
            _ = try check(cl_fsync(file.number, 0))
            return
        }
        _ = try check(cl_fsync(readable.number, 0))
    }
}
