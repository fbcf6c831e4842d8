import CLinux
public import DocumentStore
import Glibc
import Logging
public import StorePrimitives
public import SystemPackage

/// What the service does for `quire recover`, and what is done at the start about what an earlier daemon left.
extension MountedStore {
    /// What the caller may have back, newest first: those older than version `before`, `count` at most.
    public func keptVersions(before: UInt64?, count: Int, for caller: Credentials) -> [KeptVersion] {
        let older = versions.kept.list(for: caller.uid).filter { $0.id < before ?? .max }
        return Array(older.sorted { $0.id > $1.id }.prefix(count))
    }

    /// Throws ENOENT if there is no such version for this user, EFBIG if it was too large to be kept.
    public func keptContent(
        of id: UInt64, from offset: Int64, count: Int, for caller: Credentials
    ) throws(Errno) -> KeptVersions.Part {
        try versions.kept.read(id, at: offset, count: count, for: caller.uid)
    }

    /// Throws ENOENT if there is no such version for this user.
    public func dropKeptVersion(_ id: UInt64, for caller: Credentials) throws(Errno) {
        try versions.kept.drop(id, for: caller.uid)
    }

    /// Keeps what a document holds now, before a version is restored over it. Throws EACCES unless the caller may write it,
    /// EINVAL if it is no file, EFBIG if it is too large. The document's owner alone can have it back: nobody learns anything
    /// by this.
    public func keepPresentVersion(of path: StorePath, for caller: Credentials) throws(Errno) -> KeptVersion {
        guard recents.access.may(caller, path, W_OK) else { throw .permissionDenied }
        let number = (path.bytes + [0]).withUnsafeBytes {
            cl_open_beneath(
                fileSystem.store.number, $0.assumingMemoryBound(to: CChar.self).baseAddress!, O_RDONLY | O_NONBLOCK)
        }
        let document = Descriptor(owning: try check(number))
        var status = cl_status()
        _ = try check(cl_statx_fd(document.number, &status))
        guard status.st.st_mode & S_IFMT == S_IFREG else { throw .invalidArgument }
        let version = try versions.kept.keep(document, moving: false, document: path, saver: nil, reason: .restored, by: .daemon, chargedTo: caller.uid)
        guard version.hasContent else {
            try? versions.kept.drop(version.id, for: 0)
            throw .fileTooLarge
        }
        return version
    }

    /// Tells the log what was found of an earlier daemon's saves.
    static func report(_ recovery: VersionStore.Recovery, to log: Logger) {
        if recovery.completed > 0 {
            log.notice("completed \(recovery.completed) saves that an earlier daemon had begun to publish")
        }
        if recovery.kept > 0 {
            log.notice("\(recovery.kept) saves that an earlier daemon did not finish can be had back: quire recover")
        }
        if let reason = recovery.reason {
            log.error("\(recovery.failed) saves of an earlier daemon are left for the next mount: \(reason)")
        }
    }

    /// Looks for what earlier daemons left in the store, until it is through or `isEnding` is set.
    func sweepLeftovers() {
        _ = cl_set_thread_nice(10)
        Self.report(versions.sweep { !isEnding.load(ordering: .relaxed) }, to: log)
    }
}
