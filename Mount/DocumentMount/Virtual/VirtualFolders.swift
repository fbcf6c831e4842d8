import DocumentRendering
import FuseServer
import Glibc
import StorePrimitives

/// The virtual folders at the mount's root.
final class VirtualFolders: Sendable {
    private let folders: [(name: EntryName, item: any VirtualItem)]
    /// Listed nowhere: going through the tree would have everything rendered.
    private let previews: PreviewsFolder
    /// Listed nowhere.
    private let scopes: ScopesFolder

    /// Names that later virtual folders will have: nothing else may take them meanwhile.
    private static let reserved = [".sh_thumbnails"].map { EntryName($0) }
    /// The names of this version's folders.
    static let names = [".recents", ".tags", ".thumbnails", ".search", ".favorites"].map { EntryName($0) }
    static let foldersOfLinks = [".recents", ".tags", ".favorites"].map { EntryName($0) }

    /// What they are made of.
    struct Parts {
        let recents: any VirtualItem
        let favorites: any VirtualItem
        let tags: any VirtualItem
        let search: any VirtualItem
        let scopes: ScopesFolder
        let thumbnailer: Thumbnailer
        /// How the store is browsed.
        let mountPoint: [UInt8]
        let access: AccessChecker
        let isListed: Bool
    }

    init(_ parts: Parts, thumbnails: DocumentThumbnails) {
        previews = PreviewsFolder(PreviewService(thumbnails), .root)
        scopes = parts.scopes
        folders = Array(zip(Self.names, [parts.recents, parts.tags, ThumbnailsFolder(thumbnails), parts.search, parts.favorites]))
        listed = parts.isListed
            ? zip(folders, FolderHandle.offsetsAfter).map { folder, offset in
                .init(name: folder.name, inode: folder.item.identity.inode, type: S_IFDIR, item: folder.item, offset: offset)
            } : []
    }

    func folder(named name: BorrowedName) -> (any VirtualItem)? {
        if ScopesFolder.name.matches(name) { return scopes }
        return PreviewsFolder.name.matches(name) ? previews : folders.first { $0.name.matches(name) }?.item
    }

    /// Whether nothing of the store can have this name at the root.
    func isReserved(_ name: BorrowedName) -> Bool {
        guard name[0] == CChar(UInt8(ascii: ".")) else { return false }
        return folder(named: name) != nil || Self.reserved.contains { $0.matches(name) }
    }

    /// What the mount's root shows after the store's own entries.
    let listed: [FolderHandle.ListedEntry]

    func document(ofLink link: any VirtualItem) -> StorePath? { (link as? VirtualLink)?.document }
}
