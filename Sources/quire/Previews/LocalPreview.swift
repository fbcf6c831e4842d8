import DocumentRendering
import Glibc
import Logging
import StorePrimitives
import Synchronization

/// A preview that this process makes, by workers of its own. In a mount the document is read through it: it is one whole version.
struct LocalPreview {
    let preview: Preview
    private let thumbnailer: Thumbnailer
    private let path: String

    /// - Parameter path: of a document, canonical.
    init(of path: [UInt8]) throws(CommandFailure) {
        self.path = shown(path)
        let thumbnailer = Thumbnailer(
            folder: try StateFolders.desktopThumbnails(), providers: ProviderTable(),
            workerProgram: WorkerProgram.path, threads: 1, log: Logger(label: "quire"))
        self.thumbnailer = thumbnailer
        let subject = try LocalThumbnails.subject(path)
        guard subject.folder == nil else { throw CommandFailure("\(shown(path)): is a folder; a preview is of one document") }
        preview = try Self.result(self.path) { thumbnailer.preview(subject, completion: $0) }
    }

    func part(_ part: PreviewPart, pixels: Int = Thumbnailer.pagePixels) throws(CommandFailure) -> Descriptor {
        try Self.result(path) { thumbnailer.part(part, of: preview, pixels: pixels, completion: $0) }
    }

    /// Ends the workers.
    func end() { thumbnailer.stop() }

    private static func result<Value: Sendable>(
        _ path: String, _ ask: (@escaping @Sendable (Result<Value, PreviewFailure>) -> Void) -> Void
    ) throws(CommandFailure) -> Value {
        let done = Signal()
        let result = Mutex<Result<Value, PreviewFailure>?>(nil)
        ask { answer in
            result.withLock { $0 = answer }
            done.signal()
        }
        done.wait()
        switch result.withLock({ $0 }) {
        case .success(let value): return value
        case .failure(let failure): throw CommandFailure("\(path): \(failure.reason)")
        case nil: throw CommandFailure("\(path): nothing was made of it")
        }
    }
}
