import CPoppler
import Glibc
import WorkerProtocol

/// What a PDF document says of itself, and its text. Its pages are drawn by libvips.
final class PdfDocument {
    private let document: OpaquePointer

    init(_ input: Int32) throws(Refusal) {
        var error: UnsafeMutablePointer<GError>?
        // Poppler closes what it is given.
        guard let document = poppler_document_new_from_fd(dup(input), nil, &error) else {
            defer { g_clear_error(&error) }
            throw Refusal(error.flatMap { $0.pointee.message }.map { String(cString: $0) } ?? "it cannot be read as PDF")
        }
        self.document = document
    }

    deinit { g_object_unref(UnsafeMutableRawPointer(document)) }

    var pageCount: Int { max(0, Int(poppler_document_get_n_pages(document))) }

    var facts: [Fact] {
        var facts = [Fact(Fact.Name.pages, pageCount)]
        let texts: [(String, UnsafeMutablePointer<CChar>?)] = [
            (Fact.Name.title, poppler_document_get_title(document)), (Fact.Name.author, poppler_document_get_author(document)),
            (Fact.Name.program, poppler_document_get_creator(document)),
        ]
        for (name, text) in texts {
            guard let text else { continue }
            defer { g_free(text) }
            if text[0] != 0 { facts.append(Fact(name, String(cString: text))) }
        }
        return facts
    }

    /// - Parameter page: nil for all, up to a limit.
    func text(page: Int?) throws(Refusal) -> String {
        let pages = page.map { $0..<($0 + 1) } ?? 0..<pageCount
        guard pages.upperBound <= pageCount else { throw Refusal("it has \(pageCount) pages") }
        var text = ""
        for number in pages where text.utf8.count < WorkLimits.text {
            guard let page = poppler_document_get_page(document, Int32(number)) else { continue }
            defer { g_object_unref(UnsafeMutableRawPointer(page)) }
            guard let words = poppler_page_get_text(page) else { continue }
            defer { g_free(words) }
            if !text.isEmpty { text += "\n\u{0c}" }
            text += String(cString: words)
        }
        return text
    }
}
