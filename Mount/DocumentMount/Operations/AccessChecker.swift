import CLinux
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// What a user may access in the store: virtual folders, queries and events show nothing else.
///
/// The kernel answers: the thread takes the user's identity and groups, gives up the capabilities that pass permissions by,
/// and asks faccessat(2). Where it cannot become the user, nothing is accessible.
struct AccessChecker: Sendable {
    let store: SharedStore
    /// Whether the daemon serves others than the user it runs as.
    let actsForCallers: Bool
    /// Whether one user alone can use the mount: what the kernel keeps for one caller is shown to nobody else.
    let isForOneUser: Bool

    /// Whether nothing is kept from the caller that the daemon itself may see: root, and whoever the daemon runs as.
    func isUnlimited(_ caller: Credentials) -> Bool { caller.uid == 0 || caller.uid == geteuid() }

    private let threads = ThreadGroups()

    init(store: SharedStore, actsForCallers: Bool, isForOneUser: Bool) {
        self.store = store
        self.actsForCallers = actsForCallers
        self.isForOneUser = isForOneUser
    }

    /// The credentials of who makes a request of the kernel, which names user and group but not the further groups.
    func credentials(of caller: Caller) -> Credentials {
        let groups = actsForCallers && caller.uid != 0 ? threads.groups(of: caller) : []
        return Credentials(uid: caller.uid, gid: caller.gid, groups: groups)
    }

    /// Which of the documents the caller may use in the way of `mode` (R_OK, W_OK), in their order. None on a file system that a server answers for
    /// (`SharedStore`): that may be another user's, and is not to keep the caller waiting.
    func filter(_ paths: [StorePath], _ caller: Credentials, mode: Int32 = R_OK) -> [Bool] {
        guard !paths.isEmpty else { return [] }
        return paths.inHalves(on: "quire-access") { paths in
            acting(as: caller) { paths.map { (try? accessed($0, mode)) != nil } } ?? paths.map { _ in false }
        }
    }

    func may(_ caller: Credentials, _ path: StorePath, _ mode: Int32) -> Bool { filter([path], caller, mode: mode)[0] }

    /// Holds on to what stands at a path if the caller may use it, so that more can be asked of the same file; else nil.
    func held(_ path: StorePath, by caller: Credentials, _ mode: Int32) -> Descriptor? { try? heldOrError(path, by: caller, mode) }

    /// As `held`. Throws ENOENT if nothing stands there, else EACCES.
    func heldOrError(_ path: StorePath, by caller: Credentials, _ mode: Int32) throws(Errno) -> Descriptor {
        guard let result = held([path], by: caller, mode).first else { throw .permissionDenied }
        return try result.get()
    }

    /// As `heldOrError`, of many with one change of identity. A descriptor each.
    func held(_ paths: some Collection<StorePath>, by caller: Credentials, _ mode: Int32) -> [Result<Descriptor, Errno>] {
        let found = acting(as: caller) {
            paths.map { path -> Result<Descriptor, Errno> in
                do throws(Errno) { return .success(try accessed(path, mode)) } catch {
                    return .failure(error == .noSuchFileOrDirectory || error == .notDirectory ? .noSuchFileOrDirectory : .permissionDenied)
                }
            }
        }
        return found ?? paths.map { _ in .failure(.permissionDenied) }
    }

    /// Throws EACCES if the caller may not use what stands at a path in the way of `mode`, and ENOENT if nothing stands there: a program may
    /// come by a name that the kernel has kept for a moment too long.
    func check(_ path: StorePath, by caller: Credentials, _ mode: Int32) throws(Errno) { _ = try heldOrError(path, by: caller, mode) }

    /// Whether the caller may use a file in the way of `mode`. An O_PATH descriptor will do.
    func may(_ caller: Credentials, use file: Descriptor, _ mode: Int32) -> Bool {
        acting(as: caller) { cl_effective_access(file.number, mode) == 0 } ?? false
    }

    /// Whether the caller may give a name in a folder to another file, or to none: rename(2) and unlink(2). In a sticky folder that takes
    /// the owner of the folder, or of `old`, which has the name. A daemon that is not to become others leaves it to the kernel.
    func mayChangeName(_ caller: Credentials, in folder: Descriptor, of old: Descriptor?) -> Bool {
        if isUnlimited(caller) || !actsForCallers { return true }
        var (parent, status) = (cl_status(), cl_status())
        guard cl_statx_fd(folder.number, &parent) == 0 else { return false }
        if parent.st.st_mode & S_ISVTX != 0, parent.st.st_uid != caller.uid, let old {
            guard cl_statx_fd(old.number, &status) == 0, status.st.st_uid == caller.uid else { return false }
        }
        return may(caller, use: folder, W_OK | X_OK)
    }

    /// Whether the caller may use many files, each in a way of its own, with one change of identity. True for whoever nothing is kept from.
    func filter(_ files: [(file: Descriptor, mode: Int32)], _ caller: Credentials) -> [Bool] {
        if files.isEmpty || isUnlimited(caller) { return files.map { _ in true } }
        return acting(as: caller) { files.map { cl_effective_access($0.file.number, $0.mode) == 0 } } ?? files.map { _ in false }
    }

    /// Whether the caller may read any of the documents.
    func mayReadAny(of paths: [StorePath], _ caller: Credentials) -> Bool {
        guard !paths.isEmpty else { return false }
        return acting(as: caller) { paths.contains { (try? accessed($0, R_OK)) != nil } } ?? false
    }

    /// Runs as the caller; nil, without having run, if this thread cannot become the caller.
    private func acting<Result>(as caller: Credentials, _ body: () -> Result) -> Result? {
        if isUnlimited(caller) { return body() }
        guard actsForCallers else { return nil }
        cl_forget_assumed()
        defer {
            for capability in Self.passingCapabilities { _ = cl_raise_capability(capability, 1) }
            _ = cl_set_fs_identity(geteuid(), getegid())
            _ = cl_set_groups(0, nil)
        }
        // Without it taking the identity drops the capabilities, and giving it back raises them again: no harm.
        _ = cl_keep_capabilities()
        guard cl_set_groups(caller.groups.count, caller.groups) == 0, cl_set_fs_identity(caller.uid, caller.gid) == 0,
            Self.passingCapabilities.allSatisfy({ cl_raise_capability($0, 0) == 0 })
        else { return nil }
        return body()
    }

    /// Whether a user may list the folder at a path, and it is the one meant. Nil if it is another one.
    func mayList(_ folder: StorePath, _ caller: Credentials, _ meant: FileIdentity) -> Bool? {
        // A link in a folder's place has another's permissions.
        let held = self.held(folder.appending(EntryName(".")), by: caller, R_OK | X_OK)
        guard let held else { return false }
        return FileIdentity(of: held) == meant ? true : nil
    }

    /// Who owns what is at a path; nil if nothing is.
    func owner(of path: StorePath) -> uid_t? {
        guard let held = try? store.held(path), let status = try? FileStatus(of: held) else { return nil }
        return status.st.st_uid
    }

    private func accessed(_ path: StorePath, _ mode: Int32) throws(Errno) -> Descriptor {
        let held = try store.held(path)
        guard cl_effective_access(held.number, mode) == 0 else { throw .permissionDenied }
        return held
    }

    private static let passingCapabilities = [Int32(truncatingIfNeeded: CL_CAP_DAC_OVERRIDE), Int32(truncatingIfNeeded: CL_CAP_DAC_READ_SEARCH)]
}

/// The supplementary groups of threads that made requests, as /proc has them, if it has the thread as the same user's: by the
/// time of the read the number may be another's.
private final class ThreadGroups: Sendable {
    private struct Known {
        let uid: uid_t
        let gid: gid_t
        let groups: [gid_t]
        let since: Int64
    }
    private let known = Locked<[pid_t: Known]>([:])
    private static let capacity = 256
    /// One command makes many requests, and a read of /proc costs as much as several.
    private static let lifetime: Int64 = 200_000_000

    func groups(of caller: Caller) -> [gid_t] {
        let now = Clock.now
        if let found = known.withLock({ $0[caller.thread] }), found.uid == caller.uid, found.gid == caller.gid,
            now - found.since < Self.lifetime
        {
            return found.groups
        }
        let status = ProcessStatus(of: caller.thread)
        let groups = status?.user == caller.uid ? status?.groups ?? [] : []
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll() }
            known[caller.thread] = Known(uid: caller.uid, gid: caller.gid, groups: groups, since: now)
        }
        return groups
    }
}
