import CGio
import WorkerProtocol

/// A program that renders documents of some types, as desktops describe it in `thumbnailers/NAME.thumbnailer`. With the key
/// `X-Quire-PreviewExec` it also makes of a document what can be shown, at `%o`: PDF, an image or text.
public struct ThumbnailerFile: Sendable, Equatable {
    /// The describing file.
    public let path: String
    /// How it renders, with the program's path; nil if it does not.
    let thumbnail: CommandTemplate?
    /// How it makes previews; nil if it does not.
    let preview: CommandTemplate?
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
        guard let types = text("MimeType")?.split(separator: ";").map({ DocumentType(String($0)) }), !types.isEmpty else { return nil }
        thumbnail = text("Exec").flatMap(Self.commandLine)
        preview = text("X-Quire-PreviewExec").flatMap(Self.commandLine)
        guard thumbnail != nil || preview != nil else { return nil }
        self.path = path
        self.types = types
    }

    private static let group = "Thumbnailer Entry"

    /// Where a program is.
    private static func program(_ name: String) -> String? {
        guard let path = g_find_program_in_path(name) else { return nil }
        defer { g_free(path) }
        return String(cString: path)
    }

    private static func commandLine(_ line: String) -> CommandTemplate? {
        guard let words = CommandTemplate(line: line)?.words, let program = words.first.flatMap(program) else { return nil }
        return CommandTemplate([program] + words.dropFirst())
    }

    /// The program that renders.
    var program: String { thumbnail?.words.first ?? "" }

    /// The command line that renders a document, as it is run in a worker.
    package func command(suffix: String, pixels: Int) -> [String] {
        thumbnail?.filled(input: WorkPaths.input(suffix: suffix), output: WorkPaths.output, pixels: pixels) ?? []
    }
}
