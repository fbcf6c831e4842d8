import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// The folder `.quire-snapshots/ID`: the items of one claim as they were when it was granted.
final class Snapshot: VirtualItem {
    let id: ClaimID
    let share: SnapshotShare
    /// Where the items are in the mount, in the order they were asked for.
    let places: [StorePath]
    /// Leaf. Nil when the claim has ended.
    private let listing: Mutex<VirtualListing?>
    private let made = timespec(tv_sec: time(nil), tv_nsec: 0)
    /// The regular files in it, which are pinned.
    let documents: [SnapshotEntry]

    init(
        id: ClaimID, share: SnapshotShare, _ items: [(name: EntryName, item: (any VirtualItem)?)], documents: [SnapshotEntry]
    ) {
        self.id = id
        self.share = share
        self.documents = documents
        var listing = VirtualListing(generation: 0)
        places = items.map { name, item in
            let folder = StorePath.root.appending(SnapshotsFolder.name).appending(EntryName("\(id.rawValue)"))
            // Where there is nothing, there is nothing in the snapshot.
            guard let item else { return folder.appending(name) }
            listing.add(name, item)
            return folder.appending(listing.entries.last?.name ?? name)
        }
        self.listing = Mutex(listing)
    }

    /// The claim has ended: closes what the snapshot keeps, for which the disk may be waited. The kernel may remember the snapshot for
    /// long.
    func end() {
        var items = listing.withLock { listing in
            defer { listing = nil }
            return listing?.entries.map(\.item) ?? []
        }
        while let item = items.popLast() {
            (item as? SnapshotEntry)?.end()
            if let folder = item as? SnapshotFolder { items += folder.end() }
        }
        share.end()
    }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Self.key(of: id) }

    static func key(of id: ClaimID) -> [UInt8] { Array(SnapshotsFolder.name.bytes) + Array("/\(id.rawValue)".utf8) }

    func attributes(_ caller: Credentials, inode: UInt64) -> stat {
        attributes(inode: inode, mode: 0o555, links: 2, modified: made)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard mayBeSeen(by: caller), let item = listing.withLock({ $0?[name] }) else { throw .noSuchFileOrDirectory }
        return item
    }

    func children(_ caller: Credentials) -> [(EntryName, any VirtualItem)] {
        mayBeSeen(by: caller) ? listing.withLock { $0?.entries.map { ($0.name, $0.item) } ?? [] } : []
    }

    /// Whoever it is for, and root.
    func mayBeSeen(by caller: Credentials) -> Bool { caller.uid == 0 || caller.uid == share.holder.uid }
}

/// The folder `.quire-snapshots` at the mount's root, which no listing shows.
final class SnapshotsFolder: VirtualItem {
    static let name = EntryName(".quire-snapshots")

    /// Leaf.
    private let snapshots = Locked<[ClaimID: Snapshot]>([:])
    private let made = timespec(tv_sec: time(nil), tv_nsec: 0)

    func add(_ snapshot: Snapshot) { snapshots.withLock { $0[snapshot.id] = snapshot } }

    func remove(_ id: ClaimID) -> Snapshot? { snapshots.withLock { $0.removeValue(forKey: id) } }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Array(Self.name.bytes) }

    func attributes(_ caller: Credentials, inode: UInt64) -> stat {
        attributes(inode: inode, mode: 0o555, links: 2, modified: made)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard let number = UInt64(String(decoding: name.bytes, as: UTF8.self)),
            let found = snapshots.withLock({ $0[ClaimID(number)] }), found.mayBeSeen(by: caller)
        else { throw .noSuchFileOrDirectory }
        return found
    }

    func children(_ caller: Credentials) -> [(EntryName, any VirtualItem)] {
        snapshots.withLock { Array($0.values) }.filter { $0.mayBeSeen(by: caller) }.sorted { $0.id < $1.id }
            .map { (EntryName("\($0.id.rawValue)"), $0) }
    }
}
