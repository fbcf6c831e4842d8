import CLinux
import DocumentRendering
import Glibc
import StorePrimitives
import SystemPackage
import WorkerProtocol

/// A preview as text.
enum PreviewOutput {
    struct Report: Encodable {
        struct Entry: Encodable {
            let path: String
            let size: Int64?
        }
        let path: String
        let type: String
        let kind: String
        let size: Int64
        let modified: String
        let pages: Int
        let hasText: Bool
        let facts: [String: String]
        let contents: [Entry]?
        let trouble: String?
    }

    static func report(_ preview: Preview, path: String) -> Report {
        Report(
            path: path, type: preview.type.name, kind: preview.type.explanation, size: preview.version.size,
            modified: preview.version.date, pages: preview.pageCount, hasText: preview.hasText,
            facts: Dictionary(preview.facts.filter { $0.name != Fact.Name.pages }.map { ($0.name, $0.value) }) { first, _ in first },
            contents: preview.contents?.entries.filter { !$0.isFolder }.map {
                Report.Entry(path: $0.path.joined(separator: "/"), size: $0.size)
            },
            trouble: preview.trouble)
    }

    /// `name      value`, a line each.
    static func facts(_ preview: Preview) -> String {
        let facts = preview.allFacts.map { fact in
            fact.name == "size" ? Fact("size", Int64(fact.value).map(Figures.size) ?? fact.value) : fact
        }
        let width = facts.map(\.name.count).max() ?? 0
        return facts.map { $0.name + String(repeating: " ", count: width + 2 - $0.name.count) + shown($0.value) }.joined(separator: "\n")
    }

    /// What is in an archive: size and path, a line each.
    static func contents(_ listing: ArchiveListing) -> String {
        listing.entries.filter { !$0.isFolder }.map { entry in
            let size = entry.size.map(Figures.size) ?? "?"
            return String(repeating: " ", count: max(0, 9 - size.count)) + size + "  " + shown(entry.path.joined(separator: "/"))
        }.joined(separator: "\n")
    }

    /// Without control characters, which a terminal would obey.
    static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter {
            $0 == "\n" || $0 == "\t" || $0 == "\u{0c}" || $0.properties.generalCategory != .control
        }))
    }

    /// All that is in a file in memory.
    static func bytes(of file: Descriptor) -> [UInt8] {
        guard let status = try? FileStatus(of: file) else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(status.st.st_size))
        let count = bytes.withUnsafeMutableBytes { pread(file.number, $0.baseAddress, $0.count, 0) }
        return Array(bytes.prefix(max(0, count)))
    }
}
