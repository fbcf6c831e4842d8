import CLinux
import DocumentRendering
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// `.thumbnails`: a folder for each size, in which the store's tree is again, as pictures.
final class ThumbnailsFolder: VirtualItem {
    private let service: DocumentThumbnails
    private let tag: MemoryFile

    init(_ service: DocumentThumbnails) {
        self.service = service
        tag = MemoryFile(place: Array(".thumbnails/CACHEDIR.TAG".utf8), content: Self.tagContent, modified: service.started)
    }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Array(".thumbnails".utf8) }

    var validity: CacheTime { DocumentThumbnails.validity }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        attributes(inode: inode, mode: 0o755, links: 2, modified: service.started)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        if name == Self.tagName { return tag }
        guard let size = ThumbnailSize(rawValue: name.description) else { throw .noSuchFileOrDirectory }
        return ThumbnailFolder(service, size, .root)
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        ThumbnailSize.allCases.map { (EntryName($0.rawValue), ThumbnailFolder(service, $0, .root)) } + [(Self.tagName, tag)]
    }

    private static let tagName = EntryName("CACHEDIR.TAG")
    /// As the Cache Directory Tagging Specification has it: backups pass over what this stands in.
    private static let tagContent = """
        Signature: 8a477f597d28d172789f06886806bc55
        # Quire draws what is in here when somebody looks at it.
        # See https://bford.info/cachedir/

        """
}

/// A folder of the store, as pictures: `NAME.png` for each document that has one, and its folders. Who may list and enter it the
/// kernel decides, as for the folder itself.
final class ThumbnailFolder: VirtualItem {
    let service: DocumentThumbnails
    let size: ThumbnailSize
    /// The folder of the store.
    let folder: StorePath

    init(_ service: DocumentThumbnails, _ size: ThumbnailSize, _ folder: StorePath) {
        self.service = service
        self.size = size
        self.folder = folder
    }

    var type: mode_t { S_IFDIR }
    /// Below the mount's root.
    var key: [UInt8] {
        Array(".thumbnails/\(size.rawValue)".utf8) + (folder.isRoot ? [] : [UInt8(ascii: "/")] + folder.bytes)
    }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        guard let status = service.status(of: folder), status.isFolder else { throw .noSuchFileOrDirectory }
        return mirrored(
            status, at: folder, service, inode: inode, mode: 0o755, links: 2, modified: max(status.st.st_mtim, service.lastRendered(in: folder, size)))
    }

    var validity: CacheTime { service.validity(of: folder) }

    func checkMayUse(_ caller: Credentials) throws(Errno) {
        try service.access.check(folder, by: caller, X_OK)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        let path = folder.appending(name)
        guard path.bytes.count <= StorePath.longest else { throw .fileNameTooLong }
        if let status = service.status(of: path), status.isFolder {
            try service.access.check(path, by: caller, X_OK)
            return ThumbnailFolder(service, size, path)
        }
        guard let document = document(shownAs: name), service.access.may(caller, document, R_OK) else { throw .noSuchFileOrDirectory }
        guard let entry = service.entry(of: document, size) else { throw .noSuchFileOrDirectory }
        return entry
    }

    /// What an entry is the picture of, whether it is there or not.
    func document(shownAs name: EntryName) -> StorePath? {
        guard name.bytes.count > Self.ending.count, name.bytes.suffix(Self.ending.count).elementsEqual(Self.ending) else { return nil }
        return EntryName(name.bytes.dropLast(Self.ending.count)).map { folder.appending($0) }
    }

    /// What is rendered, or was rendered of a version before, and the folders.
    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        try service.access.check(folder, by: caller, R_OK)
        var rendered: [(name: EntryName, path: StorePath, entry: ThumbnailEntry)] = []
        var folders: [(EntryName, any VirtualItem)] = []
        let held = try HeldFolder(folder, in: service.store)
        let items = try held.items()
        // A folder `a.png` hides the picture of `a`.
        let namesOfFolders = Set(items.filter(\.isFolder).map(\.name))
        for item in items {
            let path = folder.appending(item.name)
            // A package is shown as one document.
            if item.isFolder, !service.packages.isPackage(item.name) { folders.append((item.name, ThumbnailFolder(service, size, path))) }
            guard let shown = Self.name(of: item.name), !namesOfFolders.contains(shown) else { continue }
            let entry = service.anyEntry(of: path, size, validity: service.validity(of: item.name, in: held)) {
                held.status(of: item.name).flatMap { DocumentThumbnails.mayBeRendered($0) ? $0 : nil }
            }
            if let entry { rendered.append((shown, path, entry)) }
        }
        // They are there: nothing need be asked for who may read all.
        if !service.access.isUnlimited(caller) { rendered = zip(rendered, service.access.filter(rendered.map(\.path), caller)).filter(\.1).map(\.0) }
        return folders + rendered.map { ($0.name, $0.entry) }
    }

    /// Takes the picture from the cache: it is rendered again at the next lookup.
    func remove(_ name: EntryName, _ caller: Credentials) throws(Errno) {
        guard let entry = try found(name, caller) as? ThumbnailEntry else { throw .isDirectory }
        try service.access.check(entry.document, by: caller, W_OK)
        service.forget(entry.document, size)
    }

    static func name(of document: EntryName) -> EntryName? { EntryName(document.bytes + ending) }

    private static let ending = Array(".png".utf8)
}

/// A document's picture.
final class ThumbnailEntry: VirtualItem {
    private let service: DocumentThumbnails
    let document: StorePath
    private let size: ThumbnailSize
    private let uri: String
    /// The document's, when it was looked up.
    private let status: cl_status
    private let entry: ThumbnailCache.Entry
    /// It was reached by a folder that shows each user something else.
    private let isPersonal: Bool
    /// The attributes have been told once.
    private let isTold = Atomic<Bool>(false)

    init(
        _ service: DocumentThumbnails, _ document: StorePath, _ size: ThumbnailSize, uri: String, _ status: cl_status,
        _ entry: ThumbnailCache.Entry, isPersonal: Bool = false, validity: CacheTime? = nil
    ) {
        known = Mutex(validity)
        self.isPersonal = isPersonal
        self.service = service
        self.document = document
        self.size = size
        self.status = status
        self.uri = uri
        self.entry = entry
    }

    var type: mode_t { S_IFREG }
    /// With when it was rendered: another picture is another file, so that the kernel's pages of it hold.
    var key: [UInt8] { Array(".thumbnails/\(size.rawValue)/".utf8) + document.bytes + Array("\0\(entry.rendered) \(entry.length)".utf8) }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        // The kernel keeps an item for as long as it knows its node; what others have put in the document's place meanwhile may be
        // readable by others.
        let isFirst = !isTold.exchange(true, ordering: .relaxed)
        let now = isFirst ? self.status : service.status(of: document) ?? self.status
        var status = ThumbnailVersion(now) == ThumbnailVersion(self.status) ? now : self.status
        // A folder's picture shows what is in it: it is for who may also search the folder.
        if status.isFolder { status.st.st_mode &= ~0o444 | (status.st.st_mode & 0o111) << 2 }
        return mirrored(
            status, at: document, service, inode: inode, mode: 0o444, size: Int(entry.length),
            modified: timespec(since1970: entry.rendered), validity: validity)
    }

    /// Found out once: an item is made at each lookup.
    private let known: Mutex<CacheTime?>
    var validity: CacheTime {
        if isPersonal && service.access.actsForCallers { return .none }
        return known.withLock { known in
            if let known { return known }
            let found = service.validity(of: document)
            known = found
            return found
        }
    }

    func checkMayUse(_ caller: Credentials) throws(Errno) {
        let isFolder = status.isFolder
        try service.checkMayRead(document, ThumbnailVersion(status), caller, isFolder ? R_OK | X_OK : R_OK)
    }

    func checkIsCurrent() throws(Errno) {
        guard service.isCurrent(entry, of: document, uri, size) else { throw .staleNFSFileHandle }
    }

    func content() throws(Errno) -> Descriptor { try service.cache.open(entry, of: uri, size) }
}

extension VirtualItem {
    /// The item's attributes, with the owner of what it stands for, and those of `mode` that its mode allows. Of what has an access
    /// list, which the kernel does not see here, all of `mode`: each lookup is then decided by the daemon.
    func mirrored(
        _ status: cl_status, at path: StorePath, _ service: DocumentThumbnails, inode: UInt64, mode: mode_t, links: UInt = 1, size: Int = 0,
        modified: timespec, validity: CacheTime? = nil
    ) -> stat {
        guard validity ?? service.validity(of: path) != .none else {
            return attributes(inode: inode, mode: mode, links: links, size: size, modified: modified)
        }
        var result = attributes(inode: inode, mode: status.st.st_mode & mode, links: links, size: size, modified: modified)
        (result.st_uid, result.st_gid) = (status.st.st_uid, status.st.st_gid)
        return result
    }
}

private func max(_ one: timespec, _ other: timespec) -> timespec {
    saturatedNanoseconds(one) < saturatedNanoseconds(other) ? other : one
}
