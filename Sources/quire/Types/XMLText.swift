import CGio
import Glibc

/// XML that is changed in its text: what a program does not know in it stays as it is. Well-formed texts alone (GLib's GMarkup).
struct XMLText {
    let content: [UInt8]

    /// An element that was begun, and the value of one of its attributes if it has that.
    struct Start {
        let element: String
        let value: [UInt8]?
    }

    /// All elements that begin in the text, in order, with their values of an attribute. Throws what is wrong with the text, and where.
    func starts(_ attribute: String) throws(CommandFailure) -> [Start] {
        let found = Found(attribute)
        var parser = GMarkupParser()
        parser.start_element = { _, element, names, values, found, _ in
            guard let element, let found, let names, let values else { return }
            let known = Unmanaged<Found>.fromOpaque(found).takeUnretainedValue()
            var (at, value): (Int, [UInt8]?) = (0, nil)
            while let name = names[at], let text = values[at] {
                if String(cString: name) == known.attribute { value = Array(UnsafeRawBufferPointer(start: text, count: strlen(text))) }
                at += 1
            }
            known.starts.append(Start(element: String(cString: element), value: value))
        }
        // GLib keeps the pointer as long as it parses.
        let failure = withUnsafePointer(to: &parser) { parser -> String? in
            var error: UnsafeMutablePointer<GError>?
            defer { g_clear_error(&error) }
            let context = g_markup_parse_context_new(parser, GMarkupParseFlags(rawValue: 0), Unmanaged.passUnretained(found).toOpaque(), nil)
            defer { g_markup_parse_context_free(context) }
            let isWhole = content.withUnsafeBytes {
                g_markup_parse_context_parse(context, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count, &error) != 0
            }
            if isWhole, g_markup_parse_context_end_parse(context, &error) != 0 { return nil }
            return error.map { String(cString: $0.pointee.message) } ?? "is no XML"
        }
        if let failure { throw CommandFailure(failure) }
        return withExtendedLifetime(found) { found.starts }
    }

    /// Where elements of a name stand, which are in no other one of that name.
    func elements(_ name: String) -> [Range<Int>] {
        let ends = content.ranges(of: Array("</\(name)>".utf8)).map(\.upperBound)
        return content.ranges(of: Array("<\(name) ".utf8)).compactMap { start in
            ends.first { $0 > start.lowerBound }.map { start.lowerBound..<$0 }
        }
    }

    /// Without the elements of a name whose values of an attribute are among these.
    func removing(_ name: String, where attribute: String, isAmong wanted: ([UInt8]) -> Bool) throws(CommandFailure) -> XMLText {
        var (kept, last): ([UInt8], Int) = ([], 0)
        for element in elements(name) where element.lowerBound >= last {
            let text = Array("<all>".utf8) + content.prefix(element.upperBound).dropFirst(element.lowerBound) + Array("</all>".utf8)
            let values = try XMLText(content: text).starts(attribute).filter { $0.element == name }.compactMap(\.value)
            guard let value = values.first, wanted(value) else { continue }
            // With the rest of its lines, if nothing else is in them.
            let before = content.prefix(element.lowerBound).dropFirst(last)
            kept += before.dropLast(before.reversed().prefix { $0 == UInt8(ascii: " ") }.count)
            last = element.upperBound + (content.dropFirst(element.upperBound).first == UInt8(ascii: "\n") ? 1 : 0)
        }
        return XMLText(content: kept + content.dropFirst(last))
    }

    /// XML has no control characters but three: others are U+FFFD.
    static func escaped(_ text: some Sequence<UInt8>) -> String {
        let replacement = Array("\u{FFFD}".utf8)
        let allowed = text.flatMap { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D ? replacement : [$0] }
        let escaped = withCString(allowed) { text in
            g_utf8_make_valid(text, -1).map { valid in
                defer { g_free(valid) }
                return g_markup_escape_text(valid, -1)
            } ?? nil
        }
        defer { g_free(escaped) }
        return escaped.map { String(cString: $0) } ?? ""
    }

    private final class Found {
        let attribute: String
        var starts: [Start] = []

        init(_ attribute: String) { self.attribute = attribute }
    }
}
