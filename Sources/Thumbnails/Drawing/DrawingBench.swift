import CLinux
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage
import WorkerProtocol

/// Where one thread draws, with a worker of its own that lives for as long as there is work.
final class DrawingBench: Sendable {
    /// For `interrupt`; used by the thread alone otherwise.
    private let worker = Mutex<WorkerProcess?>(nil)
    private let isInterrupted = Atomic<Bool>(false)

    /// A worker holds some 60 MiB.
    private static let idleSeconds = 60
    /// How long one document may take in all; a worker has less in processor time.
    static let seconds = 30
    private static let nice: Int32 = 10

    /// Ends what is being drawn, from any thread.
    func interrupt() {
        isInterrupted.store(true, ordering: .relaxed)
        worker.withLock { $0?.kill() }
    }

    /// Draws what comes, until there is no thumbnailer any more.
    func serve(_ thumbnailer: () -> Thumbnailer?) {
        _ = cl_set_thread_nice(Self.nice)
        while let thumbnailer = thumbnailer() {
            switch thumbnailer.queue.next(idleAfter: Self.idleSeconds) {
            case .job(let job): job.run(self)
            case .item(let item): thumbnailer.queue.finish(item, draw(item.subject, item.size, for: thumbnailer))
            case .idle: worker.withLock { $0 = nil }
            case .stopped:
                worker.withLock { $0 = nil }
                return
            }
        }
    }

    func draw(_ subject: DrawingSubject, _ size: ThumbnailSize, for thumbnailer: Thumbnailer) -> DrawingOutcome {
        let cache = thumbnailer.cache
        let content: Descriptor, version: ThumbnailVersion
        do throws(Errno) {
            content = try subject.open()
            version = try Self.version(of: content)
        } catch {
            return .failed("it cannot be read: \(error)")
        }
        if let entry = cache.entry(of: subject.uri, version, size) { return .drawn(version, entry) }
        if let reason = cache.refusal(of: subject.uri, version) { return .refused(reason) }
        do throws(Refusal) {
            var kind: DrawnContents.Kind?
            if subject.parts == nil {
                let type = DocumentType(of: subject.name) { Self.beginning(of: content) }
                kind = DrawnContents.Kind(type: type, length: version.size)
            }
            let ticket = kind.map { thumbnailer.contents.begin(subject, content, $0) }
            defer { if let ticket { thumbnailer.contents.end(ticket) } }
            var image = try handed(subject, version, size, thumbnailer)
            let isHanded = image != nil
            if image == nil {
                image = try self.image(of: subject, content, kind, size, thumbnailer)
                // The app's own may have come meanwhile.
                if let picture = try handed(subject, version, size, thumbnailer) { image = picture }
            }
            // Written in place meanwhile: what was drawn may be of neither.
            guard let now = try? Self.version(of: content), now == version else { return .failed("it was changed meanwhile") }
            let entry = try store(image!, subject, version, size, cache)
            if let kind, !isHanded { thumbnailer.contents.add(subject, kind) }
            thumbnailer.drawnCount.add(1, ordering: .relaxed)
            return .drawn(version, entry)
        } catch {
            guard error.isLasting, !isInterrupted.load(ordering: .relaxed) else { return .failed(error.reason) }
            thumbnailer.refusedCount.add(1, ordering: .relaxed)
            if subject.parts == nil { try? cache.storeRefusal(error.reason, of: subject.uri, version) }
            return .refused(error.reason)
        }
    }

    /// The picture that an app has made itself.
    private func handed(
        _ subject: DrawingSubject, _ version: ThumbnailVersion, _ size: ThumbnailSize, _ thumbnailer: Thumbnailer
    ) throws(Refusal) -> [UInt8]? {
        guard let picture = thumbnailer.handed.picture(of: subject.uri, version) else { return nil }
        return try? self.picture(.draw(.image, maximum: size.pixels, page: 0), [picture], thumbnailer)
    }

    private func store(
        _ image: [UInt8], _ subject: DrawingSubject, _ version: ThumbnailVersion, _ size: ThumbnailSize, _ cache: ThumbnailCache
    ) throws(Refusal) -> ThumbnailCache.Entry {
        do throws(Errno) {
            return try cache.store(image, of: subject.uri, version, size)
        } catch {
            throw Refusal("\(cache.folder): the thumbnail cannot be written: \(error)", isLasting: false)
        }
    }

    /// - Parameter kind: nil for a folder.
    private func image(
        of subject: DrawingSubject, _ content: Descriptor, _ kind: DrawnContents.Kind?, _ size: ThumbnailSize, _ thumbnailer: Thumbnailer
    ) throws(Refusal) -> [UInt8] {
        guard let kind else { return try collage(of: subject.parts?() ?? [], size, thumbnailer) }
        guard kind.length > 0 else { throw Refusal("it is empty", isLasting: true) }
        if let image = known(subject, content, kind, size, thumbnailer) { return image }
        return try drawn(subject, content, kind, size, thumbnailer)
    }

    /// The picture that was drawn of the same content under another name.
    private func known(
        _ subject: DrawingSubject, _ content: Descriptor, _ kind: DrawnContents.Kind, _ size: ThumbnailSize, _ thumbnailer: Thumbnailer
    ) -> [UInt8]? {
        let cache = thumbnailer.cache
        for other in thumbnailer.contents.same(as: content, kind, but: subject.uri) {
            guard let otherVersion = try? Self.version(of: other.content), cache.entry(of: other.subject.uri, otherVersion, size) != nil,
                let image = try? cache.contents(other.subject.uri, size)
            else { continue }
            return image
        }
        return nil
    }

    private func drawn(
        _ subject: DrawingSubject, _ content: Descriptor, _ kind: DrawnContents.Kind, _ size: ThumbnailSize, _ thumbnailer: Thumbnailer
    ) throws(Refusal) -> [UInt8] {
        var last: Refusal?
        for provider in thumbnailer.providers.providers(for: kind.type) {
            do throws(Refusal) {
                switch provider {
                case .builtIn(let drawing):
                    return try picture(.draw(drawing, maximum: size.pixels, page: 0), [content], thumbnailer)
                case .program(let file):
                    guard kind.length <= WorkLimits.copied else {
                        throw Refusal("it is too large for \(file.program)", isLasting: true)
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
        throw last ?? Refusal("nothing here draws documents of type \(kind.type)", isLasting: true)
    }

    // MARK: Workers

    /// A picture, as PNG.
    func picture(_ request: WorkRequest, _ inputs: [Descriptor], _ thumbnailer: Thumbnailer) throws(Refusal) -> [UInt8] {
        try encoded(try ask(request, inputs, thumbnailer), of: request)
    }

    private func encoded(_ answer: Answer, of request: WorkRequest) throws(Refusal) -> [UInt8] {
        guard case .picture(let width, let height, let bands) = answer.reply, max(width, height) <= request.maximum,
            let image = Self.encoded(answer.output, width, height, bands)
        else { throw confused() }
        return image
    }

    /// A worker that answers with something else than it was asked for is not asked again.
    func confused() -> Refusal {
        worker.withLock { $0 = nil }
        return Refusal("the worker answered with something else", isLasting: true)
    }

    struct Answer {
        /// Neither a refusal nor a probe's.
        let reply: WorkReply
        let output: Descriptor
    }

    func ask(_ request: WorkRequest, _ inputs: [Descriptor], _ thumbnailer: Thumbnailer) throws(Refusal) -> Answer {
        // One that ended while nothing was asked of it is started again.
        for attempt in 0..<2 {
            let isNew = worker.withLock { $0 == nil }
            let process = try started(Sandbox(worker: thumbnailer.workerProgram), thumbnailer)
            do throws(Refusal) {
                return try answer(process, request, inputs, isNew: isNew, thumbnailer)
            } catch {
                if error.isLasting || attempt == 1 || isNew { throw error }
            }
        }
        throw Refusal("no worker answers", isLasting: false)
    }

    private func started(_ sandbox: Sandbox, _ thumbnailer: Thumbnailer) throws(Refusal) -> WorkerProcess {
        if let process = worker.withLock({ $0 }) { return process }
        guard !isInterrupted.load(ordering: .relaxed) else { throw Refusal("the mount is going away", isLasting: false) }
        do throws(Errno) {
            let process = try WorkerProcess(sandbox)
            worker.withLock { $0 = process }
            // `interrupt` may have come in between.
            if isInterrupted.load(ordering: .relaxed) { process.kill() }
            return process
        } catch {
            let what = error == .noSuchFileOrDirectory ? "bubblewrap (bwrap) is not installed" : "no worker can be started: \(error)"
            thumbnailer.trouble.withLock { $0 = what }
            throw Refusal(what, isLasting: false)
        }
    }

    /// The picture that a program of somebody else's draws.
    func run(
        _ file: ThumbnailerFile, _ name: EntryName, _ content: Descriptor, pixels: Int, _ thumbnailer: Thumbnailer
    ) throws(Refusal) -> [UInt8] {
        let request = WorkRequest.run(
            command: file.command(suffix: name.suffix, pixels: pixels), suffix: name.suffix, maximum: pixels)
        return try encoded(try askAlone(request, program: file.program, [content], thumbnailer), of: request)
    }

    /// Asks a worker that is there for this one request, as those are that run programs of others.
    func askAlone(
        _ request: WorkRequest, program: String, _ inputs: [Descriptor], seconds: Int = DrawingBench.seconds, _ thumbnailer: Thumbnailer
    ) throws(Refusal) -> Answer {
        let kept = worker.withLock { $0.take() }
        defer { worker.withLock { $0 = kept } }
        let process = try started(Sandbox(worker: thumbnailer.workerProgram, program: program), thumbnailer)
        return try answer(process, request, inputs, isNew: true, seconds: seconds, thumbnailer)
    }

    /// - Parameter isNew: nobody has been answered by it yet, so that it may never have begun.
    private func answer(
        _ process: WorkerProcess, _ request: WorkRequest, _ inputs: [Descriptor], isNew: Bool, seconds: Int = DrawingBench.seconds,
        _ thumbnailer: Thumbnailer
    ) throws(Refusal) -> Answer {
        let output: Descriptor
        do throws(Errno) { output = Descriptor(owning: try check(cl_memory_file("quire-thumbnail"))) } catch {
            throw Refusal("there is no memory for the picture: \(error)", isLasting: false)
        }
        switch process.ask(request, output: output, inputs: inputs, seconds: seconds) {
        case .reply(.possible): throw confused()
        case .reply(.refused(let reason)):
            thumbnailer.trouble.withLock { $0 = nil }
            throw Refusal(reason, isLasting: true)
        case .reply(let reply):
            thumbnailer.trouble.withLock { $0 = nil }
            return Answer(reply: reply, output: output)
        case .died(let words):
            worker.withLock { $0 = nil }
            let hasBegun = Self.hasBegun(output)
            if !hasBegun { thumbnailer.trouble.withLock { $0 = words } }
            throw Refusal(words, isLasting: hasBegun)
        case .outOfTime:
            worker.withLock { $0 = nil }
            throw Refusal("it took longer than \(seconds) seconds", isLasting: true)
        }
    }

    /// Whether a worker that ended had got as far as the request: it marks its output first.
    private static func hasBegun(_ output: Descriptor) -> Bool {
        var status = cl_status()
        return cl_statx_fd(output.number, &status) == 0 && status.st.st_size > 0
    }

    private static func encoded(_ output: Descriptor, _ width: Int, _ height: Int, _ bands: Int) -> [UInt8]? {
        let length = width * height * bands
        var pixels = [UInt8](repeating: 0, count: length)
        let count = pixels.withUnsafeMutableBytes { pread(output.number, $0.baseAddress, length, 0) }
        return count == length ? PngImage.encoded(pixels, width: width, height: height, bands: bands) : nil
    }

    // MARK: Documents

    static func version(of content: Descriptor) throws(Errno) -> ThumbnailVersion {
        var status = cl_status()
        _ = try check(cl_statx_fd(content.number, &status))
        return ThumbnailVersion(status)
    }

    static func beginning(of content: Descriptor) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4 << 10)
        let count = bytes.withUnsafeMutableBytes { pread(content.number, $0.baseAddress, $0.count, 0) }
        return Array(bytes.prefix(max(0, count)))
    }
}

extension WorkRequest {
    var maximum: Int {
        switch self {
        case .draw(_, let maximum, _), .collage(_, let maximum), .run(_, _, let maximum): maximum
        case .probe, .facts, .text, .links, .list, .extract, .convert: 0
        }
    }
}

/// Why there is no picture.
struct Refusal: Error {
    let reason: String
    /// Whether it would be the same another time.
    let isLasting: Bool

    init(_ reason: String, isLasting: Bool) {
        self.reason = reason
        self.isLasting = isLasting
    }
}
