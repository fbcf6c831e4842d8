import CLinux
import DocumentRendering
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// `.sh_thumbnails` (Thumbnail Managing Standard, "Shared thumbnail repositories"), in every folder and listed in none: pictures of
/// what is in the folder, named by sums of the names. Xfce looks here, on the thread that paints its windows: what is not there yet
/// is not waited for, and rendered.
final class SharedThumbnails: VirtualItem {
    /// Whose entries are shown.
    enum Place: Sendable {
        case store(StorePath)
        /// Links to documents.
        case virtual(any VirtualItem)

        var key: [UInt8] {
            switch self {
            case .store(let path): path.bytes
            case .virtual(let item): item.key
            }
        }
    }

    static let name = EntryName(".sh_thumbnails")
    private let service: DocumentThumbnails
    private let place: Place

    init(_ service: DocumentThumbnails, _ place: Place) {
        self.service = service
        self.place = place
    }

    /// In folders of links, that is.
    static func isOffered(in item: any VirtualItem) -> Bool { item is TagFolder || item is RecentsFolder }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { place.key + Array("/.sh_thumbnails".utf8) }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        attributes(inode: inode, mode: 0o755, links: 2, modified: service.started)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard let size = ThumbnailSize(rawValue: name.description) else { throw .noSuchFileOrDirectory }
        return SharedThumbnailsOfSize(service, place, size)
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        ThumbnailSize.allCases.map { (EntryName($0.rawValue), SharedThumbnailsOfSize(service, place, $0)) }
    }
}

/// `.sh_thumbnails/SIZE`.
final class SharedThumbnailsOfSize: VirtualItem {
    private let service: DocumentThumbnails
    private let place: SharedThumbnails.Place
    private let size: ThumbnailSize

    init(_ service: DocumentThumbnails, _ place: SharedThumbnails.Place, _ size: ThumbnailSize) {
        self.service = service
        self.place = place
        self.size = size
    }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { place.key + Array("/.sh_thumbnails/\(size.rawValue)".utf8) }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        attributes(inode: inode, mode: 0o755, links: 2, modified: service.started)
    }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard let document = document(ofSum: name, caller), let status = service.status(of: document, for: caller, R_OK),
            DocumentThumbnails.mayBeRendered(status)
        else { throw .noSuchFileOrDirectory }
        if let entry = service.entry(of: document, size, isPersonal: isPersonal) { return entry }
        if service.isUnrendered(document, status, size) {
            service.render(document, isFolder: status.isFolder, size, .browsed, for: caller.uid) { [service] outcome in
                // Whoever shows the document looks again.
                if case .rendered = outcome { service.announceDocument(document) }
            }
        }
        throw .noSuchFileOrDirectory
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] { [] }

    private var isPersonal: Bool {
        if case .virtual = place { true } else { false }
    }

    private func document(ofSum name: EntryName, _ caller: Credentials) -> StorePath? {
        switch place {
        case .store(let folder):
            return service.names.name(ofSum: name, in: folder, service).map { folder.appending($0) }
        case .virtual(let item):
            return service.names.document(ofSum: name, in: item, caller)
        }
    }
}

/// Which names have which sums, in the folders that were asked for last. Leaf lock.
final class SharedNames: Sendable {
    private struct Known {
        let modified: Int64
        let names: [EntryName: EntryName]
    }
    /// What a user is shown in a folder of links.
    private struct Shown: Hashable {
        let folder: [UInt8]
        let caller: Credentials
    }
    private struct KnownLinks {
        let generation: UInt64
        let time: Int64
        let documents: [EntryName: StorePath]
    }
    private let known = Locked<[StorePath: Known]>([:])
    private let knownLinks = Locked<[Shown: KnownLinks]>([:])
    private static let foldersKnown = 8
    /// Of all of these, but for the last one.
    private static let namesKnown = 200_000
    /// Permissions may change what is shown without another generation.
    private static let linksHold: Int64 = 1_000_000_000

    /// The document that a link in a virtual folder leads to.
    func document(ofSum sum: EntryName, in folder: any VirtualItem, _ caller: Credentials) -> StorePath? {
        guard let listing = folder.links(caller) else { return nil }
        let (shown, now) = (Shown(folder: folder.key, caller: caller), cl_monotonic_ns())
        if let found = knownLinks.withLock({ $0[shown] }), found.generation == listing.generation, now - found.time < Self.linksHold {
            return found.documents[sum]
        }
        var documents: [EntryName: StorePath] = [:]
        for (name, item) in listing.entries {
            guard let link = item as? VirtualLink else { continue }
            for sum in Self.sums(of: name) { documents[sum] = link.document }
        }
        knownLinks.withLock { known in
            makeRoom(for: documents.count, in: &known, \.documents.count)
            known[shown] = KnownLinks(generation: listing.generation, time: now, documents: documents)
        }
        return documents[sum]
    }

    func name(ofSum sum: EntryName, in folder: StorePath, _ service: DocumentThumbnails) -> EntryName? {
        guard let status = service.status(of: folder) else { return nil }
        let modified = saturatedNanoseconds(status.st.st_mtim)
        if let found = known.withLock({ $0[folder] }), found.modified == modified { return found.names[sum] }
        var names: [EntryName: EntryName] = [:]
        for item in (try? service.items(in: folder)) ?? [] {
            for sum in Self.sums(of: item.name) { names[sum] = item.name }
        }
        known.withLock { known in
            makeRoom(for: names.count, in: &known, \.names.count)
            known[folder] = Known(modified: modified, names: names)
        }
        return names[sum]
    }

    private func makeRoom<Key, Value>(for count: Int, in known: inout [Key: Value], _ size: (Value) -> Int) {
        let all = known.values.reduce(count) { $0 + size($1) }
        if known.count >= Self.foldersKnown || all > Self.namesKnown { known.removeAll() }
    }

    /// As file managers have them: of the name as it stands in a URI (Xfce up to 4.18), and of that after `./` (from 4.20 on).
    static func sums(of name: EntryName) -> [EntryName] {
        let escaped = DesktopURI.uri(ofPath: [UInt8(ascii: "/")] + name.bytes).dropFirst("file:///".count)
        return ["", "./"].map { EntryName(DesktopURI.md5($0 + escaped) + ".png") }
    }
}

extension DocumentThumbnails {
    /// Has the kernel tell who watches a document that something about it has changed.
    func announceDocument(_ path: StorePath) {
        announcer.announce(in: []) { [replayer] _ in _ = replayer.replay(.changeAttributes(path.bytes)) }
    }
}
