import CLinux
import DocumentStore
import Glibc
import Logging
public import MountProtocol
import StorePrimitives
import SystemPackage

/// Versions to recover, and what is done at the start about what an earlier daemon left.
extension MountedStore {
    /// Some 300 bytes each in a reply.
    private static var mostVersions: Int { 500 }

    public func keptVersions(before: UInt64?, for peer: Peer) throws(ServiceFailure) -> [RecoverableVersion] {
        let older = versions.kept.list(for: peer.uid).filter { $0.id < before ?? .max }
        return older.sorted { $0.id > $1.id }.prefix(Self.mostVersions).map { version in
            RecoverableVersion(
                id: version.id, path: place(version.document), time: Double(version.time) / 1e9,
                size: version.size, hasContent: version.hasContent,
                saver: version.saver.map { .init(pid: $0.pid, process: $0.name, uid: $0.uid) },
                reason: version.reason.word, explanation: version.reason.description, owner: version.owner,
                group: version.group, mode: version.mode)
        }
    }

    public func keptContent(of id: UInt64, from offset: Int64, count: Int, for peer: Peer) throws(ServiceFailure) -> RecoveredPart {
        do throws(Errno) {
            let part = try versions.kept.read(id, at: offset, count: count, for: peer.uid)
            return RecoveredPart(offset: part.offset, bytes: part.bytes)
        } catch .noSuchFileOrDirectory {
            throw Self.noSuchVersion(id)
        } catch .fileTooLarge {
            throw .failed("version \(id) was too large to be kept")
        } catch {
            throw .failed("version \(id) cannot be read: \(error)")
        }
    }

    public func dropKeptVersion(_ id: UInt64, for peer: Peer) throws(ServiceFailure) {
        do throws(Errno) {
            try versions.kept.drop(id, for: peer.uid)
        } catch {
            throw Self.noSuchVersion(id)
        }
    }

    public func keepPresentVersion(of document: DocumentPath, for peer: Peer) throws(ServiceFailure) -> UInt64? {
        let path = try inside(document)
        guard recents.access.may(Credentials(peer), path, W_OK) else {
            throw .permissionDenied("\(document) is not yours to write")
        }
        do throws(Errno) {
            return try keepPresentVersion(of: path, chargedTo: peer.uid)
        } catch {
            throw .failed("\(document): what is there cannot be kept: \(error)")
        }
    }

    /// Keeps what a document holds now, before a version is restored over it; nil if it is too large. Throws EINVAL if it is no file. The
    /// document's owner alone can have it back: nobody learns anything by this.
    private func keepPresentVersion(of path: StorePath, chargedTo user: UInt32) throws(Errno) -> UInt64? {
        let document = try fileSystem.store.open(path, flags: O_RDONLY | O_NONBLOCK)
        let status = try FileStatus(of: document)
        guard status.isRegular else { throw .invalidArgument }
        let version = try versions.kept.keep(
            document, moving: false, document: path, saver: nil, reason: .restored, by: .daemon, chargedTo: user)
        if version.hasContent { return version.id }
        try? versions.kept.drop(version.id, for: 0)
        return nil
    }

    private static func noSuchVersion(_ id: UInt64) -> ServiceFailure { .notFound("version \(id) to recover") }

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
