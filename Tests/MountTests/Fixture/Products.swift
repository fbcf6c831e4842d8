import Glibc
import TestSupport
import Testing

/// The programs of this package, where an ordinary user can run them: the package may lie in a folder closed to others.
enum Products {
    /// A folder for PATH, removed when the tests end.
    static let folder: String = {
        var template = Array("/tmp/quire-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("/tmp must be writable") }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        chmod(folder, 0o755)
        for name in ["quire", "PosixChecks", "FileExerciser"] {
            let copied = try? runProgram("cp", ["-p", builtProduct(name), "\(folder)/\(name)"])
            precondition(copied?.status == 0, "\(builtProduct(name)) is missing: build first")
        }
        atexit { removeTree(Products.folder) }
        return folder
    }()

    static let searchPath = folder + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}
