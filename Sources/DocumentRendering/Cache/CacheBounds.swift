import CLinux
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// Bounds what a cache of several users' pictures takes on disk, for the owner of what was rendered and for all together
/// (`BoundedResource.thumbnailBytes`). The files belong to whom they count for, so that every daemon that uses the cache, now and after
/// a restart, counts the same; nobody but root reaches them.
///
/// A thread, `quire-cache`, counts the files when the daemon begins, and again when somebody's are over the bound or the daemon has
/// written a sixteenth of it since, for it does not see what other daemons write. In between it counts what it writes and removes
/// itself. Lookups cost nothing, a picture that is rendered some system calls.
final class CacheBounds: Sendable {
    private struct State {
        /// Bytes since the last count began.
        var written = 0
        /// What was written or removed since then; nil if none is under way.
        var changed: Set<String>?
    }
    private let folders: [String]
    private let shares: UserShares
    /// Leaf; held while a file takes its name or is removed, so that each is counted once.
    private let state = Mutex(State())
    private let loop = LoopThread()

    /// - Parameter folders: in which the pictures are.
    init(folders: [String], shares: UserShares) { (self.folders, self.shares) = (folders, shares) }

    private var bound: BoundedResource.Bound { shares.bound(of: .thumbnailBytes) }

    func start() {
        loop.start("quire-cache") { [self] in
            _ = cl_set_thread_nice(19)
            _ = cl_set_thread_io_idle()
            // Of whichever thread this one was started by nothing is to stay.
            _ = cl_set_fs_identity(geteuid(), getegid())
            while !loop.isStopping {
                count()
                loop.sleep()
            }
        }
    }

    func stop() { loop.stop() }

    /// Counts what there is, and removes what is over the bounds.
    func count() {
        state.withLock { $0 = State(changed: []) }
        var found = CachedFiles(in: folders, of: shares.accounts) { !loop.isStopping }
        guard !loop.isStopping else { return }
        found.trim(to: bound)
        state.withLock { state in
            found.refresh(at: state.changed.take() ?? [])
            shares.set(.thumbnailBytes, to: found.amounts)
        }
    }

    /// Gives a file that is being written to whom it counts for. Throws EDQUOT if that user's quota is used up.
    func give(_ file: Descriptor, to owner: uid_t) throws(Errno) {
        guard cl_fchown(file.number, owner, .max) == -EDQUOT else { return }
        throw .diskQuotaExceeded
    }

    /// Has a file take its name, or removed, and counts what that changes.
    func changing<Result>(_ path: String, _ change: () -> Result) -> Result {
        state.withLock { state in
            let old = CachedFiles.status(path)
            let result = change()
            let new = CachedFiles.status(path)
            state.changed?.insert(path)
            if let old { shares.note(.thumbnailBytes, -CachedFiles.bytes(old), for: old.st.st_uid) }
            if let new {
                shares.note(.thumbnailBytes, CachedFiles.bytes(new), for: new.st.st_uid)
                state.written = state.written.adding(clamping: CachedFiles.bytes(new))
                if isTooMuch(of: new.st.st_uid) || state.written > bound.forUser / 16 { loop.wake() }
            }
            return result
        }
    }

    private func isTooMuch(of owner: uid_t) -> Bool {
        shares.use(of: .thumbnailBytes, by: owner) > bound.forUser || shares.use(of: .thumbnailBytes) > bound.forAll
    }

    /// The bounds for a cache in a folder, which need not be there yet: a tenth of its file system for all, a quarter of that for one
    /// user, and the table's at most.
    static func bound(for folder: String) -> BoundedResource.Bound {
        let most = BoundedResource.thumbnailBytes.bound
        var (place, status) = (folder, statvfs())
        while statvfs(place, &status) != 0 {
            guard errno == ENOENT, let cut = place.lastIndex(of: "/"), cut != place.startIndex else { return most }
            place = String(place[..<cut])
        }
        let forAll = min(most.forAll, Int(clamping: UInt64(status.f_blocks).multiplied(clamping: UInt64(status.f_frsize)) / 10))
        return BoundedResource.Bound(forUser: min(most.forUser, forAll / 4), forAll: forAll)
    }
}
