import CLinux
import DocumentRendering
import FuseServer
import Glibc
import StorePrimitives

/// Pictures for file managers that know nothing of `.thumbnails`: what a folder holds is rendered when one of them shows it.
///
/// File managers are told by the files they look for in each folder that they show: `.hidden` (GIO: Nautilus, Thunar, Nemo) and
/// `.directory` (KDE's, and libfm: PCManFM). They take pictures from the desktop's cache, by the path they show, which in a virtual
/// folder is that of a link.
extension VirtualTree {
    static let namesOfFileManagers = [".hidden", ".directory"].map { EntryName($0) }

    static func isFileManagers(_ name: BorrowedName) -> Bool { namesOfFileManagers.contains { $0.matches(name) } }

    /// Has a folder of the store rendered soon if the name in it is one of those. Whether it is.
    func noteFileManager(_ name: BorrowedName, in parent: Node, _ caller: Caller) -> Bool {
        guard let thumbnails, Self.isFileManagers(name) else { return false }
        guard let folder = parent.path else { return true }
        let credentials = credentials(of: caller)
        thumbnails.lookups.opened(folder.bytes, by: caller) {
            thumbnails.renderAll(in: folder, Self.sizesOfFileManagers, for: credentials, announcing: true)
        }
        return true
    }

    /// Has a virtual folder rendered soon if the name in it is one of those.
    func noteFileManager(_ name: BorrowedName, in folder: any VirtualItem, _ caller: Caller) {
        guard let thumbnails, Self.isFileManagers(name), SharedThumbnails.isOffered(in: folder) else { return }
        let credentials = credentials(of: caller)
        thumbnails.lookups.opened(folder.key, by: caller) { thumbnails.renderAll(behind: folder, for: credentials) }
    }

    /// What file managers show: icons, and on screens with small pixels or in larger views the next size.
    fileprivate static let sizesOfFileManagers: [ThumbnailSize] = [.large, .normal]
}

extension DocumentThumbnails {
    /// Has the documents rendered that the links in a virtual folder lead to, under the paths of the links. Root's mounts, whose
    /// pictures are found by the documents' own paths alone, have them rendered under these.
    func renderAll(behind folder: any VirtualItem, for caller: Credentials) {
        let links = folder.links(caller)?.entries.compactMap { name, item in (item as? VirtualLink).map { (name, $0.document) } } ?? []
        for ((name, document), isAccessible) in zip(links, access.filter(links.map(\.1), caller))
        where isAccessible && !lookups.isOver {
            guard let status = status(of: document), Self.mayBeRendered(status) else { continue }
            let place = Array(folder.key + [UInt8(ascii: "/")] + name.bytes)
            let uri = access.actsForCallers ? uri(of: document) : uri(ofPlace: place)
            if !access.actsForCallers { self.links.note(place, of: document) }
            let subject = subject(document, isFolder: status.isFolder, uri: uri)
            for size in VirtualTree.sizesOfFileManagers where isUnrendered(document, uri, status, size) {
                thumbnailer.render(subject, size, .browsed, for: caller.uid) { [announcer, replayer] outcome in
                    guard case .rendered = outcome else { return }
                    announcer.announce(in: []) { _ in _ = replayer.replay(.changeAttributes(place)) }
                }
            }
        }
    }
}
