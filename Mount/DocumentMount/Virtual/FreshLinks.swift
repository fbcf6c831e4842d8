import Glibc
import StorePrimitives

/// Links that users have just made in a virtual folder, of which the index may have yet to be told: programs look at what they made, remove
/// it, and `ln -sf` makes one under a passing name that is not its document's, and renames it. Leaf lock.
final class FreshLinks: Sendable {
    private struct Key: Hashable {
        let folder: [UInt8]
        let name: EntryName
    }
    private struct Link {
        let document: StorePath
        let made: Int64
        /// The folder lists the document by another name.
        let isPassing: Bool
    }
    /// Of one user. When the newer ones are many, the older ones go.
    private struct Links {
        var newer: [Key: Link] = [:]
        var older: [Key: Link] = [:]
        var lastMade: Int64 = 0

        func link(_ key: Key) -> Link? { newer[key] ?? older[key] }
    }
    private let links = Locked<[uid_t: Links]>([:])
    private static let mostNewer = 2_048
    /// Longer ones are left to the index, so that what is kept stays small.
    private static let mostBytes = 512
    private static let mostUsers = 16
    private static let lifetime: Int64 = 5_000_000_000

    func note(_ name: EntryName, in folder: [UInt8], to document: StorePath, by caller: Credentials) {
        let link = Link(document: document, made: Clock.now, isPassing: document.lastName != name)
        guard link.isPassing || folder.count + document.bytes.count <= Self.mostBytes else { return }
        links.withLock { links in
            var own = links.removeValue(forKey: caller.uid) ?? Links()
            if own.newer.count >= Self.mostNewer { (own.newer, own.older) = ([:], own.newer) }
            own.newer[Key(folder: folder, name: name)] = link
            own.lastMade = link.made
            if links.count >= Self.mostUsers, let oldest = links.min(by: { $0.value.lastMade < $1.value.lastMade }) { links[oldest.key] = nil }
            links[caller.uid] = own
        }
    }

    /// The document that such a link of the caller's leads to. It may have been moved or lost its tag since.
    /// - Parameter isPassing: none but one with a passing name, for a moment.
    func document(_ name: EntryName, in folder: [UInt8], of caller: Credentials, isPassing: Bool) -> StorePath? {
        let (now, key) = (Clock.now, Key(folder: folder, name: name))
        return links.withLock { links in
            guard let link = links[caller.uid]?.link(key) else { return nil }
            if isPassing { return link.isPassing && now - link.made < Self.lifetime ? link.document : nil }
            return link.document
        }
    }

    /// Whether there was such a link with a passing name, which is forgotten.
    func forget(_ name: EntryName, in folder: [UInt8], of caller: Credentials) -> Bool {
        let key = Key(folder: folder, name: name)
        return links.withLock { links in
            guard links[caller.uid]?.link(key)?.isPassing == true else { return false }
            links[caller.uid]?.newer[key] = nil
            links[caller.uid]?.older[key] = nil
            return true
        }
    }
}
