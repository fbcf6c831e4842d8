import CLinux
import DocumentStore
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// The inodes that snapshots show. Whoever is about to write one in place says so here first: an open for writing, a
/// truncation, a publication into the document's own inode.
final class SnapshotPins: Sendable {
    /// Leaf.
    private let entries = Locked<[FileIdentity: [ObjectIdentifier: SnapshotEntry]]>([:])
    private let count = Atomic<Int>(0)
    private let versions: VersionStore
    private let log: Logger

    init(versions: VersionStore, log: Logger) { (self.versions, self.log) = (versions, log) }

    func pin(_ entry: SnapshotEntry) {
        entries.withLock { entries in
            entries[entry.pinned, default: [:]][ObjectIdentifier(entry)] = entry
            count.add(1, ordering: .sequentiallyConsistent)
        }
    }

    func unpin(_ entry: SnapshotEntry) {
        entries.withLock { entries in
            guard entries[entry.pinned]?.removeValue(forKey: ObjectIdentifier(entry)) != nil else { return }
            if entries[entry.pinned]?.isEmpty == true { entries[entry.pinned] = nil }
            count.subtract(1, ordering: .relaxed)
        }
    }

    /// How many there are. One atomic load.
    var total: Int { count.load(ordering: .sequentiallyConsistent) }

    /// A file is about to be written in place: what snapshots show of it is copied before. One atomic load if there are none.
    /// The copies are made by, and count for, those whom the snapshots are for: one for each. `user` is who writes, and whom the
    /// thread acts for afterwards.
    func willWrite(_ file: Descriptor, by user: ActingUser) {
        guard total > 0, let status = try? FileStatus(of: file) else { return }
        let identity = FileIdentity(status)
        let pinned = entries.withLock { entries in entries[identity].map { Array($0.values) } ?? [] }
        guard !pinned.isEmpty else { return }
        defer { try? user.assume() }
        var copies: [uid_t: FrozenContent] = [:]
        for entry in pinned {
            do throws(FrozenCopyFailure) {
                try entry.detach(losesContent: true) { (content, folder) throws(FrozenCopyFailure) in
                    if let known = copies[entry.share.holder.uid] { return known }
                    let made = try copy(content, in: folder, isStill: true, for: entry.share)
                    copies[entry.share.holder.uid] = made
                    return made
                }
            } catch {
                log.warning("a document in a snapshot is written in place and could not be copied before: it is lost to the snapshot")
            }
        }
    }

    /// The calling thread acts for whom the copy is for afterwards.
    func copy(
        _ content: Descriptor, in folder: Descriptor, isStill: Bool, for share: SnapshotShare
    ) throws(FrozenCopyFailure) -> FrozenContent {
        let readable: Descriptor
        do throws(Errno) {
            readable = try withProcPath(of: content) { (path) throws(Errno) in try Descriptor(opening: path, flags: O_RDONLY) }
        } catch {
            throw .failed(error)
        }
        return try FrozenContent(of: readable, in: folder, isStill: isStill, for: share, versions)
    }
}
