import CGio
import Glibc
import WorkerProtocol

/// Tesseract (tesseract(1)), which recognizes text in pictures. It runs in a sandbox of its own.
struct TextRecognizer: Sendable {
    let program: String
    /// As its option -l takes them: `eng+deu`.
    private let languages: String

    /// Nil if it is not installed, or has no language.
    static var installed: TextRecognizer? {
        guard let path = g_find_program_in_path("tesseract") else { return nil }
        defer { g_free(path) }
        let languages = installedLanguages
        return languages.isEmpty ? nil : TextRecognizer(program: String(cString: path), languages: languages.joined(separator: "+"))
    }

    /// Each takes its time with every picture.
    private static let mostLanguages = 4

    private static var installedLanguages: [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob("/usr/share/tesseract-ocr/*/tessdata/*.traineddata", 0, nil, &found) == 0 else { return [] }
        let names = UnsafeBufferPointer(start: found.gl_pathv, count: Int(clamping: found.gl_pathc)).compactMap { path -> String? in
            path.flatMap { String(cString: $0).split(separator: "/").last?.split(separator: ".").first.map(String.init) }
        }
        // The data of these are no languages.
        return Array(names.filter { $0 != "osd" && $0 != "equ" }.prefix(mostLanguages))
    }

    /// The request that has a worker recognize the text of a picture.
    func request(suffix: String) -> WorkRequest {
        let output = WorkPaths.scratch + "/words"
        // One thread: the reading of texts is to leave processors to others.
        let command = ["env", "OMP_THREAD_LIMIT=1", program, WorkPaths.input(suffix: suffix), output, "-l", languages]
        return .convert(command: command, suffix: suffix, result: output + ".txt")
    }
}
