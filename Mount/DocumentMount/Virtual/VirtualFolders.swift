import FuseKernel
import Glibc
import StorePrimitives

/// The virtual folders at the mount's root.
final class VirtualFolders: Sendable {
    private let folders: [(name: EntryName, item: any VirtualItem)]
    private let isListed: Bool

    /// Names that later virtual folders will have: nothing else may take them meanwhile.
    private static let reserved = [".thumbnails", ".search", ".favorites", ".scopes", ".previews", ".sh_thumbnails"]
        .map { EntryName($0) }
    /// The names of this version's folders.
    static let names = [".recents", ".tags"].map { EntryName($0) }

    init(recents: any VirtualItem, tags: any VirtualItem, isListed: Bool) {
        folders = [(Self.names[0], recents), (Self.names[1], tags)]
        self.isListed = isListed
    }

    func folder(named name: BorrowedName) -> (any VirtualItem)? {
        folders.first { $0.name.matches(name) }?.item
    }

    /// Whether nothing of the store can have this name at the root.
    func isReserved(_ name: BorrowedName) -> Bool {
        guard name[0] == CChar(UInt8(ascii: ".")) else { return false }
        return folders.contains { $0.name.matches(name) } || Self.reserved.contains { $0.matches(name) }
    }

    var listedNames: [EntryName] { isListed ? folders.map(\.name) : [] }

    func inode(of name: EntryName) -> UInt64 { folders.first { $0.name == name }!.item.identity.inode }

    func document(ofLink link: any VirtualItem) -> StorePath? { (link as? VirtualLink)?.document }
}
