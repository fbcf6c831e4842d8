import CLinux
import Glibc
import StorePrimitives
import SystemPackage
import WorkerProtocol

/// Reads the searchable text of documents, with a worker of its own. For one thread.
public final class TextReader: Sendable {
    private let renderer = Renderer(yields: false, isReserve: false)
    private let thumbnailer: Thumbnailer
    private let readsPictures: Bool

    /// - Parameter readsPictures: whether text is recognized in pictures, where Tesseract is installed.
    public init(_ thumbnailer: Thumbnailer, readsPictures: Bool = false) {
        self.thumbnailer = thumbnailer
        self.readsPictures = readsPictures
    }

    /// Whether text can be recognized in pictures.
    public static var canReadPictures: Bool { TextRecognizer.installed != nil }

    public enum Result: Sendable {
        /// UTF-8, of the version that the document had.
        case text([UInt8], ThumbnailVersion)
        /// There is nothing to be read in that version, and why, for a person.
        case nothing(String, ThumbnailVersion)
        /// It could not be read for want of time or memory.
        case failed(String, ThumbnailVersion)
        /// It cannot be opened, and why.
        case unreadable(String)
        /// It was changed while it was read.
        case changed
        /// No worker can be started, and why.
        case noWorker(String)
    }

    /// Larger documents are not read.
    private static let largest: Int64 = 256 << 20

    /// Reads a document; waits for the worker, 30 s at most.
    public func read(_ subject: RenderSubject) -> Result {
        let content: Descriptor, version: ThumbnailVersion
        do throws(Errno) { (content, version) = try renderer.open(subject) } catch {
            return .unreadable("it cannot be read: \(error)")
        }
        guard version.size > 0 else { return .nothing("it is empty", version) }
        guard version.size <= Self.largest else { return .nothing("it is larger than \(Self.largest >> 20) MiB", version) }
        let type = DocumentType(of: subject.name) { Renderer.beginning(of: content) }
        guard let decoder = decoder(for: type) else { return .nothing("nothing here reads documents of type \(type)", version) }
        do throws(RenderRefusal) {
            var words = try renderer.written(try renderer.ask(.words(decoder, Self.form(of: type)), [content], thumbnailer))
            if decoder == .image, readsPictures { words += try recognized(content, subject.name) }
            // Written in place meanwhile: what was read may be of neither.
            guard let now = try? Renderer.version(of: content), now == version else { return .changed }
            // A worker that was taken over may answer more.
            return .text(Array(words.prefix(WorkLimits.words)), version)
        } catch {
            switch error.lasts {
            case .always: return .nothing(error.reason, version)
            case .awhile: return .failed(error.reason, version)
            case .no: return .noWorker(error.reason)
            }
        }
    }

    /// The worker's own decoder for a type; nil if there is none.
    private func decoder(for type: DocumentType) -> WorkRequest.Subject? {
        thumbnailer.providers.providers(for: type).lazy.compactMap { provider in
            if case .builtIn(let rendering) = provider { rendering } else { nil }
        }.first
    }

    /// Seconds for one picture.
    private static let timeToRecognize = 60

    /// The text in a picture; none if there is none, or it is a picture that Tesseract does not read. Throws if that took too long.
    private func recognized(_ content: Descriptor, _ name: EntryName) throws(RenderRefusal) -> [UInt8] {
        guard let recognizer = TextRecognizer.installed else { return [] }
        do throws(RenderRefusal) {
            return try renderer.written(
                try renderer.askAlone(
                    recognizer.request(suffix: name.suffix), program: recognizer.program, [content], seconds: Self.timeToRecognize, thumbnailer))
        } catch {
            if error.lasts == .always { return [] }
            throw error
        }
    }

    private static func form(of type: DocumentType) -> WorkRequest.TextForm {
        if markup.contains(where: { type.isA($0) }) { return .markup }
        if type.isA(DocumentType("application/mbox")) { return .mailbox }
        return type.isA(DocumentType("message/rfc822")) ? .mail : .plain
    }

    private static let markup = ["text/html", "application/xml", "application/xhtml+xml"].map { DocumentType($0) }

    /// Ends the worker; another is started for the next document.
    public func rest() { renderer.worker.withLock { $0 = nil } }

    /// Ends what is being read, from any thread: nothing is read from now on.
    public func interrupt() { renderer.interrupt() }
}
