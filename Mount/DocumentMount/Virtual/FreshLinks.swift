import Glibc
import StorePrimitives

/// Links that users have just made in a virtual folder under a name that is not their document's: programs look at what they made, and
/// `ln -sf` renames it. Leaf lock.
final class FreshLinks: Sendable {
    private struct Link {
        let uid: uid_t
        let folder: [UInt8]
        let name: EntryName
        let document: StorePath
        let made: Int64
    }
    private let links = Locked<[Link]>([])
    private static let mostLinks = 32
    private static let lifetime: Int64 = 5_000_000_000

    func note(_ name: EntryName, in folder: [UInt8], to document: StorePath, by caller: Credentials) {
        guard document.lastName != name else { return }
        links.withLock { links in
            if links.count >= Self.mostLinks { links.removeFirst() }
            links.append(Link(uid: caller.uid, folder: folder, name: name, document: document, made: Clock.now))
        }
    }

    /// The document that such a link of the caller's leads to.
    func document(_ name: EntryName, in folder: [UInt8], of caller: Credentials) -> StorePath? {
        let now = Clock.now
        return links.withLock { links in
            let link = links.last { $0.uid == caller.uid && $0.folder == folder && $0.name == name }
            return link.flatMap { now - $0.made < Self.lifetime ? $0.document : nil }
        }
    }

    /// Whether there was such a link, which is forgotten.
    func forget(_ name: EntryName, in folder: [UInt8], of caller: Credentials) -> Bool {
        links.withLock { links in
            let count = links.count
            links.removeAll { $0.uid == caller.uid && $0.folder == folder && $0.name == name }
            return links.count < count
        }
    }
}
