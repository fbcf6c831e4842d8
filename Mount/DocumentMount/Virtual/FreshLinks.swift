import Glibc
import StorePrimitives

/// Links that users have just made in a virtual folder, of which the index may have yet to be told: programs look at what they made, remove
/// it, and `ln -sf` makes one under a passing name that is not its document's, and renames it. Leaf lock.
final class FreshLinks: Sendable {
    private struct Link {
        let folder: [UInt8]
        let name: EntryName
        let document: StorePath
        let made: Int64

        /// Whether the folder lists the document by another name.
        var isPassing: Bool { document.lastName != name }
    }
    /// The last ones of each user.
    private let links = Locked<[uid_t: [Link]]>([:])
    private static let mostLinks = 32
    private static let mostUsers = 256
    private static let lifetime: Int64 = 5_000_000_000

    func note(_ name: EntryName, in folder: [UInt8], to document: StorePath, by caller: Credentials) {
        let now = Clock.now
        links.withLock { links in
            if links.count >= Self.mostUsers, links[caller.uid] == nil, let oldest = links.min(by: { ($0.value.last?.made ?? 0) < ($1.value.last?.made ?? 0) }) {
                links[oldest.key] = nil
            }
            if links[caller.uid, default: []].count >= Self.mostLinks { links[caller.uid]?.removeFirst() }
            links[caller.uid, default: []].append(Link(folder: folder, name: name, document: document, made: now))
        }
    }

    /// The document that such a link of the caller's leads to.
    /// - Parameter isPassing: none but one with a passing name.
    func document(_ name: EntryName, in folder: [UInt8], of caller: Credentials, isPassing: Bool) -> StorePath? {
        let now = Clock.now
        return links.withLock { links in
            let link = links[caller.uid]?.last { $0.name == name && $0.folder == folder && ($0.isPassing || !isPassing) }
            return link.flatMap { now - $0.made < Self.lifetime ? $0.document : nil }
        }
    }

    /// Whether there was such a link with a passing name, which is forgotten.
    func forget(_ name: EntryName, in folder: [UInt8], of caller: Credentials) -> Bool {
        links.withLock { links in
            let count = links[caller.uid]?.count
            links[caller.uid]?.removeAll { $0.name == name && $0.folder == folder && $0.isPassing }
            return links[caller.uid]?.count != count
        }
    }
}
