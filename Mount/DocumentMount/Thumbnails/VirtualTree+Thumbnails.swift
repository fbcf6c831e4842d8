import CLinux
import DocumentRendering
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Lookups of pictures that are not rendered yet, and watches of their folders.
extension VirtualTree {
    struct UnrenderedPicture {
        let path: StorePath
        let isFolder: Bool
        let size: ThumbnailSize
        let service: DocumentThumbnails
    }

    /// What is to be rendered before a name can be answered; nil if it is there, or cannot be.
    func unrendered(_ name: BorrowedName, in folder: ThumbnailFolder, _ caller: Caller) -> UnrenderedPicture? {
        let service = folder.service
        guard !isAnnouncing(caller), let path = folder.document(shownAs: EntryName(copying: name)),
            let status = service.status(of: path), DocumentThumbnails.mayBeRendered(status), service.isUnrendered(path, status, folder.size),
            !service.isFolder(folder.folder.appending(EntryName(copying: name))),
            service.access.may(credentials(of: caller), path, R_OK), !service.lookups.isWalk(by: caller)
        else { return nil }
        return UnrenderedPicture(path: path, isFolder: status.isFolder, size: folder.size, service: service)
    }

    /// Answers a LOOKUP when the picture is rendered, or will not be.
    func wait(
        for picture: UnrenderedPicture, _ caller: Caller, in folder: ThumbnailFolder, _ name: EntryName, _ reply: consuming Reply<Entry>
    ) {
        // Who has many waiting finds what is there.
        guard let share = TakenShare(.waitingLookups, of: shares, for: caller.uid) else {
            return answerLookup(caller, in: folder, name, reply)
        }
        let lookups = picture.service.lookups
        let awaiting = ThumbnailAnnouncer.Awaiting(picture.service.announcer, in: folder.key)
        let awaited = PendingLookups.Awaited(reply, caller, share, awaiting, in: lookups) { [unowned self] reply in
            answerLookup(caller, in: folder, name, reply)
        }
        lookups.wait(awaited)
        // It may be answered long before it is rendered.
        picture.service.render(picture.path, isFolder: picture.isFolder, picture.size, .awaited, for: caller.uid) { [weak awaited] _ in
            if let awaited { lookups.finished(awaited) }
        } isWanted: { [weak awaited] in
            awaited != nil
        }
    }

    /// A folder of pictures was opened.
    func noteOpening(of item: any VirtualItem, _ caller: Caller) {
        guard let folder = item as? ThumbnailFolder, !isAnnouncing(caller) else { return }
        let credentials = credentials(of: caller)
        let (service, size) = (folder.service, folder.size)
        service.lookups.opened(folder.key, by: caller) { service.renderAll(in: folder.folder, [size], for: credentials) }
    }

    /// Whether a request only has the kernel tell of a new picture.
    func isAnnouncing(_ caller: Caller) -> Bool { thumbnails?.announcer.replayer.isCaller(caller) == true }

    /// What that process is shown: nothing where a picture is to be announced, else what everyone is.
    func announcedEntry(_ name: BorrowedName, in item: any VirtualItem, _ caller: Credentials) -> Entry? {
        guard let found = try? item.found(EntryName(copying: name), caller), found.type == S_IFREG else { return nil }
        return .absent(validity: .none)
    }

    /// The answer to its mknod(2), which has the kernel tell of a new entry.
    func announced(_ name: BorrowedName, in parent: Node, _ caller: Caller) throws(Errno) -> Entry {
        guard let folder = parent.item as? ThumbnailFolder else { throw .resourceBusy }
        let credentials = credentials(of: caller)
        return try table.entry(for: try folder.found(EntryName(copying: name), credentials), credentials)
    }

    /// `.sh_thumbnails` in a folder, where some file managers look for pictures others have rendered.
    func sharedThumbnails(_ name: BorrowedName, in parent: Node) -> (any VirtualItem)? {
        guard let thumbnails, SharedThumbnails.name.matches(name) else { return nil }
        return parent.path.map { SharedThumbnails(thumbnails, .store($0)) }
    }

    func sharedThumbnails(_ name: BorrowedName, in folder: any VirtualItem) -> (any VirtualItem)? {
        guard let thumbnails, SharedThumbnails.name.matches(name), SharedThumbnails.isOffered(in: folder) else { return nil }
        return SharedThumbnails(thumbnails, .virtual(folder))
    }
}

extension DocumentThumbnails {
    /// Whether nobody has rendered a content, nor tried to.
    func isUnrendered(_ path: StorePath, _ status: cl_status, _ size: ThumbnailSize) -> Bool {
        isUnrendered(path, uri(of: path), status, size)
    }

    /// The same, by another address of the document.
    func isUnrendered(_ path: StorePath, _ uri: String, _ status: cl_status, _ size: ThumbnailSize) -> Bool {
        found(path, uri, status, size) == nil && cache.refusal(of: uri, ThumbnailVersion(status)) == nil
    }

    /// Has rendered what is not rendered in a folder, in the order of the names. - Parameter announcing: who watches the documents
    /// is told.
    func renderAll(in folder: StorePath, _ sizes: [ThumbnailSize], for caller: Credentials, announcing: Bool = false) {
        guard let held = try? HeldFolder(folder, in: store), let items = try? held.items() else { return }
        let names = items.map(\.name).filter { $0.bytes.first != UInt8(ascii: ".") }
        let paths = names.map { folder.appending($0) }
        for ((name, path), isAccessible) in zip(zip(names, paths), access.filter(paths, caller))
        where isAccessible && !lookups.isOver {
            guard let status = held.status(of: name), Self.mayBeRendered(status) else { continue }
            for size in sizes where isUnrendered(path, status, size) {
                let isFolder = status.isFolder
                render(path, isFolder: isFolder, size, .browsed, for: caller.uid) { [weak self] outcome in
                    if announcing, case .rendered = outcome { self?.announceDocument(path) }
                }
            }
        }
    }
}
