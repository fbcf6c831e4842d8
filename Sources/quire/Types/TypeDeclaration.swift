import Glibc
import StorePrimitives
import SystemPackage

/// A file that declares types to the desktop (shared-mime-info specification), and where such files are.
struct TypeDeclaration {
    /// The relation of the declaring app to the types.
    enum Origin: String {
        /// The declaring app's own.
        case exported
        /// Another's: the app only opens documents of them. A declaration of their own goes before this one.
        case imported
    }

    let text: XMLText
    /// In order; each once.
    let types: [String]

    /// Throws what is wrong with the text.
    init(_ content: [UInt8]) throws(CommandFailure) {
        text = XMLText(content: content)
        let named = try Self.names(in: text)
        var types: [String] = []
        for name in named {
            guard let name else { throw CommandFailure("has an element mime-type without a type such as application/x-sketch") }
            if !types.contains(name) { types.append(name) }
        }
        guard !types.isEmpty else { throw CommandFailure("declares no type: there is no element mime-type") }
        self.types = types
    }

    /// The types that any file declares, without those whose names are none.
    static func types(in content: [UInt8]) -> [String] { ((try? names(in: XMLText(content: content))) ?? []).compactMap { $0 } }

    /// Nil for each name that is none.
    private static func names(in text: XMLText) throws(CommandFailure) -> [String?] {
        let starts = try text.starts("type")
        guard starts.first?.element == "mime-info" else { throw CommandFailure("does not begin with the element mime-info") }
        return starts.filter { $0.element == "mime-type" }.map { start in
            start.value.flatMap { String(validating: $0, as: UTF8.self) }.flatMap { isType($0) ? $0 : nil }
        }
    }

    private static func isType(_ text: String) -> Bool {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        return halves.count == 2 && halves.allSatisfy { half in
            guard let first = half.first, first.isASCII, first.isLetter || first.isNumber else { return false }
            return half.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "!#$&^_.+-".contains($0)) }
        }
    }

    /// Without some of its types; nil if none is left.
    func without(_ others: Set<String>) throws(CommandFailure) -> TypeDeclaration? {
        if Set(types).isSubset(of: others) { return nil }
        let kept = try text.removing("mime-type", where: "type") { others.contains(String(decoding: $0, as: UTF8.self)) }
        let declaration = try TypeDeclaration(kept.content)
        guard declaration.types == types.filter({ !others.contains($0) }) else { throw CommandFailure("is written in a way that cannot be taken apart") }
        return declaration
    }
}

/// The desktop's type database of the user; root's is the system's.
struct TypeDatabase {
    /// Where the user's own files are: a folder with `packages` in it.
    let folder: String
    /// All such folders, the user's first.
    private let folders: [String]

    init() throws(CommandFailure) {
        let own = geteuid() == 0 ? "/usr/local/share" : try StateFolders.userFolder("XDG_DATA_HOME", ".local/share")
        folder = own + "/mime"
        let system = (getenv("XDG_DATA_DIRS").map { String(cString: $0) } ?? "").split(separator: ":").map(String.init)
        folders = [own] + (system.isEmpty ? ["/usr/local/share", "/usr/share"] : system).filter { $0 != own }
    }

    private static func prefix(_ origin: TypeDeclaration.Origin) -> String { "org.quire.\(origin.rawValue)." }

    /// The file in which a declaration is kept that was in a file of this name.
    private func path(_ name: String, _ origin: TypeDeclaration.Origin) -> String { "\(folder)/packages/\(Self.prefix(origin))\(name)" }

    /// The files that declare each type, but for imported ones.
    private func declared() -> [String: String] {
        var found: [String: String] = [:]
        for folder in folders.map({ $0 + "/mime/packages" }) {
            for name in FileSystem.entries(Array(folder.utf8)) ?? [] where name.suffix(4).elementsEqual(".xml".utf8) {
                let name = String(decoding: name, as: UTF8.self)
                if name.hasPrefix(Self.prefix(.imported)) { continue }
                guard let content = FileSystem.contents("\(folder)/\(name)") else { continue }
                for type in TypeDeclaration.types(in: content) where found[type] == nil { found[type] = "\(folder)/\(name)" }
            }
        }
        return found
    }

    /// Declares types. Imported ones are left to whatever declares them already; exported ones take the place of imported ones.
    /// Returns the types that were left, with the files that declare them.
    func declare(_ declaration: TypeDeclaration, as origin: TypeDeclaration.Origin, name: String) throws(CommandFailure) -> [String: String] {
        var left: [String: String] = [:]
        var declaration = Optional(declaration)
        if origin == .imported {
            let others = declared()
            for type in declaration?.types ?? [] { left[type] = others[type] }
            declaration = try declaration?.without(Set(left.keys))
        }
        do throws(Errno) {
            try FileSystem.makeFolders(folder + "/packages", mode: 0o755)
            if let declaration {
                try Self.write(declaration.text.content, to: path(name, origin))
                if origin == .exported { try dropImported(Set(declaration.types)) }
            }
        } catch {
            throw CommandFailure("\(folder)/packages: \(error)")
        }
        try update()
        return left
    }

    /// Takes a declaration back, of either origin. Returns whether there was one.
    func forget(_ name: String) throws(CommandFailure) -> Bool {
        var wasThere = false
        for path in [path(name, .exported), path(name, .imported)] {
            if unlink(path) == 0 { wasThere = true } else if errno != ENOENT { throw CommandFailure("\(path): \(Errno(rawValue: errno))") }
        }
        if wasThere { try update() }
        return wasThere
    }

    private func dropImported(_ types: Set<String>) throws(Errno) {
        let packages = folder + "/packages"
        for name in FileSystem.entries(Array(packages.utf8)) ?? [] where name.starts(with: Self.prefix(.imported).utf8) {
            let path = packages + "/" + String(decoding: name, as: UTF8.self)
            guard let content = FileSystem.contents(path), let declaration = try? TypeDeclaration(content), !types.isDisjoint(with: declaration.types) else { continue }
            if let rest = try? declaration.without(types) { try Self.write(rest.text.content, to: path) } else { unlink(path) }
        }
    }

    private static func write(_ content: [UInt8], to path: String) throws(Errno) {
        try WholeFile.replace(path, with: content)
        if chmod(path, 0o644) != 0 { throw Errno(rawValue: errno) }
    }

    /// Has the desktop's own program read all files again.
    private func update() throws(CommandFailure) {
        let ended: (status: Int32, errors: String)
        do throws(Errno) { ended = try ChildProcess.run("update-mime-database", [Array(folder.utf8)]) } catch {
            throw CommandFailure("update-mime-database: \(error); install the package shared-mime-info")
        }
        guard ended.status == 0 else {
            throw CommandFailure("update-mime-database: \(ended.errors.isEmpty ? "failed with status \(ended.status)" : ended.errors)")
        }
    }

    /// The types that are derived from each (the file `subclasses` of shared-mime-info).
    func derived() -> [String: Set<String>] {
        var derived: [String: Set<String>] = [:]
        for folder in folders {
            for line in (FileSystem.contents(folder + "/mime/subclasses") ?? []).split(separator: UInt8(ascii: "\n")) {
                let names = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
                if names.count == 2, let type = names.first, let base = names.last { derived[base, default: []].insert(type) }
            }
        }
        return derived
    }
}
