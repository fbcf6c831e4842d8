import DocumentIndex
import FuseKernel
import Glibc
import StorePrimitives
import Synchronization

/// What a virtual folder shows one user: items under distinct names, in order.
struct VirtualListing: Sendable {
    private(set) var entries: [(name: EntryName, item: any VirtualItem)] = []
    private var places: [EntryName: Int] = [:]
    /// For a name taken more than once, the number to go on with.
    private var numbers: [EntryName: Int] = [:]

    subscript(_ name: EntryName) -> (any VirtualItem)? { places[name].map { entries[$0].item } }

    /// Adds an item under a name, or under `name (2)` and so on if that is taken.
    mutating func add(_ name: EntryName, _ item: any VirtualItem) {
        var free = name
        var number = numbers[name] ?? 2
        while places[free] != nil {
            free = name.numbered(number)
            number += 1
        }
        if free != name { numbers[name] = number }
        places[free] = entries.count
        entries.append((free, item))
    }
}

extension EntryName {
    /// `report.pdf` as `report (2).pdf`, cut to what a name may have.
    func numbered(_ number: Int) -> EntryName {
        let bytes = Array(self.bytes)
        // A leading dot makes a hidden name, not an ending.
        let dot = bytes.dropFirst().lastIndex(of: UInt8(ascii: ".")) ?? bytes.count
        let (stem, ending) = (bytes[..<dot], bytes[dot...])
        let mark = Array(" (\(number))".utf8)
        let room = max(1, EntryName.maximumLength - mark.count - ending.count)
        return EntryName(stem.prefix(room) + mark + ending) ?? EntryName(stem.prefix(200) + mark)!
    }
}

/// Keeps the lists made last: a file manager asks for every entry it was shown by name.
final class ListingCache: Sendable {
    private struct Key: Hashable {
        let uid: uid_t
        let folder: [UInt8]
    }
    private struct Kept {
        let generation: UInt64
        let made: Int64
        let listing: VirtualListing
    }
    private let kept = Mutex<[Key: Kept]>([:])
    private static let capacity = 16
    /// Permissions may change without the index hearing of it.
    private static let lifetime: Int64 = 1_000_000_000

    /// The list of a folder for a user; made by `make` unless the one kept still holds.
    func listing(
        of folder: [UInt8], for caller: Caller, generation: UInt64, _ make: () -> VirtualListing
    ) -> VirtualListing {
        let key = Key(uid: caller.uid, folder: folder)
        let now = Clock.now
        if let found = kept.withLock({ $0[key] }), found.generation == generation, now - found.made < Self.lifetime {
            return found.listing
        }
        let listing = make()
        kept.withLock { kept in
            if kept.count >= Self.capacity { kept.removeAll() }
            kept[key] = Kept(generation: generation, made: now, listing: listing)
        }
        return listing
    }
}
