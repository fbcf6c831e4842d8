import CLinux
import DocumentRendering
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage
import WorkerProtocol

/// Previews of the store's documents, as `.previews` shows them.
final class PreviewService: Sendable {
    let thumbnails: DocumentThumbnails
    let cache: PreviewCache

    init(_ thumbnails: DocumentThumbnails) {
        self.thumbnails = thumbnails
        cache = PreviewCache { thumbnails.status(of: $0).map { ThumbnailVersion($0) } }
    }

    /// What a request has to wait for.
    enum Need: Sendable {
        case preview
        case part(ShownPreview, PreviewPart)
    }

    /// Who wants something made.
    struct Request: Sendable {
        let user: uid_t
        /// Whether it still waits.
        let isWaiting: @Sendable () -> Bool
        /// Called once, on a rendering thread as a rule, also if it cannot be made.
        let completion: @Sendable () -> Void
    }

    private struct Job: Hashable {
        let document: StorePath
        /// Nil for the preview itself.
        var shown: Int?
        var part: PreviewPart?
    }
    /// What is being made, or waits for that, and who wants it. Leaf.
    private let requests = Locked<[Job: [(request: Request, share: TakenShare)]]>([:])
    /// How long a request waits: an office may have to start.
    static let timeout: Int64 = 45_000_000_000

    /// Has it made, once for all who want it. What nobody waits for any more when its turn comes is not made.
    func make(_ need: Need, of document: StorePath, for request: Request) {
        var job = Job(document: document)
        if case .part(let shown, let part) = need { (job.shown, job.part) = (shown.number, part) }
        // The workers are there for others, too.
        guard let share = TakenShare(.waitingPreviews, of: thumbnails.shares, for: request.user) else { return request.completion() }
        let isFirst = requests.withLock { requests in
            defer { requests[job, default: []].append((request, share)) }
            return requests[job] == nil
        }
        guard isFirst else { return }
        let isWanted: @Sendable () -> Bool = { [self, job] in
            let waiting = requests.withLock { $0[job] ?? [] }
            return waiting.contains { $0.request.isWaiting() }
        }
        switch need {
        case .preview:
            thumbnails.thumbnailer.preview(thumbnails.subject(document, isFolder: false), for: request.user, isWanted: isWanted) { [self, job] result in
                if case .success(let preview) = result { cache.add(ShownPreview(preview), of: document) }
                end(job)
            }
        case .part(let shown, let part):
            thumbnails.thumbnailer.part(part, of: shown.preview, for: request.user, isWanted: isWanted) { [self, job] result in
                shown.note(result, of: part)
                cache.makeRoom()
                end(job)
            }
        }
    }

    private func end(_ job: Job) {
        for waiting in requests.withLock({ $0.removeValue(forKey: job) }) ?? [] { waiting.request.completion() }
    }

    static func key(of path: StorePath) -> [UInt8] { Array(".previews".utf8) + (path.isRoot ? [] : [UInt8(ascii: "/")] + path.bytes) }

    /// The document's status, or what it was if something else stands there by now, which others may be able to read.
    func status(of document: StorePath, _ shown: ShownPreview) -> cl_status {
        guard let now = thumbnails.status(of: document), ThumbnailVersion(now) == shown.preview.version else { return shown.preview.status }
        return now
    }

    /// Throws EACCES if the caller may not read what a preview shows, and ESTALE if the document is another by now.
    func checkMayRead(_ document: StorePath, _ shown: ShownPreview, _ caller: Credentials) throws(Errno) {
        try thumbnails.checkMayRead(document, shown.preview.version, caller)
    }

    /// Attributes for who may read the document: folders may be entered by them, too.
    func attributes(
        of item: some PreviewTreeItem, _ status: cl_status, inode: UInt64, mode: mode_t, links: UInt = 1, size: Int = 0
    ) -> stat {
        var readable = status
        readable.st.st_mode |= (status.st.st_mode & 0o444) >> 2
        return item.mirrored(
            readable, at: item.document, thumbnails, inode: inode, mode: mode, links: links, size: size, modified: status.st.st_mtim)
    }
}

/// A preview, with what was made of it so far.
final class ShownPreview: Sendable {
    let preview: Preview
    /// The kernel keeps what it has seen of one that was made before, which is not this one.
    let number = count.add(1, ordering: .relaxed).newValue
    private static let count = Atomic<Int>(0)
    let made = cl_monotonic_ns()
    let facts: String
    let isArchive: Bool
    private struct State {
        var tree: ArchiveTree
        /// The ones made last, last.
        var files: [(part: PreviewPart, file: Descriptor)] = []
        var sizes: [PreviewPart: Int] = [:]
        var failed: Set<PreviewPart> = []
        /// Lookups of pages that were rendered for that alone.
        var lookups = 0
    }
    /// Leaf.
    private let state: Mutex<State>
    private static let lookupsAtOnce = 16
    /// Each is a descriptor. What went is made again when it is opened.
    private static let mostParts = 16
    private static let mostBytes = 32 << 20

    init(_ preview: Preview) {
        self.preview = preview
        facts = preview.allFacts.map { "\($0.name): \($0.value)\n" }.joined()
        isArchive = preview.contents != nil
        state = Mutex(State(tree: ArchiveTree(preview.contents?.entries ?? [])))
        preview.letGoOfContents()
        if let page = preview.firstPage { keep(page, as: .page(1)) }
    }

    func made(_ part: PreviewPart) -> Descriptor? { state.withLock { state in state.files.first { $0.part == part }?.file } }

    func size(of part: PreviewPart) -> Int? { state.withLock { $0.sizes[part] } }

    func cannotBeMade(_ part: PreviewPart) -> Bool { state.withLock { $0.failed.contains(part) } }

    /// Whether a lookup of a part is to have it made, so that its size can be told. Who lists a long document does not have all of
    /// it rendered: a lookup then tells a size of 0, until the page is opened.
    func mayRenderForSize(of part: PreviewPart) -> Bool {
        state.withLock { state in
            guard state.sizes[part] == nil, !state.failed.contains(part), state.lookups < Self.lookupsAtOnce else { return false }
            state.lookups += 1
            return true
        }
    }

    func opened() { state.withLock { $0.lookups = 0 } }

    func note(_ result: Result<Descriptor, PreviewFailure>, of part: PreviewPart) {
        switch result {
        case .success(let file): keep(file, as: part)
        case .failure(let failure): if failure.isLasting { state.withLock { _ = $0.failed.insert(part) } }
        }
    }

    private func keep(_ file: Descriptor, as part: PreviewPart) {
        let size = Self.size(of: file)
        state.withLock { state in
            state.files.removeAll { $0.part == part }
            state.files.append((part, file))
            state.sizes[part] = size
            var bytes = state.files.reduce(0) { $0 + (state.sizes[$1.part] ?? 0) }
            while state.files.count > Self.mostParts || bytes > Self.mostBytes && state.files.count > 1 {
                bytes -= state.sizes[state.files.removeFirst().part] ?? 0
            }
        }
    }

    /// What is in a folder of the archive; nothing once it has left.
    func children(ofFolder number: Int) -> [EntryName: ArchiveTree.Child] {
        state.withLock { $0.tree.folders.indices.contains(number) ? $0.tree.folders[number] : [:] }
    }

    /// Nobody comes to it any more but who has looked at it before, for whom the kernel may keep it for long.
    func leave() {
        state.withLock { state in
            state.files = []
            state.tree = ArchiveTree([])
        }
        preview.letGo()
    }

    /// Bytes in memory, files in whole pages.
    var length: Int {
        let converted = preview.convertedLength
        return state.withLock { state in
            state.files.reduce(converted + state.tree.length) { $0 + ((state.sizes[$1.part] ?? 0) | 4_095) + 1 }
        }
    }

    /// Of what tells an item from those of other versions, and of another preview of this one.
    func key(of name: String, _ document: StorePath) -> [UInt8] {
        PreviewService.key(of: document) + Array("/\(name)\0\(number)".utf8)
    }

    private static func size(of file: Descriptor) -> Int {
        var status = cl_status()
        return cl_statx_fd(file.number, &status) == 0 ? Int(status.st.st_size) : 0
    }
}

/// The previews that were looked at last, of the versions that documents have now. Leaf lock.
final class PreviewCache: Sendable {
    private struct Place {
        let document: StorePath
        let shown: ShownPreview
        var used: Int64
    }
    /// The ones used last, last.
    private let places = Locked<[Place]>([])
    private let version: @Sendable (StorePath) -> ThumbnailVersion?

    private static let most = 32
    private static let mostBytes = 128 << 20
    /// What nobody has looked at for so long goes when something else comes.
    private static let lifetime: Int64 = 300_000_000_000
    /// Of what may be had whole at the next try.
    private static let lifetimeOfPassing: Int64 = 10_000_000_000

    init(version: @escaping @Sendable (StorePath) -> ThumbnailVersion?) { self.version = version }

    /// The preview of what a document holds now; nil if it is not made.
    func shown(_ document: StorePath) -> ShownPreview? {
        guard let version = version(document) else { return nil }
        let now = cl_monotonic_ns()
        let (found, left) = places.withLock { places -> (ShownPreview?, ShownPreview?) in
            guard let index = places.lastIndex(where: { $0.document == document }) else { return (nil, nil) }
            var place = places.remove(at: index)
            let preview = place.shown.preview
            guard preview.version == version, !preview.isPassing || now - place.shown.made < Self.lifetimeOfPassing else {
                return (nil, place.shown)
            }
            place.used = now
            places.append(place)
            return (place.shown, nil)
        }
        left?.leave()
        return found
    }

    func add(_ shown: ShownPreview, of document: StorePath) {
        let left = places.withLock { places -> ShownPreview? in
            var left: ShownPreview?
            // Two may have asked: what was shown stays.
            if let index = places.firstIndex(where: { $0.document == document }) {
                if places[index].shown.preview.version == shown.preview.version { return nil }
                left = places.remove(at: index).shown
            }
            places.append(Place(document: document, shown: shown, used: cl_monotonic_ns()))
            return left
        }
        left?.leave()
        makeRoom()
    }

    func makeRoom() {
        let now = cl_monotonic_ns()
        // Not under the lock: it has others beneath it.
        let lengths = Dictionary(places.withLock { $0.map(\.shown) }.map { ($0.number, $0.length) }) { $1 }
        let left = places.withLock { places -> [ShownPreview] in
            var left = places.filter { now - $0.used > Self.lifetime }.map(\.shown)
            places.removeAll { now - $0.used > Self.lifetime }
            var bytes = places.reduce(0) { $0 + (lengths[$1.shown.number] ?? 0) }
            while places.count > Self.most || bytes > Self.mostBytes && places.count > 1 {
                let place = places.removeFirst()
                bytes -= lengths[place.shown.number] ?? 0
                left.append(place.shown)
            }
            return left
        }
        for shown in left { shown.leave() }
    }
}
