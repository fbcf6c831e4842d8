import CGio
import WorkerProtocol

/// A program that makes of a document one that can be shown: PDF, an image or text. It runs in a sandbox of its own.
struct Converter: Sendable, Equatable {
    /// Where it is.
    let program: String
    /// With `%i`, `%o` and the like.
    private let line: CommandTemplate
    /// Where it leaves what it makes.
    let result: String

    func command(suffix: String) -> [String] { line.filled(input: WorkPaths.input(suffix: suffix), output: result, pixels: 0) }

    /// A program that an app brought along.
    init(_ line: CommandTemplate) {
        program = line.words[0]
        self.line = line
        result = WorkPaths.output
    }

    /// LibreOffice, if it is installed.
    static var office: Converter? {
        guard let path = g_find_program_in_path("soffice") else { return nil }
        defer { g_free(path) }
        return Converter(office: String(cString: path))
    }

    private init(office program: String) {
        self.program = program
        // It names what it makes after what it reads.
        let folder = WorkPaths.scratch + "/result"
        line = CommandTemplate([program, "--headless", "--norestore", "--nologo", "--convert-to", "pdf", "--outdir", folder, "%i"])
        result = folder + "/document.pdf"
    }

    static func isOffice(_ type: DocumentType) -> Bool {
        officeFamilies.contains { type.name.hasPrefix($0) } || officeTypes.contains(type.name)
    }

    private static let officeFamilies = [
        "application/vnd.oasis.opendocument.", "application/vnd.openxmlformats-officedocument.", "application/vnd.sun.xml.",
    ]
    private static let officeTypes: Set = [
        "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/rtf", "application/vnd.ms-works",
        "application/vnd.wordperfect", "application/vnd.visio", "application/x-mspublisher",
    ]
}
