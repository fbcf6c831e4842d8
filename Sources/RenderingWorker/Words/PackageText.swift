import Glibc
import WorkerProtocol

/// The text of documents that are zip archives of XML: OpenDocument, Office Open XML, EPUB.
enum PackageText {
    private static let largestEntry = 32 << 20
    private static let entriesRead = 10_000

    static func read(_ input: Int32) throws(WorkRefusal) -> [UInt8] {
        let archive = try ArchiveReader(input)
        var (text, count): ([UInt8], Int) = ([], 0)
        while text.count < WorkLimits.words, count < entriesRead, let entry = try archive.next() {
            count += 1
            guard entry.isFile, hasText(entry.path) else { continue }
            text += MarkupText.text(of: try archive.content(limit: largestEntry))
            text.append(UInt8(ascii: "\n"))
        }
        return text
    }

    private static func hasText(_ path: String) -> Bool {
        let path = path.lowercased()
        // OpenDocument; Office Open XML; EPUB.
        if ["content.xml", "meta.xml", "docprops/core.xml", "xl/sharedstrings.xml"].contains(path) { return true }
        if path.hasPrefix("word/") || path.hasPrefix("ppt/slides/") || path.hasPrefix("ppt/notesslides/") {
            return path.hasSuffix(".xml") && !path.contains("/_rels/") && !formats.contains { path.hasPrefix($0) }
        }
        return path.hasSuffix(".xhtml") || path.hasSuffix(".html") || path.hasSuffix(".htm") || path.hasSuffix(".opf")
    }

    /// How it looks, and nothing to be read.
    private static let formats = ["word/styles", "word/theme/", "word/settings", "word/fonttable", "word/websettings", "word/numbering"]
}
