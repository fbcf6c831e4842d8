import CGio
import Glibc
import StorePrimitives

/// The places of KDE's file managers and dialogs: an XBEL file (XML Bookmark Exchange Language) with elements of KDE's own, which stay as
/// they are. A change is made in the text, and kept only if the parser then finds what was to be.
struct KDEPlaces: SidebarFile {
    let path: String

    func folders(in content: [UInt8]) throws(CommandFailure) -> [[UInt8]] { try uris(in: content).compactMap { FileURI.path(of: $0) } }

    func adding(_ folder: [UInt8], to content: [UInt8]) throws(CommandFailure) -> [UInt8] {
        let name = folder.split(separator: UInt8(ascii: "/")).last ?? []
        let ending = Array("</xbel>".utf8)
        guard let end = content.ranges(of: ending).last?.lowerBound else { throw notUnderstood }
        let element = """
             <bookmark href="\(Self.escaped(FileURI.text(of: folder)))">
              <title>\(Self.escaped(name))</title>
              <info>
               <metadata owner="http://freedesktop.org">
                <bookmark:icon name="folder"/>
               </metadata>
              </info>
             </bookmark>

            """
        let added = content.prefix(end) + Array(element.utf8) + content.dropFirst(end)
        return try checked(Array(added), has: try folders(in: content) + [folder])
    }

    func removing(_ folder: [UInt8], from content: [UInt8]) throws(CommandFailure) -> [UInt8] {
        var (kept, last): ([UInt8], Int) = ([], 0)
        for element in elements(in: content) where element.lowerBound >= last {
            let text = content.prefix(element.upperBound).dropFirst(element.lowerBound)
            guard try folders(in: Self.document(text)) == [folder] else { continue }
            kept += content.prefix(element.lowerBound).dropFirst(last)
            last = element.upperBound + content.dropFirst(element.upperBound).prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }.count
        }
        return try checked(kept + content.dropFirst(last), has: try folders(in: content).filter { $0 != folder })
    }

    private func checked(_ content: [UInt8], has folders: [[UInt8]]) throws(CommandFailure) -> [UInt8] {
        guard try self.folders(in: content) == folders else { throw notUnderstood }
        return content
    }

    private var notUnderstood: CommandFailure { CommandFailure("\(path): is no file of places as KDE writes them; it is left as it is") }

    /// Elements `bookmark`, which are in no other one.
    private func elements(in content: [UInt8]) -> [Range<Int>] {
        let ends = content.ranges(of: Array("</bookmark>".utf8)).map(\.upperBound)
        return content.ranges(of: Array("<bookmark ".utf8)).compactMap { start in
            ends.first { $0 > start.lowerBound }.map { start.lowerBound..<$0 }
        }
    }

    /// A document of one element.
    private static func document(_ element: ArraySlice<UInt8>) -> [UInt8] { Array("<xbel>".utf8) + element + Array("</xbel>".utf8) }

    private static func escaped(_ text: some Sequence<UInt8>) -> String {
        let escaped = withCString(Array(text)) { text in
            g_utf8_make_valid(text, -1).map { valid in
                defer { g_free(valid) }
                return g_markup_escape_text(valid, -1)
            } ?? nil
        }
        defer { g_free(escaped) }
        return escaped.map { String(cString: $0) } ?? ""
    }

    /// What the elements `bookmark` refer to, in order.
    private func uris(in content: [UInt8]) throws(CommandFailure) -> [[UInt8]] {
        guard !content.isEmpty else { return [] }
        let found = FoundURIs()
        var parser = GMarkupParser()
        parser.start_element = { _, element, names, values, found, _ in
            guard let element, strcmp(element, "bookmark") == 0, let found, let names, let values else { return }
            var at = 0
            while let name = names[at], let value = values[at] {
                if strcmp(name, "href") == 0 {
                    Unmanaged<FoundURIs>.fromOpaque(found).takeUnretainedValue().uris.append(
                        Array(UnsafeRawBufferPointer(start: value, count: strlen(value))))
                }
                at += 1
            }
        }
        let context = g_markup_parse_context_new(&parser, GMarkupParseFlags(rawValue: 0), Unmanaged.passUnretained(found).toOpaque(), nil)
        defer { g_markup_parse_context_free(context) }
        let isWhole = content.withUnsafeBytes {
            g_markup_parse_context_parse(context, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count, nil) != 0
        }
        guard isWhole, g_markup_parse_context_end_parse(context, nil) != 0 else { throw notUnderstood }
        return withExtendedLifetime(found) { found.uris }
    }

    private final class FoundURIs {
        var uris: [[UInt8]] = []
    }
}
