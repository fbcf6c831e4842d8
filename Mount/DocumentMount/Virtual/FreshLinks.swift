import Glibc
import StorePrimitives

/// Links that users have just made in a virtual folder, of which the index may have yet to be told: programs look at what they made, remove
/// it, and `ln -sf` makes one under a temporary name that is not its document's, and renames it. A list that a user has seen since goes before
/// what is known here. Leaf lock.
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
    /// Of one user. When the newer ones are many, or take much room, the older ones go.
    private struct Links {
        var newer: [Key: Link] = [:]
        var newerBytes = 0
        var older: [Key: Link] = [:]
        var lastMade: Int64 = 0

        func link(_ key: Key) -> Link? { newer[key] ?? older[key] }
    }
    private let links = Locked<[uid_t: Links]>([:])
    private static let mostNewer = 2_048
    private static let mostNewerBytes = 256 << 10
    private static let mostUsers = 16
    /// Of a name that is not the document's.
    private static let lifetimeOfPassing: Int64 = 5_000_000_000
    private static let lifetime: Int64 = 60_000_000_000

    func note(_ name: EntryName, in folder: [UInt8], to document: StorePath, by caller: Credentials) {
        let link = Link(document: document, made: Clock.now, isPassing: document.lastName != name)
        links.withLock { links in
            var own = links.removeValue(forKey: caller.uid) ?? Links()
            if own.newer.count >= Self.mostNewer || own.newerBytes >= Self.mostNewerBytes { (own.newer, own.older, own.newerBytes) = ([:], own.newer, 0) }
            own.newer[Key(folder: folder, name: name)] = link
            own.newerBytes += folder.count + name.bytes.count + document.bytes.count
            own.lastMade = link.made
            if links.count >= Self.mostUsers, let oldest = links.min(by: { $0.value.lastMade < $1.value.lastMade }) { links[oldest.key] = nil }
            links[caller.uid] = own
        }
    }

    /// The document that such a link of the caller's leads to. It may have been moved or have lost its tag since.
    /// - Parameter isPassing: only for a name that is not the document's.
    func document(_ name: EntryName, in folder: [UInt8], of caller: Credentials, isPassing: Bool) -> StorePath? {
        let (now, key) = (Clock.now, Key(folder: folder, name: name))
        return links.withLock { links in
            guard let link = links[caller.uid]?.link(key), link.isPassing || !isPassing else { return nil }
            return now - link.made < (link.isPassing ? Self.lifetimeOfPassing : Self.lifetime) ? link.document : nil
        }
    }

    /// Whether there was such a link with a name that is not its document's, which is forgotten.
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
