import CLinux
import DocumentRendering
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage
import WorkerProtocol

/// `.previews`, and in it the store's tree: a folder for each folder, and for each document one with what there is to see of it.
final class PreviewsFolder: VirtualItem {
    let service: PreviewService
    let folder: StorePath
    static let name = EntryName(".previews")

    init(_ service: PreviewService, _ folder: StorePath) {
        self.service = service
        self.folder = folder
    }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { PreviewService.key(of: folder) }
    var validity: CacheTime { service.thumbnails.validity(of: folder) }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        guard let status = service.thumbnails.status(of: folder), status.isFolder else {
            throw .noSuchFileOrDirectory
        }
        return mirrored(status, at: folder, service.thumbnails, inode: inode, mode: 0o555, links: 2, modified: status.st.st_mtim)
    }

    func checkMayUse(_ caller: Credentials) throws(Errno) {
        try service.thumbnails.access.check(folder, by: caller, X_OK)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        let path = folder.appending(name)
        guard path.bytes.count <= StorePath.longest else { throw .fileNameTooLong }
        guard let status = service.thumbnails.status(of: path) else { throw .noSuchFileOrDirectory }
        switch status.st.st_mode & S_IFMT {
        case S_IFDIR:
            try service.thumbnails.access.check(path, by: caller, X_OK)
            return PreviewsFolder(service, path)
        case S_IFREG:
            try service.thumbnails.access.check(path, by: caller, R_OK)
            return PreviewFolder(service, path, status)
        default: throw .noSuchFileOrDirectory
        }
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        try service.thumbnails.access.check(folder, by: caller, R_OK)
        return try service.thumbnails.items(in: folder).map { item in
            let path = folder.appending(item.name)
            return (item.name, item.isFolder ? PreviewsFolder(service, path) : PreviewFolder(service, path, cl_status()))
        }
    }
}

/// An item that shows something of a document, and when that can be answered.
protocol PreviewTreeItem: VirtualItem {
    var service: PreviewService { get }
    var document: StorePath { get }
    /// What of the preview is to be there before a name in this folder can be answered.
    func needed(for name: EntryName) -> PreviewService.Need?
    /// What is to be there before this can be opened.
    var neededToOpen: PreviewService.Need? { get }
}

extension PreviewTreeItem {
    var validity: CacheTime { service.thumbnails.validity(of: document) }
    func needed(for name: EntryName) -> PreviewService.Need? { nil }
}

/// `.previews/DOCUMENT`: `facts.txt`, `text.txt`, `page-1.png` and so on, and `contents` of an archive.
final class PreviewFolder: PreviewTreeItem {
    let service: PreviewService
    let document: StorePath
    private let status: cl_status

    init(_ service: PreviewService, _ document: StorePath, _ status: cl_status) {
        self.service = service
        self.document = document
        self.status = status
    }

    var type: mode_t { S_IFDIR }
    /// Not that of a folder that was here before.
    var key: [UInt8] { PreviewService.key(of: document) + [0] }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        guard let status = service.thumbnails.status(of: document), status.isRegular else {
            throw .noSuchFileOrDirectory
        }
        return service.attributes(of: self, status, inode: inode, mode: 0o555, links: 2)
    }

    var neededToOpen: PreviewService.Need? { service.cache.shown(document) == nil ? .preview : nil }

    func needed(for name: EntryName) -> PreviewService.Need? {
        // File managers look for names of their own, which nothing is made for.
        guard Self.isName(name) else { return nil }
        guard let shown = service.cache.shown(document) else { return .preview }
        guard let part = PreviewPart(name: name, of: shown.preview), shown.mayRenderForSize(of: part) else { return nil }
        return .part(shown, part)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard Self.isName(name) else { throw .noSuchFileOrDirectory }
        let shown = try shown(to: caller)
        if name == Self.contentsName, shown.isArchive { return ContentsFolder(service, document, shown, ArchiveTree.root) }
        if name == Self.factsName { return PreviewFile(service, document, shown, .facts) }
        guard let part = PreviewPart(name: name, of: shown.preview), !shown.cannotBeMade(part) else { throw .noSuchFileOrDirectory }
        return PreviewFile(service, document, shown, .part(part))
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        let shown = try shown(to: caller)
        let preview = shown.preview
        var parts = (1...max(1, preview.pageCount)).prefix(preview.pageCount).map { PreviewPart.page($0) }
        if preview.hasText { parts.append(.text(page: nil)) }
        var items: [(EntryName, any VirtualItem)] = parts.compactMap { part in
            part.name.map { ($0, PreviewFile(service, document, shown, .part(part))) }
        }
        items.append((Self.factsName, PreviewFile(service, document, shown, .facts)))
        if shown.isArchive { items.append((Self.contentsName, ContentsFolder(service, document, shown, ArchiveTree.root))) }
        return items
    }

    func checkMayUse(_ caller: Credentials) throws(Errno) {
        try service.thumbnails.access.check(document, by: caller, R_OK)
    }

    /// The document may be another since the caller was found to be allowed.
    private func shown(to caller: Credentials) throws(Errno) -> ShownPreview {
        guard let shown = service.cache.shown(document) else { throw .resourceTemporarilyUnavailable }
        try service.checkMayRead(document, shown, caller)
        return shown
    }

    private static let contentsName = EntryName("contents")
    private static let factsName = EntryName("facts.txt")

    /// Whether a preview may have something of that name.
    private static func isName(_ name: EntryName) -> Bool {
        name == contentsName || name == factsName || PreviewPart(name: name) != nil
    }
}

/// A folder in an archive.
final class ContentsFolder: PreviewTreeItem {
    let service: PreviewService
    let document: StorePath
    private let shown: ShownPreview
    /// Its number in the preview's tree.
    private let folder: Int

    init(_ service: PreviewService, _ document: StorePath, _ shown: ShownPreview, _ folder: Int) {
        self.service = service
        self.document = document
        self.shown = shown
        self.folder = folder
    }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { shown.key(of: "contents/\(folder)", document) }
    var neededToOpen: PreviewService.Need? { nil }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        service.attributes(of: self, service.status(of: document, shown), inode: inode, mode: 0o555, links: 2)
    }

    func checkMayUse(_ caller: Credentials) throws(Errno) { try service.checkMayRead(document, shown, caller) }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard let child = shown.children(ofFolder: folder)[name] else { throw .noSuchFileOrDirectory }
        return item(child)
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        try checkMayUse(caller)
        return shown.children(ofFolder: folder).map { ($0, item($1)) }.sorted { $0.0.bytes.lexicographicallyPrecedes($1.0.bytes) }
    }

    private func item(_ child: ArchiveTree.Child) -> any VirtualItem {
        switch child {
        case .folder(let number): ContentsFolder(service, document, shown, number)
        case .file(let entry): PreviewFile(service, document, shown, .entry(entry))
        }
    }
}

/// A page, the text, the facts, or a file of an archive.
final class PreviewFile: PreviewTreeItem {
    enum Kind {
        case facts
        case part(PreviewPart)
        case entry(ArchiveTree.File)
    }

    let service: PreviewService
    let document: StorePath
    private let shown: ShownPreview
    private let kind: Kind

    init(_ service: PreviewService, _ document: StorePath, _ shown: ShownPreview, _ kind: Kind) {
        self.service = service
        self.document = document
        self.shown = shown
        self.kind = kind
    }

    private var part: PreviewPart? {
        switch kind {
        case .facts: nil
        case .part(let part): part
        case .entry(let entry): .entry(entry.index)
        }
    }

    var type: mode_t { S_IFREG }
    var key: [UInt8] {
        switch kind {
        case .facts: shown.key(of: "facts.txt", document)
        case .part(let part): shown.key(of: part.name?.description ?? "", document)
        case .entry(let entry): shown.key(of: "contents/ \(entry.index)", document)
        }
    }

    var neededToOpen: PreviewService.Need? {
        guard let part, !isTooLarge, shown.made(part) == nil, !shown.cannotBeMade(part) else { return nil }
        return .part(shown, part)
    }

    /// Of an archive's entry, which would have to be held in memory.
    private var isTooLarge: Bool {
        if case .entry(let entry) = kind { entry.size ?? 0 > WorkLimits.result } else { false }
    }

    /// Of what is not made yet the size is not known.
    var validity: CacheTime { size == nil ? .none : service.thumbnails.validity(of: document) }

    private var size: Int? {
        switch kind {
        case .facts: shown.facts.utf8.count
        case .part(let part): shown.size(of: part)
        case .entry(let entry): shown.size(of: .entry(entry.index)) ?? entry.size.map(Int.init)
        }
    }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        var result = service.attributes(of: self, service.status(of: document, shown), inode: inode, mode: 0o444, size: size ?? 0)
        if case .entry(let entry) = kind, let modified = entry.modified { result.st_mtim = timespec(tv_sec: Int(modified), tv_nsec: 0) }
        return result
    }

    func checkMayUse(_ caller: Credentials) throws(Errno) { try service.checkMayRead(document, shown, caller) }

    func checkIsCurrent() throws(Errno) {
        guard service.cache.shown(document) === shown else { throw .staleNFSFileHandle }
    }

    func content() throws(Errno) -> Descriptor {
        shown.opened()
        guard let part else { return try MemoryFile.file(Array(shown.facts.utf8)) }
        if isTooLarge { throw .fileTooLarge }
        if shown.cannotBeMade(part) { throw .ioError }
        // Others have had so much made meanwhile that it is gone: the kernel then asks once more.
        guard let made = shown.made(part) else { throw .staleNFSFileHandle }
        return Descriptor(owning: try check(fcntl(made.number, F_DUPFD_CLOEXEC, 3)))
    }
}

extension PreviewPart {
    /// As it is named in a folder of previews.
    var name: EntryName? {
        switch self {
        case .page(let number): EntryName("page-\(number).png")
        case .text(nil): EntryName("text.txt")
        case .text, .links, .entry: nil
        }
    }

    /// Nil if no preview has anything of that name.
    init?(name: EntryName) {
        let text = name.description
        if text == "text.txt" {
            self = .text(page: nil)
        } else {
            guard text.hasPrefix("page-"), text.hasSuffix(".png"), let number = Int(text.dropFirst(5).dropLast(4)), number >= 1,
                text == "page-\(number).png"
            else { return nil }
            self = .page(number)
        }
    }

    /// Nil if the preview has nothing of that name.
    init?(name: EntryName, of preview: Preview) {
        self.init(name: name)
        switch self {
        case .text: guard preview.hasText else { return nil }
        case .page(let number): guard number <= preview.pageCount else { return nil }
        case .links, .entry: return nil
        }
    }
}
