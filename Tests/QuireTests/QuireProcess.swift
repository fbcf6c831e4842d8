import Glibc
import Testing

/// The built command, beside the test program, run to its end.
struct QuireProcess {
    let status: Int32
    let output: String
    let errors: String

    static func run(_ arguments: String..., environment: [String] = []) throws -> QuireProcess {
        try run(arguments, environment: environment)
    }

    static func run(_ arguments: [String], environment: [String] = []) throws -> QuireProcess {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count)
        let own = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let program = own[...own.lastIndex(of: "/")!] + "quire"

        var files = [[Int32]](repeating: [-1, -1], count: 2)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for index in files.indices {
            try #require(pipe(&files[index]) == 0)
            for end in files[index] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            posix_spawn_file_actions_adddup2(&actions, files[index][1], Int32(index + 1))
        }
        let words: [UnsafeMutablePointer<CChar>?] = ([String(program)] + arguments).map { strdup($0) } + [nil]
        var settings: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) }
        var next = environ
        while let setting = next.pointee {
            settings.append(strdup(setting))
            next += 1
        }
        defer { for pointer in words + settings { free(pointer) } }
        var pid: pid_t = 0
        try #require(posix_spawn(&pid, String(program), &actions, nil, words, settings + [nil]) == 0, "no \(program)")
        for file in files { close(file[1]) }
        // What these commands write fits a pipe, so reading one after the other never blocks the command.
        let texts = files.map { file in
            defer { close(file[0]) }
            return readAll(file[0])
        }
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        return QuireProcess(status: status & 0x7f == 0 ? status >> 8 & 0xff : -1, output: texts[0], errors: texts[1])
    }

    private static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while case let count = read(descriptor, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A folder of its own under /tmp, taken away at the end.
func withFolder(_ body: (String) throws -> Void) throws {
    var template = Array("/tmp/quire-command-XXXXXX".utf8CString)
    let folder = String(cString: try #require(mkdtemp(&template)))
    defer { removeAll(folder) }
    try body(folder)
}

private func removeAll(_ path: String) {
    if let stream = opendir(path) {
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { removeAll("\(path)/\(name)") }
        }
        closedir(stream)
    }
    remove(path)
}

/// Makes a file with the given content.
func write(_ text: String, to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    _ = text.withCString { Glibc.write(descriptor, $0, strlen($0)) }
    close(descriptor)
}
