import Foundation

/// Tells the desktop of a program of providers: by a `.thumbnailer` file, and a package of shared-mime-info for new types.
struct ProviderInstallation {
    private let program: ProviderProgram

    init(of program: ProviderProgram) { self.program = program }

    /// Where this program is.
    static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()

    /// `$XDG_DATA_HOME`, `~/.local/share` unless set (XDG Base Directory Specification).
    private static var dataFolder: URL {
        let environment = ProcessInfo.processInfo.environment
        if let set = environment["XDG_DATA_HOME"], set.hasPrefix("/") { return URL(filePath: set) }
        return URL(filePath: environment["HOME"] ?? NSHomeDirectory()).appending(path: ".local/share")
    }

    private var name: String { Self.program.lastPathComponent }
    private var thumbnailerFile: URL { Self.dataFolder.appending(path: "thumbnailers/\(name).thumbnailer") }
    private var typesFile: URL { Self.dataFolder.appending(path: "mime/packages/\(name).xml") }

    func install() throws {
        try write(thumbnailer, to: thumbnailerFile)
        let newTypes = program.contentTypes.filter { !$0.patterns.isEmpty }
        guard !newTypes.isEmpty else { return }
        try write(Self.package(newTypes), to: typesFile)
        try updateTypes()
    }

    func uninstall() throws {
        for file in [thumbnailerFile, typesFile] where FileManager.default.fileExists(atPath: file.path) {
            try FileManager.default.removeItem(at: file)
        }
        try updateTypes()
    }

    private func write(_ text: String, to file: URL) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file, options: .atomic)
    }

    private var thumbnailer: String {
        let path = Self.quoted(Self.program.path)
        var lines = ["[Thumbnailer Entry]", "TryExec=\(Self.program.path)"]
        if program.thumbnails != nil { lines.append("Exec=\(path) --thumbnail %i %o %s") }
        if program.previews != nil { lines.append("X-Quire-PreviewExec=\(path) --preview %i %o") }
        lines.append("MimeType=" + program.contentTypes.map { $0.identifier + ";" }.joined())
        return lines.joined(separator: "\n") + "\n"
    }

    /// As a shell takes it for one word, and a key file for a value; percent signs stand for themselves.
    private static func quoted(_ path: String) -> String {
        let escaped = path.replacingOccurrences(of: "\\", with: "\\\\\\\\").replacingOccurrences(of: "\"", with: "\\\\\"")
            .replacingOccurrences(of: "%", with: "%%")
        return "\"\(escaped)\""
    }

    private static func package(_ types: [DocumentContentType]) -> String {
        let entries = types.map { type in
            let globs = type.patterns.map { "    <glob pattern=\"\(escaped($0))\"/>\n" }.joined()
            return """
                  <mime-type type="\(escaped(type.identifier))">
                    <comment>\(escaped(type.explanation))</comment>
                \(globs)  </mime-type>

                """
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
            \(entries.joined())</mime-info>

            """
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;")
    }

    /// update-mime-database(1), of the package shared-mime-info.
    private func updateTypes() throws {
        let folder = Self.dataFolder.appending(path: "mime")
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        let update = Process()
        update.executableURL = URL(filePath: "/usr/bin/env")
        update.arguments = ["update-mime-database", folder.path]
        update.standardError = FileHandle.nullDevice
        try update.run()
        update.waitUntilExit()
        guard update.terminationStatus == 0 else {
            throw ProviderFailure("\(folder.path): the desktop's types could not be updated; install the package shared-mime-info")
        }
    }
}
