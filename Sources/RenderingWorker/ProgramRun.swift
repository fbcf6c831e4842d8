import Glibc
import WorkerProtocol

/// Has a program of somebody else's render or convert. Each has a sandbox of its own, which is taken down after it.
enum ProgramRun {
    /// The bytes of what the program makes.
    static func convert(
        _ command: [String], suffix: String, _ files: WorkFiles, result path: String
    ) throws(WorkRefusal) -> [UInt8] {
        let output = try result(of: command, suffix: suffix, files, at: path)
        defer { close(output) }
        var bytes = [UInt8](repeating: 0, count: WorkLimits.result + 1)
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes { read(output, $0.baseAddress! + length, $0.count - length) }
            guard count > 0 else { break }
            length += count
        }
        guard length > 0, length <= WorkLimits.result else { throw WorkRefusal("\(command[0]) has made nothing, or too much") }
        return Array(bytes.prefix(length))
    }

    /// Runs the program, and opens what it has made.
    private static func result(
        of command: [String], suffix: String, _ files: WorkFiles, at path: String
    ) throws(WorkRefusal) -> Int32 {
        guard let program = command.first else { throw WorkRefusal("no program was named") }
        // A copy, so that the program has a file with a name, and nothing by which the document itself could be changed: it might
        // open again what this process has open.
        try copy(try files.input(0), to: WorkPaths.input(suffix: suffix))
        files.closeInputs()
        let status = try run(command)
        guard status == 0 else { throw WorkRefusal("\(program) failed (\(ending(status)))") }
        let output = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard output >= 0 else { throw WorkRefusal("\(program) has made nothing") }
        return output
    }

    private static func copy(_ input: Int32, to path: String) throws(WorkRefusal) {
        let copy = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard copy >= 0 else { throw WorkRefusal("the document cannot be copied") }
        defer { close(copy) }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        var offset = 0
        while true {
            let count = pread(input, &chunk, chunk.count, off_t(offset))
            if count == 0 { return }
            offset += count
            guard count > 0, offset <= WorkLimits.copied, write(copy, chunk, count) == count else {
                throw WorkRefusal("it is too large for programs that are not Quire's own")
            }
        }
    }

    private static func run(_ command: [String]) throws(WorkRefusal) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
        }
        let words = command.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        guard posix_spawnp(&pid, command[0], &actions, nil, words, environ) == 0 else {
            throw WorkRefusal("\(command[0]) cannot be started")
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { guard errno == EINTR else { throw WorkRefusal("\(command[0]) was lost") } }
        return status
    }

    private static func ending(_ status: Int32) -> String {
        status & 0x7f == 0 ? "status \(status >> 8 & 0xff)" : "signal \(status & 0x7f)"
    }
}
