import CGio
import WorkerProtocol

/// A program that draws documents of some types, as desktops describe it in `thumbnailers/NAME.thumbnailer`.
public struct ThumbnailerFile: Sendable, Equatable {
    /// The describing file.
    public let path: String
    /// The words of its command line, with `%i` and the like in them.
    let command: [String]
    public let types: [DocumentType]

    /// Nil if it describes nothing, or a program that is not there.
    package init?(path: String) {
        let file = g_key_file_new()
        defer { g_key_file_free(file) }
        guard g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, nil) != 0 else { return nil }
        func text(_ key: String) -> String? {
            guard let text = g_key_file_get_string(file, Self.group, key, nil) else { return nil }
            defer { g_free(text) }
            return String(cString: text)
        }
        if let tried = text("TryExec"), Self.program(tried) == nil { return nil }
        guard let line = text("Exec"), let command = Self.words(of: line), let program = command.first.flatMap(Self.program),
            let types = text("MimeType")?.split(separator: ";").map({ DocumentType(String($0)) }), !types.isEmpty
        else { return nil }
        self.path = path
        self.command = [program] + command.dropFirst()
        self.types = types
    }

    private static let group = "Thumbnailer Entry"

    /// Where a program is.
    private static func program(_ name: String) -> String? {
        guard let path = g_find_program_in_path(name) else { return nil }
        defer { g_free(path) }
        return String(cString: path)
    }

    private static func words(of line: String) -> [String]? {
        var count: gint = 0
        var words: UnsafeMutablePointer<UnsafeMutablePointer<gchar>?>?
        guard g_shell_parse_argv(line, &count, &words, nil) != 0, let words else { return nil }
        defer { g_strfreev(words) }
        return (0..<Int(count)).map { String(cString: words[$0]!) }
    }

    /// The command line for a document, as it is run in a worker.
    package func command(suffix: String, pixels: Int) -> [String] {
        let input = WorkPaths.input(suffix: suffix)
        return command.map { word in
            var result = ""
            var isPlaceholder = false
            for character in word {
                if isPlaceholder {
                    isPlaceholder = false
                    switch character {
                    case "i": result += input
                    case "u": result += "file://" + input
                    case "o": result += WorkPaths.output
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
