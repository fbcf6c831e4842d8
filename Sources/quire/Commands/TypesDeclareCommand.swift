import ArgumentParser
import DocumentRendering
import Glibc
import StorePrimitives

struct TypesDeclareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "declare", abstract: "Declare types of documents to the desktop.",
        discussion: """
            Takes a file as shared-mime-info describes it, and keeps it in ~/.local/share/mime/packages; as root, for all users, in \
            /usr/local/share/mime/packages. The file's name is that of the declaration: a later one of that name takes its place.

            An app declares the types of its own documents so. With --imported it declares types of other apps that it opens too: these count \
            as long as nobody declares the same type as his own.

            With --icon, documents of the file's first type get this icon.

            Example:
              quire types declare sketch.xml --icon sketch.svg

            Exit codes: 0 declared, or left to other declarations, which are named; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "A file of XML: mime-info with elements mime-type.") var file: PathArgument
    @Flag(help: "The types are other apps'.") var imported = false
    @Option(help: "A picture for documents of the first type, SVG or PNG.") var icon: PathArgument?

    func run() throws {
        let name = String(decoding: file.bytes.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
        guard name.hasSuffix(".xml"), name.utf8.count < 200 else { throw CommandFailure("\(file.description): the name does not end in .xml, or is too long") }
        let declaration: TypeDeclaration
        do throws(CommandFailure) { declaration = try TypeDeclaration(try Self.content(of: file)) } catch {
            throw CommandFailure("\(file.description): \(error.message)")
        }
        let database = try TypeDatabase()
        let left = try database.declare(declaration, as: imported ? .imported : .exported, name: name)
        for (type, path) in left.sorted(by: { $0.key < $1.key }) { Output.error("quire: \(type) is left to \(path)") }
        if let icon, let type = declaration.types.first, left[type] == nil { try TypeIcon.install(icon, for: type, beside: database) }
    }

    static func content(of file: PathArgument, atMost limit: Int = 1 << 20) throws(CommandFailure) -> [UInt8] {
        guard let content = FileSystem.contents(file.description) else { throw CommandFailure("cannot be read") }
        guard content.count <= limit else { throw CommandFailure("is longer than \(Figures.size(Int64(clamping: limit)))") }
        return content
    }
}

/// Icons of types, in the theme that all others go back to (freedesktop.org, Icon Theme Specification).
private enum TypeIcon {
    static func install(_ file: PathArgument, for type: String, beside database: TypeDatabase) throws(CommandFailure) {
        let content: [UInt8]
        do throws(CommandFailure) { content = try TypesDeclareCommand.content(of: file, atMost: 8 << 20) } catch {
            throw CommandFailure("\(file.description): \(error.message)")
        }
        let isPicture = content.starts(with: [0x89, 0x50, 0x4E, 0x47])
        let isDrawing = !isPicture && (try? XMLText(content: content).starts("id").first?.element.split(separator: ":").last == "svg") == true
        guard isPicture || isDrawing else { throw CommandFailure("\(file.description): is neither SVG nor PNG") }
        let folder = database.folder.dropLast("mime".count) + "icons/hicolor/\(isDrawing ? "scalable" : "256x256")/mimetypes"
        let path = "\(folder)/\(type.replacing("/", with: "-")).\(isDrawing ? "svg" : "png")"
        do {
            try FileSystem.makeFolders(String(folder), mode: 0o755)
            try WholeFile.replace(path, with: content)
        } catch {
            throw CommandFailure("\(path): \(error)")
        }
        chmod(path, 0o644)
    }
}

struct TypesForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Take a declaration back.",
        discussion: """
            Example:
              quire types forget sketch.xml

            Exit codes: 0 taken back; 1 failed, or there is none of that name; 64 the command line is wrong.
            """)

    @Argument(help: "The name of the file that was declared, without folders.") var name: String

    func run() throws {
        guard !name.contains("/"), try TypeDatabase().forget(name) else { throw CommandFailure("\(name): is no declaration of yours") }
    }
}

struct TypesTreeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tree", abstract: "Show types, and below each those that are derived from it.",
        discussion: """
            A query for a type finds the types derived from it as well ('quire help search').

            Example:
              quire types tree text/plain

            Exit codes: 0 shown; 1 there is no such type; 64 the command line is wrong.
            """)

    @Argument(help: "A type; all, if it is left out.") var type: String?
    @Flag(help: "Write JSON: an array of objects with type, explanation and derived.") var json = false

    private struct Branch: Encodable {
        let type: String
        let explanation: String
        let derived: [Branch]
    }

    func run() throws {
        let derived = try TypeDatabase().derived()
        let bases = Set(derived.keys).subtracting(derived.values.flatMap { $0 })
        let branches = (type.map { [$0] } ?? bases.sorted()).map { Self.branch($0, derived, below: []) }
        if let type, derived[type] == nil, !DocumentType(type).isRegistered { throw CommandFailure("\(type): there is no such type") }
        if json { return Output.json(branches) }
        for branch in branches { Self.show(branch, "") }
    }

    /// A damaged database may have a type derived from itself.
    private static func branch(_ type: String, _ derived: [String: Set<String>], below: Set<String>) -> Branch {
        let inner = below.contains(type) ? [] : (derived[type] ?? []).sorted()
        return Branch(type: type, explanation: DocumentType(type).explanation, derived: inner.map { branch($0, derived, below: below.union([type])) })
    }

    private static func show(_ branch: Branch, _ indent: String) {
        Output.line("\(indent)\(branch.type) (\(branch.explanation))")
        for inner in branch.derived { show(inner, indent + "  ") }
    }
}

struct TypesAppsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps", abstract: "List the programs that open documents of a type.",
        discussion: """
            In the desktop's order: the default, those that say that they open the type (recommended), and those that open a type from \
            which it is derived (other).

            Examples:
              quire types apps application/pdf
              quire types apps report.odt

            Exit codes: 0 listed; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "A type, or a document.") var what: PathArgument
    @Flag(help: "Write JSON: an array of objects with id, name and rank.") var json = false

    func run() throws {
        let type: DocumentType
        do { type = try LocalThumbnails.type(of: what.bytes) } catch {
            guard what.description.contains("/") else { throw CommandFailure("\(what.description): \(error)") }
            type = DocumentType(what.description)
        }
        let apps = TypeApp.all(for: type)
        if json { return Output.json(apps) }
        for app in apps { Output.line("\(app.rank.rawValue.padding(toLength: 12, withPad: " ", startingAt: 0))\(app.id) (\(app.name))") }
    }
}

struct TypesUseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use", abstract: "Choose the program that opens documents of a type.",
        discussion: """
            Example:
              quire types use application/pdf org.kde.okular

            Exit codes: 0 chosen; 1 failed; 64 the command line is wrong.
            """)

    @Argument(help: "A type, such as application/pdf.") var type: String
    @Argument(help: "The name of the program's desktop file.") var app: String

    func run() throws { try TypeApp.choose(app, for: DocumentType(type)) }
}
