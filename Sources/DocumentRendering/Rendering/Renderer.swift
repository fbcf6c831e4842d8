import CLinux
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage
import WorkerProtocol

/// One thread of the render pool (`Thumbnailer`), with a worker of its own that lives for as long as there is work.
package final class Renderer: Sendable {
    /// For `interrupt`; used by the thread alone otherwise.
    let worker = Mutex<WorkerProcess?>(nil)
    let isInterrupted = Atomic<Bool>(false)
    /// Whose documents are read next; nil for those of several. Used by the thread alone.
    private let owner = Mutex<uid_t?>(nil)

    /// A worker holds some 60 MiB.
    private static let idleSeconds = 60
    /// How long one document may take in all; a worker has less in processor time.
    static let seconds = 30
    private static let nice: Int32 = 10
    /// Seconds until what may have failed for want of time or memory is tried again.
    private static let awhile = 600
    private static let long: Int64 = 1_000_000_000

    /// Whether it leaves its processor to the store's apps while they use the store.
    private let yields: Bool
    /// Whether it is there for users whom the others' work would keep waiting.
    private let isReserve: Bool

    init(yields: Bool, isReserve: Bool) { (self.yields, self.isReserve) = (yields, isReserve) }

    /// Ends what is being rendered, from any thread.
    func interrupt() {
        isInterrupted.store(true, ordering: .relaxed)
        worker.withLock { $0?.kill() }
    }

    /// Renders what comes, until there is no thumbnailer any more.
    func serve(_ thumbnailer: () -> Thumbnailer?) {
        _ = cl_set_thread_nice(Self.nice)
        // Of whichever thread this one was started by nothing is to stay.
        _ = cl_unshare_fs()
        umask(0o077)
        _ = cl_set_fs_identity(geteuid(), getegid())
        // Without a worker there is nothing to end.
        var hasWorker = true
        while let thumbnailer = thumbnailer() {
            let isInTime = { [yields] in !yields || !thumbnailer.isStoreInUse() }
            let timeout = hasWorker ? Self.idleSeconds : nil
            hasWorker = true
            switch thumbnailer.queue.next(idleAfter: timeout, onlyStarved: isReserve, isInTime: isInTime) {
            case .job(let job):
                job.run(self)
                thumbnailer.queue.finish(job)
            case .item(let item): thumbnailer.queue.finish(item, render(item.subject, item.size, for: thumbnailer))
            case .idle:
                worker.withLock { $0 = nil }
                hasWorker = false
            case .stopped:
                worker.withLock { $0 = nil }
                return
            }
        }
    }

    func render(_ subject: RenderSubject, _ size: ThumbnailSize, for thumbnailer: Thumbnailer) -> RenderOutcome {
        let cache = thumbnailer.cache
        let content: Descriptor, version: ThumbnailVersion
        do throws(Errno) {
            (content, version) = try open(subject)
        } catch {
            return .failed("it cannot be read: \(error)")
        }
        let owner = nextOwner ?? geteuid()
        if let entry = cache.entry(of: subject.uri, version, size, subject.folder) { return .rendered(version, entry) }
        if let reason = cache.refusal(of: subject.uri, version) { return .refused(reason) }
        var kind: RenderedContents.Kind?
        if subject.folder == nil {
            let type = DocumentType(of: subject.name) { Self.beginning(of: content) }
            kind = RenderedContents.Kind(type: type, length: version.size)
        }
        let ticket = kind.map { thumbnailer.contents.begin(subject, content, $0) }
        defer { if let ticket { thumbnailer.contents.end(ticket) } }
        let began = cl_monotonic_ns()
        do throws(RenderRefusal) {
            var own = handed(subject, version, size, thumbnailer)
            var parts: FolderParts?
            let rendered = own == nil ? try image(of: subject, content, kind, size, &parts, thumbnailer) : []
            // The app's own may have come meanwhile.
            own = own ?? handed(subject, version, size, thumbnailer)
            // Written in place meanwhile: what was rendered may be of neither.
            guard let now = try? Self.version(of: content), now == version else { return .failed("it was changed meanwhile") }
            let entry = try store(own ?? rendered, subject, version, size, isHanded: own != nil, parts, for: owner, thumbnailer)
            if let kind, own == nil { thumbnailer.contents.add(subject, kind) }
            thumbnailer.renderedCount.add(1, ordering: .relaxed)
            return .rendered(version, entry)
        } catch {
            guard error.isLasting, !isInterrupted.load(ordering: .relaxed) else { return .failed(error.reason) }
            thumbnailer.refusedCount.add(1, ordering: .relaxed)
            // Copies of what holds up a worker are not to do so again.
            if let kind, cl_monotonic_ns() - began > Self.long {
                thumbnailer.contents.add(subject, kind, refused: error, by: thumbnailer.providers.stamp)
            }
            // What is in a folder changes without its time.
            let seconds = subject.folder != nil ? 60 : error.lasts == .awhile ? Self.awhile : nil
            try? cache.storeRefusal(error.reason, of: subject.uri, version, seconds: seconds, for: owner)
            return .refused(error.reason)
        }
    }

    /// The picture that an app has made itself.
    private func handed(
        _ subject: RenderSubject, _ version: ThumbnailVersion, _ size: ThumbnailSize, _ thumbnailer: Thumbnailer
    ) -> [UInt8]? {
        guard let picture = thumbnailer.handed.picture(of: subject.uri, version) else { return nil }
        return try? self.picture(.render(.image, maximum: size.pixels, page: 0), [picture], thumbnailer)
    }

    private func store(
        _ image: [UInt8], _ subject: RenderSubject, _ version: ThumbnailVersion, _ size: ThumbnailSize, isHanded: Bool,
        _ parts: FolderParts?, for owner: uid_t, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> ThumbnailCache.Entry {
        do throws(Errno) {
            let entry = try thumbnailer.cache.store(image, of: subject.uri, version, size, isHanded: isHanded, parts, for: owner)
            thumbnailer.keepingTrouble.withLock { $0 = nil }
            return entry
        } catch .diskQuotaExceeded where thumbnailer.cache.bounds != nil {
            throw RenderRefusal("the disk quota of its owner is used up where thumbnails are kept", lasts: .no)
        } catch {
            let what = "\(thumbnailer.cache.folder): no thumbnail can be written there: \(error)"
            let isNew = thumbnailer.keepingTrouble.withLock { trouble in
                defer { trouble = what }
                return trouble != what
            }
            if isNew { thumbnailer.log.warning("\(what)") }
            throw RenderRefusal(what, lasts: .no)
        }
    }

    /// - Parameters:
    ///   - kind: nil for a folder.
    ///   - parts: what a folder's is made of.
    private func image(
        of subject: RenderSubject, _ content: Descriptor, _ kind: RenderedContents.Kind?, _ size: ThumbnailSize,
        _ parts: inout FolderParts?, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> [UInt8] {
        if let folder = subject.folder {
            guard let version = try? Self.version(of: content) else { throw RenderRefusal("it cannot be read", lasts: .no) }
            let collage = try collage(of: folder, version, size, thumbnailer)
            parts = collage.1
            return collage.image
        }
        guard let kind else { throw RenderRefusal("it is neither document nor folder", lasts: .always) }
        guard kind.length > 0 else { throw RenderRefusal("it is empty", lasts: .always) }
        if let image = try known(subject, content, kind, size, thumbnailer) { return image }
        return try rendered(subject, content, kind, size, thumbnailer)
    }

    /// The picture that was rendered of the same content under another name. Throws why it could not be.
    private func known(
        _ subject: RenderSubject, _ content: Descriptor, _ kind: RenderedContents.Kind, _ size: ThumbnailSize, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> [UInt8]? {
        let cache = thumbnailer.cache
        for other in thumbnailer.contents.same(as: content, kind, but: subject.uri) {
            if let refusal = other.refusal(by: thumbnailer.providers.stamp, within: Self.awhile) { throw refusal }
            guard let otherVersion = try? Self.version(of: other.content), let entry = cache.entry(of: other.subject.uri, otherVersion, size),
                !entry.isHanded, let image = try? cache.contents(entry, of: other.subject.uri, size)
            else { continue }
            return image
        }
        return nil
    }

    private func rendered(
        _ subject: RenderSubject, _ content: Descriptor, _ kind: RenderedContents.Kind, _ size: ThumbnailSize, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> [UInt8] {
        var last: RenderRefusal?
        for provider in thumbnailer.providers.providers(for: kind.type) {
            do throws(RenderRefusal) {
                switch provider {
                case .builtIn(let rendering):
                    return try picture(.render(rendering, maximum: size.pixels, page: 0), [content], thumbnailer)
                case .program(let file):
                    guard kind.length <= WorkLimits.copied else {
                        throw RenderRefusal("it is too large for \(file.program)", lasts: .always)
                    }
                    return try run(file, subject.name, content, pixels: size.pixels, thumbnailer)
                case .folder: continue
                }
            } catch {
                // The nearest provider knows best why.
                if last == nil || !error.isLasting { last = error }
                if !error.isLasting { break }
            }
        }
        throw last ?? RenderRefusal("nothing here draws documents of type \(kind.type)", lasts: .always)
    }

    // MARK: Documents

    /// Opens a document, which is read next.
    func open(_ subject: RenderSubject) throws(Errno) -> (Descriptor, ThumbnailVersion) {
        let content = try subject.open()
        let status = try Self.status(of: content)
        nextOwner = status.st.st_uid
        return (content, ThumbnailVersion(status))
    }

    /// Root's workers read the documents of one user each: who is taken over by one could see the others.
    var nextOwner: uid_t? {
        get { owner.withLock { $0 } }
        set { owner.withLock { $0 = newValue } }
    }

    static func version(of content: Descriptor) throws(Errno) -> ThumbnailVersion { ThumbnailVersion(try status(of: content)) }

    static func status(of content: Descriptor) throws(Errno) -> cl_status {
        let status = try FileStatus(of: content)
        return status
    }

    static func beginning(of content: Descriptor) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4 << 10)
        let count = bytes.withUnsafeMutableBytes { pread(content.number, $0.baseAddress, $0.count, 0) }
        return Array(bytes.prefix(max(0, count)))
    }
}

/// Why there is no picture.
struct RenderRefusal: Error {
    /// Whether it would be the same another time.
    enum Lasting {
        case always
        /// It may have been for want of time or memory.
        case awhile
        case no
    }

    let reason: String
    let lasts: Lasting
    var isLasting: Bool { lasts != .no }

    init(_ reason: String, lasts: Lasting) {
        self.reason = reason
        self.lasts = lasts
    }
}
