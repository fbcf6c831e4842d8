import CLinux
import Glibc
import StorePrimitives
import SystemPackage
import WorkerProtocol

/// What a renderer has its worker do.
extension Renderer {
    /// A picture, as PNG.
    func picture(_ request: WorkRequest, _ inputs: [Descriptor], _ thumbnailer: Thumbnailer) throws(RenderRefusal) -> [UInt8] {
        try encoded(try ask(request, inputs, thumbnailer), of: request)
    }

    private func encoded(_ answer: Answer, of request: WorkRequest) throws(RenderRefusal) -> [UInt8] {
        guard case .picture(let width, let height, let bands) = answer.reply, max(width, height) <= request.maximum,
            let image = Self.encoded(answer.output, width, height, bands)
        else { throw confused() }
        return image
    }

    /// A worker that answers with something else than it was asked for is not asked again.
    func confused() -> RenderRefusal {
        worker.withLock { $0 = nil }
        return RenderRefusal("the worker answered with something else", lasts: .always)
    }

    struct Answer {
        /// Neither a refusal nor a probe's.
        let reply: WorkReply
        private let file: ResultFile
        var output: Descriptor { file.descriptor }

        fileprivate init(_ reply: WorkReply, _ file: ResultFile) {
            self.reply = reply
            self.file = file
        }
    }

    func ask(
        _ request: WorkRequest, _ inputs: [Descriptor], seconds: Int = Renderer.seconds, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> Answer {
        // One that ended while nothing was asked of it is started again.
        for attempt in 0..<2 {
            let isNew = !worker.withLock { worker in worker.map(mayReadNext) ?? false }
            let process = try started(Sandbox(worker: thumbnailer.workerProgram), thumbnailer)
            do throws(RenderRefusal) {
                return try answer(process, request, inputs, isNew: isNew, seconds: seconds, thumbnailer)
            } catch {
                if error.isLasting || attempt == 1 || isNew { throw error }
            }
        }
        throw RenderRefusal("no worker answers", lasts: .no)
    }

    private func started(_ sandbox: Sandbox, _ thumbnailer: Thumbnailer) throws(RenderRefusal) -> WorkerProcess {
        if let process = worker.withLock({ $0 }), mayReadNext(process) { return process }
        worker.withLock { $0 = nil }
        guard !isInterrupted.load(ordering: .relaxed) else { throw RenderRefusal("the mount is going away", lasts: .no) }
        do throws(Errno) {
            let process = try WorkerProcess(sandbox, for: nextOwner)
            worker.withLock { $0 = process }
            // `interrupt` may have come in between.
            if isInterrupted.load(ordering: .relaxed) { process.kill() }
            return process
        } catch {
            let what = error == .noSuchFileOrDirectory ? "bubblewrap (bwrap) is not installed" : "no worker can be started: \(error)"
            thumbnailer.trouble.withLock { $0 = what }
            throw RenderRefusal(what, lasts: .no)
        }
    }

    private func mayReadNext(_ process: WorkerProcess) -> Bool {
        geteuid() != 0 || process.owner != nil && process.owner == nextOwner
    }

    /// The picture that a program of somebody else's renders.
    func run(
        _ file: ThumbnailerFile, _ name: EntryName, _ content: Descriptor, pixels: Int, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> [UInt8] {
        let command = file.command(suffix: name.suffix, pixels: pixels)
        let request = WorkRequest.convert(command: command, suffix: name.suffix, result: WorkPaths.output)
        let image = try Self.file(try written(try askAlone(request, program: file.program, [content], thumbnailer)))
        // Nobody says that it has rendered what it should.
        return try picture(.render(.image, maximum: pixels, page: 0), [image], thumbnailer)
    }

    /// Asks a worker that is there for this one request, as those are that run programs of others.
    func askAlone(
        _ request: WorkRequest, program: String, _ inputs: [Descriptor], seconds: Int = Renderer.seconds, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> Answer {
        let kept = worker.withLock { $0.take() }
        defer { worker.withLock { $0 = kept } }
        let process = try started(Sandbox(worker: thumbnailer.workerProgram, program: program), thumbnailer)
        return try answer(process, request, inputs, isNew: true, seconds: seconds, thumbnailer)
    }

    /// - Parameter isNew: nobody has been answered by it yet, so that it may never have begun.
    private func answer(
        _ process: WorkerProcess, _ request: WorkRequest, _ inputs: [Descriptor], isNew: Bool, seconds: Int = Renderer.seconds,
        _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> Answer {
        let file: ResultFile
        do throws(Errno) { file = try ResultFile() } catch { throw RenderRefusal("there is no memory for the picture: \(error)", lasts: .no) }
        switch process.ask(request, output: file.descriptor, inputs: inputs.map(Self.readableByNobody), seconds: seconds) {
        case .reply(.possible): throw confused()
        case .reply(.refused(let reason, let isPassing)):
            thumbnailer.trouble.withLock { $0 = nil }
            throw RenderRefusal(reason, lasts: isPassing ? .awhile : .always)
        case .reply(let reply):
            thumbnailer.trouble.withLock { $0 = nil }
            return Answer(reply, file)
        case .died(let words):
            worker.withLock { $0 = nil }
            let hasBegun = file.isBegun
            if !hasBegun { thumbnailer.trouble.withLock { $0 = words } }
            throw RenderRefusal(words, lasts: hasBegun ? .awhile : .no)
        case .outOfTime:
            worker.withLock { $0 = nil }
            throw RenderRefusal("it took longer than \(seconds) seconds", lasts: .awhile)
        }
    }

    private static func encoded(_ output: Descriptor, _ width: Int, _ height: Int, _ bands: Int) -> [UInt8]? {
        let length = width * height * bands
        var pixels = [UInt8](repeating: 0, count: length)
        let count = pixels.withUnsafeMutableBytes { pread(output.number, $0.baseAddress, length, 0) }
        return count == length ? PngImage.encoded(pixels, width: width, height: height, bands: bands) : nil
    }

    /// Root's workers are nobody, whom the kernel lets do nothing with files of a FUSE mount that is root's alone: they are given a
    /// copy of what is not too large.
    private static func readableByNobody(_ content: Descriptor) -> Descriptor {
        guard geteuid() == 0, cl_filesystem_type(content.number) == fuseType, let status = try? FileStatus(of: content),
            status.st.st_size <= WorkLimits.copied, let copy = try? Descriptor(owning: check(cl_memory_file("quire-document")))
        else { return content }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        var offset = 0
        while offset < status.st.st_size {
            let count = chunk.withUnsafeMutableBytes { pread(content.number, $0.baseAddress, $0.count, off_t(offset)) }
            if count == 0 { break }
            guard count > 0, chunk.withUnsafeBytes({ pwrite(copy.number, $0.baseAddress, count, off_t(offset)) }) == count else {
                return content
            }
            offset += count
        }
        return copy
    }

    /// FUSE_SUPER_MAGIC (statfs(2)).
    private static let fuseType = 0x6573_5546

    /// What a worker has written, its own or of a document's.
    func written(_ answer: Answer) throws(RenderRefusal) -> [UInt8] {
        guard case .written(let length) = answer.reply else { throw confused() }
        var bytes = [UInt8](repeating: 0, count: length)
        let count = bytes.withUnsafeMutableBytes { pread(answer.output.number, $0.baseAddress, length, 0) }
        guard count == length else { throw confused() }
        return bytes
    }

    /// A file in memory that holds bytes.
    static func file(_ bytes: [UInt8]) throws(RenderRefusal) -> Descriptor {
        do throws(Errno) {
            let file = Descriptor(owning: try check(cl_memory_file("quire-preview")))
            var written = 0
            while written < bytes.count {
                let count = bytes.withUnsafeBytes { pwrite(file.number, $0.baseAddress! + written, $0.count - written, off_t(written)) }
                written += try check(count)
            }
            return file
        } catch {
            throw RenderRefusal("there is no memory for it: \(error)", lasts: .no)
        }
    }
}

/// The file in memory that a worker writes a result to, which holds nothing any more when the result was taken: a worker that was
/// taken over may keep it open.
private final class ResultFile {
    let descriptor: Descriptor

    init() throws(Errno) { descriptor = Descriptor(owning: try check(cl_memory_file("quire-result"))) }

    deinit { cl_drop_memory_file(descriptor.number) }

    /// Whether a worker that ended had got as far as the request: it marks the file first.
    var isBegun: Bool {
        var status = cl_status()
        return cl_statx_fd(descriptor.number, &status) == 0 && status.st.st_size > 0
    }
}

extension WorkRequest {
    var maximum: Int {
        switch self {
        case .render(_, let maximum, _), .collage(_, let maximum): maximum
        case .probe, .facts, .text, .words, .links, .list, .extract, .convert: 0
        }
    }
}
