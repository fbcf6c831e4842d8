import Glibc

/// The program of the workers, `quire-worker`.
public enum WorkerProgram {
    public static let name = "quire-worker"

    /// Beside the running program, or in the folder `libexec` beside its own, or where it is installed. If it is in none of them,
    /// where it should be.
    public static let path: String = {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &target, target.count - 1)
        let program = String(decoding: target.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = program.lastIndex(of: "/").map { String(program[..<$0]) } ?? ""
        let places = ["\(folder)/", "\(folder)/../libexec/quire/", "/usr/local/libexec/quire/", "/usr/libexec/quire/"].map { $0 + name }
        return places.first { access($0, X_OK) == 0 } ?? places[0]
    }()
}
