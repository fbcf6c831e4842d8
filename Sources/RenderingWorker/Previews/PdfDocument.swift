import CPoppler
import Glibc
import WorkerProtocol

/// What a PDF document says of itself, and its text. Its pages are rendered by libvips.
final class PdfDocument {
    private let document: OpaquePointer

    init(_ input: Int32) throws(WorkRefusal) {
        var error: UnsafeMutablePointer<GError>?
        // Poppler closes what it is given.
        guard let document = poppler_document_new_from_fd(dup(input), nil, &error) else {
            defer { g_clear_error(&error) }
            throw WorkRefusal(error.flatMap { $0.pointee.message }.map { String(cString: $0) } ?? "it cannot be read as PDF")
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

    /// Links to other places than in the document itself.
    func links(page number: Int) throws(WorkRefusal) -> LinkListing {
        guard number < pageCount, let page = poppler_document_get_page(document, Int32(number)) else {
            throw WorkRefusal("it has \(pageCount) page\(pageCount == 1 ? "" : "s")")
        }
        defer { g_object_unref(UnsafeMutableRawPointer(page)) }
        var (width, height) = (0.0, 0.0)
        poppler_page_get_size(page, &width, &height)
        guard width > 0, height > 0, let mappings = poppler_page_get_link_mapping(page) else { return LinkListing(links: []) }
        defer { poppler_page_free_link_mapping(mappings) }
        var links: [LinkListing.Link] = []
        var next: UnsafeMutablePointer<GList>? = mappings
        while let item = next {
            next = item.pointee.next
            let mapping = item.pointee.data.assumingMemoryBound(to: PopplerLinkMapping.self).pointee
            guard let action = mapping.action, action.pointee.type == POPPLER_ACTION_URI, let target = action.pointee.uri.uri else { continue }
            // PDF counts from the bottom.
            links.append(
                LinkListing.Link(
                    target: String(cString: target), x: mapping.area.x1 / width, y: 1 - mapping.area.y2 / height,
                    width: (mapping.area.x2 - mapping.area.x1) / width, height: (mapping.area.y2 - mapping.area.y1) / height))
        }
        return LinkListing(links: links)
    }

    /// Whether it is PDF, by how it begins.
    static func isPdf(_ input: Int32) -> Bool {
        var start = [UInt8](repeating: 0, count: 1_024)
        let count = start.withUnsafeMutableBytes { pread(input, $0.baseAddress, $0.count, 0) }
        return start.prefix(max(0, count)).split(separator: UInt8(ascii: "%")).contains { $0.starts(with: "PDF-".utf8) }
    }

    /// - Parameters:
    ///   - page: nil for all.
    ///   - limit: of bytes, for all: the page at which there are so many is the last.
    func text(page: Int?, limit: Int = WorkLimits.text) throws(WorkRefusal) -> String {
        let pages = page.map { $0..<($0 + 1) } ?? 0..<pageCount
        guard pages.upperBound <= pageCount else { throw WorkRefusal("it has \(pageCount) page\(pageCount == 1 ? "" : "s")") }
        var text = ""
        for number in pages where text.utf8.count < limit {
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
