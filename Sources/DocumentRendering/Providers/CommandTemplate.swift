import CGio

/// The words of a program's command line, with placeholders in them: `%i` the document, `%u` its URI, `%o` where the result
/// goes, `%s` pixels, `%%` a percent sign.
struct CommandTemplate: Sendable, Equatable {
    let words: [String]

    init(_ words: [String]) { self.words = words }

    /// As a shell splits it. Nil if it cannot be, or is empty.
    init?(line: String) {
        var count: gint = 0
        var words: UnsafeMutablePointer<UnsafeMutablePointer<gchar>?>?
        guard g_shell_parse_argv(line, &count, &words, nil) != 0, let words else { return nil }
        defer { g_strfreev(words) }
        self.words = (0..<max(0, Int(count))).compactMap { words[$0].map { String(cString: $0) } }
    }

    func filled(input: String, output: String, pixels: Int) -> [String] {
        words.map { word in
            var result = ""
            var isPlaceholder = false
            for character in word {
                if isPlaceholder {
                    isPlaceholder = false
                    switch character {
                    case "i": result += input
                    case "u": result += "file://" + input
                    case "o": result += output
                    case "s": result += "\(pixels)"
                    case "%": result += "%"
                    default: result += "%" + String(character)
                    }
                } else if character == "%" {
                    isPlaceholder = true
                } else {
                    result.append(character)
                }
            }
            return result
        }
    }
}
