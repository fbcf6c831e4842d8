import Glibc
import WorkerProtocol

/// What can be read in documents.
enum DocumentText {
    static func read(_ subject: WorkRequest.Subject, _ input: Int32, page: Int?) throws(WorkRefusal) -> String {
        switch subject {
        case .pages: return try PdfDocument(input).text(page: page)
        case .text, .code: return try TextSheet.text(of: input, atMost: WorkLimits.text)
        case .image, .archive, .embedded, .media: throw WorkRefusal("there is no text in it")
        }
    }
}

extension WorkFiles {
    /// Writes bytes as the result.
    func write(_ bytes: some Collection<UInt8>) throws(WorkRefusal) -> WorkReply {
        let bytes = Array(bytes)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { pwrite(output, $0.baseAddress! + written, $0.count - written, off_t(written)) }
            guard count > 0 else { throw WorkRefusal("it is too large") }
            written += count
        }
        // The mark of a beginning is none of it.
        ftruncate(output, off_t(written))
        return .written(written)
    }
}
