import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// Takes the snapshots that claims for reading are given, and keeps their content from being written in place.
///
/// Versions are kept by a descriptor each: a save makes a new inode and leaves them alone. What somebody writes in place at that
/// moment is copied, and so is what somebody begins to write in place later, before that.
final class SnapshotService: Sendable {
    let folder = SnapshotsFolder()
    let pins: SnapshotPins
    private let table: NodeTable
    private let locator: Locator
    private let writers: WriterTable
    private let saves: SaveService
    private let locks: LockService
    private let session: SessionReference
    private let access: AccessChecker
    private let privileges: Privileges
    private let shares: UserShares
    /// By which name the whole store is shown.
    private let rootName: EntryName

    init(
        rootName: EntryName, table: NodeTable, locator: Locator,
        writers: WriterTable, saves: SaveService, locks: LockService, session: SessionReference, access: AccessChecker,
        privileges: Privileges, shares: UserShares
    ) {
        self.rootName = rootName
        self.table = table
        self.locator = locator
        self.writers = writers
        self.saves = saves
        self.locks = locks
        self.session = session
        self.access = access
        self.privileges = privileges
        self.shares = shares
        pins = saves.pins
    }

    /// What a claim wants to have as it is at this moment.
    struct Item: Sendable {
        let path: StorePath
        /// It may be given as it is, if it is being written in place and can be neither cloned nor copied.
        let mayBeLive: Bool
    }

    /// Whether whom a snapshot is for works for a claim.
    typealias Membership = @Sendable (ClaimID) -> Bool

    /// Takes the snapshot of a claim and returns where its items are; until `drop`. With no lock held; reads the folders among the
    /// items, and copies what is written in place.
    /// - Parameter awaitOpens: waits for the opens for writing that are on their way; false if they take too long.
    func take(
        _ items: [Item], for id: ClaimID, of holder: Credentials, worksFor: @escaping Membership, awaitOpens: () -> Bool
    ) throws(SnapshotRefusal) -> [StorePath] {
        let share = share(of: holder)
        let walk = try standing(items, key: Snapshot.key(of: id), for: share, worksFor)
        let documents = walk.documents
        do throws(SnapshotRefusal) {
            guard awaitOpens() else { throw SnapshotRefusal(items[0].path, "opening files for writing takes too long") }
            awaitPublications(into: documents)
            try copyWhatIsWritten(documents, items)
        } catch {
            for document in documents { pins.unpin(document) }
            throw error
        }
        let snapshot = Snapshot(
            id: id, share: share, zip(items, walk.found).map { ($0.path.lastName ?? rootName, $1) }, documents: documents)
        folder.add(snapshot)
        return snapshot.places
    }

    private func share(of holder: Credentials) -> SnapshotShare {
        SnapshotShare(holder, actingUser: privileges.user(holder), shares)
    }

    /// Takes the snapshot of one document that nobody writes, with a few system calls; nil if there is more to it than that.
    func takeAtOnce(_ item: Item, for id: ClaimID, of holder: Credentials, worksFor: @escaping Membership) -> StorePath? {
        let share = share(of: holder)
        var walk = SnapshotWalk(table: table, pins: pins, access: access, for: share, takesFolders: false, worksFor: worksFor)
        guard let name = item.path.lastName,
            let found = try? walk.item(at: item.path, key: Snapshot.key(of: id) + [0])
        else { return nil }
        if let document = walk.documents.first, let node = table.known(document.pinned),
            node.saved.load()?.isActive.load(ordering: .acquiring) ?? false || node.state.withLock({ $0.writers > 0 })
        {
            pins.unpin(document)
            return nil
        }
        let snapshot = Snapshot(id: id, share: share, [(name, found)], documents: walk.documents)
        folder.add(snapshot)
        return snapshot.places[0]
    }

    /// The claim has ended. Who has something of its snapshot open goes on reading that. Returns the snapshot, to be let go of where
    /// the disk may be waited for.
    func drop(_ id: ClaimID) -> Snapshot? {
        guard let snapshot = folder.remove(id) else { return nil }
        for document in snapshot.documents { pins.unpin(document) }
        return snapshot
    }

    // MARK: - What stands there

    /// All items at one instant.
    private func standing(
        _ items: [Item], key: [UInt8], for share: SnapshotShare, _ worksFor: @escaping Membership
    ) throws(SnapshotRefusal) -> (found: [(any VirtualItem)?], documents: [SnapshotEntry]) {
        for _ in 0..<Self.walks {
            var walk = SnapshotWalk(table: table, pins: pins, access: access, for: share, worksFor: worksFor)
            var found: [(any VirtualItem)?] = []
            var place = items[0].path
            var isStill = false
            do throws(Errno) {
                for item in items {
                    place = item.path
                    found.append(try walk.item(at: item.path, key: key + [0]))
                }
                isStill = try locator.names.still { () throws(Errno) in walk.isStill() }
            } catch {
                for document in walk.documents { pins.unpin(document) }
                let isFull = error == .tooManyOpenFiles
                let full = "has more files and folders than there is room for (snapshotFiles in `quire status`)"
                throw SnapshotRefusal(place, isFull ? full : "\(error)")
            }
            if isStill { return (found, walk.documents) }
            for document in walk.documents { pins.unpin(document) }
            share.end()
        }
        throw SnapshotRefusal(items[0].path, "files are made, moved or removed in it all the time")
    }

    private static let walks = 8

    /// Who puts a save's content into a document's own inode at this moment did not see the pin.
    private func awaitPublications(into documents: [SnapshotEntry]) {
        guard saves.hasActiveDocuments else { return }
        for entry in documents {
            guard let document = table.known(entry.pinned)?.saved.load(), document.isActive.load(ordering: .acquiring)
            else { continue }
            document.awaitPublication()
        }
    }

    // MARK: - What is written in place

    private func copyWhatIsWritten(_ documents: [SnapshotEntry], _ items: [Item]) throws(SnapshotRefusal) {
        let written = writtenNow
        let live = documents.compactMap { document in written[document.pinned].map { (document, $0) } }
        guard !live.isEmpty else { return }
        for (_, handles) in live { bringStoresHome(handles) }
        let owner = try holdLocks(live)
        defer {
            locks.dropShared(owner)
            try? privileges.ownUser.assume()
        }
        for (document, handles) in live {
            do throws(FrozenCopyFailure) {
                try document.detach(losesContent: false) { (content, folder) throws(FrozenCopyFailure) in
                    try pins.copy(content, in: folder, isStill: false, for: document.share)
                }
            } catch {
                let path = handles[0].node.path ?? items[0].path
                let mayBeLive = items.contains { $0.mayBeLive && ($0.path == path || path.isInside($0.path)) }
                guard mayBeLive else { throw SnapshotRefusal(path, Self.text(error), writer: handles[0].caller.thread) }
                document.stayLive()
            }
        }
    }

    /// The handles that write a file in place, by the file.
    private var writtenNow: [FileIdentity: [FileHandle]] {
        var result: [FileIdentity: [FileHandle]] = [:]
        // Files that a server answers for are in no snapshot, and the server is not asked.
        for handle in writers.current where saves.reason(of: handle) != nil && handle.descriptor.mountKind != .served {
            guard let status = try? FileStatus(of: handle.descriptor) else { continue }
            result[FileIdentity(status), default: []].append(handle)
        }
        return result
    }

    /// What was stored through a mapping may be in the kernel's pages only.
    private func bringStoresHome(_ handles: [FileHandle]) {
        for handle in handles where handle.mayBeMappedForWriting && !handle.hasBacking {
            session.current?.notifier.contentsChanged(ofFile: handle.node, table, waitingAtMost: Self.storeTimeout)
        }
    }

    /// Databases lock what they change: not in the midst of that. A lock of a whole document is held by programs for as long as they
    /// show it, and says nothing.
    private func holdLocks(_ live: [(SnapshotEntry, [FileHandle])]) throws(SnapshotRefusal) -> LockOwner {
        let owner = LockOwner.ofSnapshot
        let documents = live.map { LockedDocument($0.1[0].node.lockKey) }
        var conflict: AdvisoryLock?
        locks.unlocked.wait(seconds: Self.lockTimeout) {
            conflict = locks.holdShared(documents, as: owner)
            return conflict.map { $0.range == .all } ?? true
        }
        guard let conflict, conflict.range != .all else { return owner }
        let path = live.first { $0.1[0].node.lockKey == conflict.document.rawValue }?.1[0].node.path
        throw SnapshotRefusal(path ?? .root, "a part of it is locked for being changed", writer: conflict.pid)
    }

    private static let storeTimeout = 1.0
    private static let lockTimeout = 1.0

    private static func text(_ failure: FrozenCopyFailure) -> String {
        switch failure {
        case .tooLarge: "it is being written in place, and too large to be copied (\(VersionStore.largestFrozenCopy >> 20) MiB)"
        case .keepsChanging: "it is being written in place, and changes faster than it can be copied"
        case .overShare: "it is being written in place, and you have as many bytes of copies as you may (snapshotBytes in `quire status`)"
        case .failed(let errno): "it is being written in place, and cannot be copied: \(errno)"
        }
    }
}

/// Why there is no snapshot.
struct SnapshotRefusal: Error, Hashable {
    let path: StorePath
    let reason: String
    /// The thread that is in the way.
    let writer: pid_t?

    init(_ path: StorePath, _ reason: String, writer: pid_t? = nil) { (self.path, self.reason, self.writer) = (path, reason, writer) }
}
