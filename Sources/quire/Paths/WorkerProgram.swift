import Glibc

/// The program that draws thumbnails, `quire-worker`: installed with this one.
enum WorkerProgram {
    static let name = "quire-worker"

    /// Beside this program, or in the folder `libexec` beside its own. If it is in neither, where it should be.
    static let path: String = {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &target, target.count - 1)
        let program = String(decoding: target.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = program.lastIndex(of: "/").map { String(program[..<$0]) } ?? ""
        let beside = "\(folder)/\(name)"
        let library = "\(folder)/../libexec/quire/\(name)"
        return access(beside, X_OK) != 0 && access(library, X_OK) == 0 ? library : beside
    }()
}
