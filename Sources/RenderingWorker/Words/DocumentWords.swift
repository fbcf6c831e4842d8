import Glibc
import WorkerProtocol

/// The searchable text of documents.
enum DocumentWords {
    /// UTF-8. Throws if there is nothing to be read.
    static func read(_ subject: WorkRequest.Subject, _ form: WorkRequest.TextForm, _ input: Int32) throws(WorkRefusal) -> [UInt8] {
        switch subject {
        case .pages where PdfDocument.isPdf(input):
            let document = try PdfDocument(input)
            return lines(document.facts) + (try document.text(page: nil, limit: WorkLimits.words)).utf8
        // Of pictures that are pages, SVG has text.
        case .pages: return MarkupText.text(of: Array(try TextSheet.text(of: input, atMost: WorkLimits.words).utf8))
        case .text, .code:
            switch form {
            case .mail, .mailbox: return try MailText.read(input, isMailbox: form == .mailbox)
            case .plain: return Array(try TextSheet.text(of: input, atMost: WorkLimits.words).utf8)
            case .markup: return MarkupText.text(of: Array(try TextSheet.text(of: input, atMost: WorkLimits.words).utf8))
            }
        case .embedded: return try PackageText.read(input)
        case .archive: return try names(input)
        case .image, .media: return lines(try PreviewFacts.read(subject, input))
        }
    }

    /// What a document says of itself in words.
    private static func lines(_ facts: [Fact]) -> [UInt8] {
        Array(facts.filter { Int($0.value) == nil }.map { $0.value + "\n" }.joined().utf8)
    }

    private static func names(_ input: Int32) throws(WorkRefusal) -> [UInt8] {
        let archive = try ArchiveReader(input)
        var (names, count): ([UInt8], Int) = ([], 0)
        while names.count < WorkLimits.words, count < WorkLimits.entries, let entry = try archive.next() {
            names += Array((entry.path + "\n").utf8)
            count += 1
        }
        return names
    }
}
