import CLinux
import DocumentRendering
import DocumentStore
import FuseServer
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// Thumbnails of the store's documents: what the virtual folders show, who is waited for, and what follows when documents change.
final class DocumentThumbnails: Sendable {
    let thumbnailer: Thumbnailer
    let access: AccessChecker
    let store: SharedStore
    let packages: Packages
    let replayer: Replayer
    let table: NodeTable
    let shares: UserShares
    private let session: SessionReference
    /// When the mount was made: the time of what never changes.
    let started: timespec
    /// How the store is browsed: what is shown is known by these paths to the desktop.
    private let mountPoint: [UInt8]

    private struct Place: Hashable {
        let folder: StorePath
        let size: ThumbnailSize
    }
    /// When something was rendered last in a folder. Leaf.
    private let rendered = Locked<[Place: timespec]>([:])
    /// When the kernel was given something of a document last, on the monotonic clock.
    private let lastShown = Atomic<Int64>(.min / 2)
    private static let renderedAtMost = 10_000
    let lookups = PendingLookups()
    let announcer: ThumbnailAnnouncer
    let names = SharedNames()
    let links = LinkPictures()

    var cache: ThumbnailCache { thumbnailer.cache }

    init(
        _ thumbnailer: Thumbnailer, store: SharedStore, packages: Packages, mountPoint: [UInt8], access: AccessChecker, replayer: Replayer,
        table: NodeTable, session: SessionReference, shares: UserShares, log: Logger
    ) {
        self.session = session
        self.shares = shares
        announcer = ThumbnailAnnouncer(log: log)
        self.thumbnailer = thumbnailer
        self.store = store
        self.packages = packages
        self.mountPoint = mountPoint
        self.access = access
        self.replayer = replayer
        self.table = table
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        started = now
    }

    func start(at place: MountPlace, _ startReplay: @escaping MountConfiguration.StartReplay) {
        thumbnailer.start()
        announcer.replayer.start(at: place, startReplay)
        announcer.start()
        lookups.start()
    }

    /// After the last request, and before the replayer's end.
    func stop() {
        thumbnailer.stop()
        lookups.stop()
        announcer.stop()
    }

    // MARK: What there is

    func uri(of path: StorePath) -> String { path.isRoot ? DesktopURI.uri(ofPath: mountPoint) : uri(ofPlace: path.bytes) }

    /// - Parameter place: below the mount's root, of a link in a virtual folder, say.
    func uri(ofPlace place: [UInt8]) -> String { DesktopURI.uri(ofPath: mountPoint + [UInt8(ascii: "/")] + place) }

    /// What stands at a path, links not followed.
    func status(of path: StorePath) -> cl_status? {
        guard let held = try? store.held(path) else { return nil }
        return try? FileStatus(of: held)
    }

    /// The same, if the caller may use that very file in the way of `mode`.
    func status(of path: StorePath, for caller: Credentials, _ mode: Int32) -> cl_status? {
        guard let held = access.held(path, by: caller, mode), let status = try? FileStatus(of: held) else { return nil }
        return status
    }

    /// Whether a picture that was found is the one of what its document holds now.
    func isCurrent(_ entry: ThumbnailCache.Entry, of path: StorePath, _ uri: String, _ size: ThumbnailSize) -> Bool {
        status(of: path).map { found(path, uri, $0, size) == entry } ?? false
    }

    /// What the cache has of what stands at a path now.
    func found(_ path: StorePath, _ uri: String, _ status: cl_status, _ size: ThumbnailSize) -> ThumbnailCache.Entry? {
        cache.entry(of: uri, ThumbnailVersion(status), size, status.isFolder ? folder(path) : nil)
    }

    /// The picture of what a document holds now; nil if it is not rendered. Documents and folders have one.
    func entry(of path: StorePath, _ size: ThumbnailSize, isPersonal: Bool = false) -> ThumbnailEntry? {
        guard let status = status(of: path), Self.mayBeRendered(status) else { return nil }
        let uri = uri(of: path)
        guard let entry = found(path, uri, status, size) else { return nil }
        return ThumbnailEntry(self, path, size, uri: uri, status, entry, isPersonal: isPersonal)
    }

    /// For what the kernel lets somebody open by what it was told for others. Throws ESTALE if another version stands there by now:
    /// somebody may have exchanged the document for one that the caller may read.
    func checkMayRead(_ path: StorePath, _ version: ThumbnailVersion, _ caller: Credentials, _ mode: Int32 = R_OK) throws(Errno) {
        guard access.actsForCallers, !access.isUnlimited(caller) else { return }
        let held = try access.heldOrError(path, by: caller, mode)
        guard let status = try? FileStatus(of: held), ThumbnailVersion(status) == version else { throw .staleNFSFileHandle }
    }

    /// The picture there is, be it of an earlier version. Most documents have none, so that nothing else is asked of them.
    /// - Parameters:
    ///   - validity: asked for later if left out.
    ///   - status: the document's; nil: it is not to have a picture.
    func anyEntry(
        of path: StorePath, _ size: ThumbnailSize, validity: @autoclosure () -> CacheTime? = nil, _ status: () -> cl_status?
    ) -> ThumbnailEntry? {
        let uri = uri(of: path)
        guard let picture = cache.anyEntry(of: uri, size), let status = status() else { return nil }
        return ThumbnailEntry(self, path, size, uri: uri, status, picture, validity: validity())
    }

    /// For one second the kernel needs not ask: changes made through the mount void what it has at once, and what is opened is
    /// looked at again.
    static let validity = CacheTime(seconds: 1)

    /// The kernel knows owners and modes, but not access lists.
    func validity(of path: StorePath) -> CacheTime { validity(isLimited: hasAccessList(path)) }

    /// The same of what is in a folder.
    func validity(of name: EntryName, in folder: HeldFolder) -> CacheTime { validity(isLimited: folder.hasAccessList(name)) }

    private func validity(isLimited: @autoclosure () -> Bool) -> CacheTime {
        lastShown.store(cl_monotonic_ns(), ordering: .relaxed)
        return access.actsForCallers && isLimited() ? .none : Self.validity
    }

    private func hasAccessList(_ path: StorePath) -> Bool {
        guard let held = try? store.held(path) else { return false }
        return XattrSupport.hasAccessList(held)
    }

    /// Has the kernel ask again for the pictures of what has just changed. It costs nothing while no lookup has asked for any.
    func voidShown(_ event: ChangeJournal.Event) {
        guard cl_monotonic_ns() - lastShown.load(ordering: .relaxed) < Self.shownLately, let notifier = session.current?.notifier
        else { return }
        for path in event.paths {
            for size in ThumbnailSize.allCases {
                guard let entry = anyEntry(of: path, size, { cl_status() }), let node = table.known(entry.identity) else { continue }
                notifier.attributesChangedNow(of: table.id(of: node))
            }
        }
    }

    private static let shownLately = Int64(clamping: validity.seconds * 1.1e9)

    func isFolder(_ path: StorePath) -> Bool { status(of: path).map { $0.st.st_mode & S_IFMT == S_IFDIR } ?? false }

    static func mayBeRendered(_ status: cl_status) -> Bool {
        let type = status.st.st_mode & S_IFMT
        return type == S_IFREG && status.st.st_size > 0 || type == S_IFDIR
    }

    /// The documents and folders in a folder of the store, in the order of their names.
    func items(in folder: StorePath) throws(Errno) -> [HeldFolder.Item] { try HeldFolder(folder, in: store).items() }

    func forget(_ path: StorePath, _ size: ThumbnailSize) { cache.remove(uri(of: path), size) }

    func lastRendered(in folder: StorePath, _ size: ThumbnailSize) -> timespec {
        rendered.withLock { $0[Place(folder: folder, size: size)] } ?? started
    }

    // MARK: Rendering

    /// A document, or a folder, as it is rendered.
    /// - Parameters:
    ///   - uri: by which it is shown, if that is not its own.
    ///   - version: what alone may be rendered, if not whatever stands there when its turn comes.
    func subject(_ path: StorePath, isFolder: Bool, uri: String? = nil, only version: ThumbnailVersion? = nil) -> RenderSubject {
        let open: @Sendable () throws(Errno) -> Descriptor = { [store] () throws(Errno) in
            try Self.content(of: path, in: store, isFolder: isFolder, only: version)
        }
        return RenderSubject(
            name: path.lastName ?? EntryName("store"), uri: uri ?? self.uri(of: path), open: open, folder: isFolder ? folder(path) : nil)
    }

    private func folder(_ path: StorePath) -> RenderSubject.Folder {
        RenderSubject.Folder { [weak self] version in
            self?.contents(of: path, version) ?? (0, [])
        } isCurrent: { [store, packages, weak self] made, version in
            guard let held = try? HeldFolder(path, in: store), let status = held.status, ThumbnailVersion(status) == version,
                saturatedNanoseconds(status.st.st_ctim) == made.changed
            else { return false }
            // A package's own picture, and whether it is still for all of its readers.
            if packages.isPackage(path), let picture = self?.picture(inPackage: path) {
                let changed = saturatedNanoseconds(picture.status.st.st_ctim)
                return made.parts.count == 1 && made.parts.allSatisfy { $0.name == picture.path.lastName && $0.changed == changed }
            }
            return made.parts.allSatisfy { held.status(of: $0.name).map { saturatedNanoseconds($0.st.st_ctim) } == $0.changed }
        }
    }

    private static func content(
        of path: StorePath, in store: SharedStore, isFolder: Bool, only version: ThumbnailVersion?
    ) throws(Errno) -> Descriptor {
        let content = try store.open(path, flags: O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY)
        let status = try FileStatus(of: content)
        guard status.st.st_mode & S_IFMT == (isFolder ? S_IFDIR : S_IFREG) else { throw .invalidArgument }
        if let version, version != ThumbnailVersion(status) { throw .staleNFSFileHandle }
        return content
    }

    /// What a folder's picture is made of: its documents, those changed last first.
    private func contents(of folder: StorePath, _ version: ThumbnailVersion) -> (changed: Int64, parts: [RenderSubject.Folder.Part]) {
        // Before anything in it is looked at.
        guard let held = try? HeldFolder(folder, in: store), let folderStatus = held.status, ThumbnailVersion(folderStatus) == version,
            let items = try? held.items()
        else { return (0, []) }
        if packages.isPackage(folder), let picture = picture(inPackage: folder) {
            return (saturatedNanoseconds(folderStatus.st.st_ctim), [part(picture.path, picture.status)])
        }
        let documents = items.prefix(Self.partsSeen).filter { !$0.isFolder && $0.name.bytes.first != UInt8(ascii: ".") }
            .compactMap { item -> (path: StorePath, status: cl_status)? in
                guard let status = held.status(of: item.name),
                    isReadable(status, item.name, byReadersOf: folderStatus, held)
                else { return nil }
                return (folder.appending(item.name), status)
            }
        let parts = documents.sorted { saturatedNanoseconds($0.status.st.st_mtim) > saturatedNanoseconds($1.status.st.st_mtim) }
            .map { part($0.path, $0.status) }
        return (saturatedNanoseconds(folderStatus.st.st_ctim), parts)
    }

    /// A part of the version that was found readable, and of no other that is put in its place.
    private func part(_ path: StorePath, _ status: cl_status) -> RenderSubject.Folder.Part {
        RenderSubject.Folder.Part(subject(path, isFolder: false, only: ThumbnailVersion(status)), changed: saturatedNanoseconds(status.st.st_ctim))
    }
    private static let partsSeen = 500

    /// Whether a folder's picture, which all see who may read and search the folder, may show a document in it.
    func isReadable(_ document: cl_status, _ name: EntryName, byReadersOf folder: cl_status, _ held: HeldFolder) -> Bool {
        guard access.actsForCallers else { return true }
        guard !held.hasAccessList(name) else { return false }
        if document.st.st_mode & 0o444 == 0o444 { return true }
        return document.st.st_uid == folder.st.st_uid && document.st.st_gid == folder.st.st_gid && !held.hasAccessList
            && folder.st.st_mode & 0o444 & ~document.st.st_mode == 0
    }

    /// Has something rendered and told to whoever watches.
    /// - Parameters:
    ///   - user: who waits for it.
    ///   - completion: with whether it is rendered, on a rendering thread.
    func render(
        _ path: StorePath, isFolder: Bool, _ size: ThumbnailSize, _ urgency: Urgency, for user: uid_t? = nil,
        completion: (@Sendable (RenderOutcome) -> Void)? = nil, isWanted: @escaping @Sendable () -> Bool = { true }
    ) {
        let subject = subject(path, isFolder: isFolder)
        let isAccepted = thumbnailer.render(
            subject, size, urgency, for: user,
            completion: { [weak self] outcome in
                completion?(outcome)
                if case .rendered = outcome { self?.noteRendered(path, size) }
            }, isWanted: isWanted)
        if !isAccepted { completion?(.failed("too many are waiting")) }
    }

    private func noteRendered(_ path: StorePath, _ size: ThumbnailSize) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        rendered.withLock { rendered in
            if rendered.count >= Self.renderedAtMost { rendered.removeAll() }
            rendered[Place(folder: path.parent, size: size)] = now
        }
        // A folder that is watched is known to the kernel.
        let folder = ThumbnailFolder(self, size, path.parent)
        guard let name = path.lastName.flatMap({ ThumbnailFolder.name(of: $0) }), let node = table.known(folder.identity) else { return }
        session.current?.notifier.attributesChangedNow(of: table.id(of: node))
        announcer.announce(in: folder.key) { _ = $0.replay(.make(folder.key + [UInt8(ascii: "/")] + name.bytes, type: S_IFREG)) }
    }
}

extension ChangeJournal.Event {
    /// Whose pictures are others now.
    fileprivate var paths: [StorePath] {
        switch self {
        case .present(let path), .touched(let path, _), .absent(let path), .madeAnew(let path, _), .written(let path, _, _), .replaced(let path):
            [path]
        case .moved(let old, let new, _, _, _), .movedOutside(let old, let new, _), .exchanged(let old, let new, _): [old, new]
        case .opened, .tagsTaken, .tagDropped, .overflow: []
        }
    }
}
