import Glibc
import TestSupport
import Testing

/// The programs of this package, where an ordinary user can run them: the package may lie in a folder closed to others.
enum Products {
    /// For PATH; removed when the tests end.
    private static let place: TemporaryFolder = {
        guard let place = try? TemporaryFolder(in: "/tmp") else { fatalError("/tmp must be writable") }
        let names = [
            "quire", "quire-worker", "PosixChecks", "FileExerciser", "SaveExerciser", "DiskRecorder", "HostileDisk", "AskedDisk",
            "CoordinatedProgram", "QuireEdit", "QuireLook", "QuireSync", "SketchPictures",
        ]
        for name in names {
            let copied = try? runProgram("cp", ["-p", builtProduct(name), place.path(name)])
            precondition(copied?.status == 0, "\(builtProduct(name)) is missing: build first")
        }
        // The modules that Tests/run has installed.
        let copied = try? runProgram("cp", ["-r", builtProduct("../../python"), place.path("python")])
        precondition(copied?.status == 0, "\(builtProduct("../../python")) is missing: run Tests/run first")
        let programs = try? runProgram("cp", ["-r", builtProduct("../../../Tests/Programs"), place.path("programs")])
        precondition(programs?.status == 0, "Tests/Programs is missing: run the tests in their checkout")
        atexit { removeTree(Products.folder) }
        return place
    }()
    static var folder: String { place.path }

    /// A file of Tests/Programs: a program in another language, or the beginning of one.
    static func text(of name: String) -> String {
        guard let text = try? readFile(place.path("programs/" + name)) else { preconditionFailure("Tests/Programs/\(name) is missing") }
        return text
    }

    static let searchPath = folder + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}
