import Glibc

/// A program that does as it is told: each line of Python is executed, and `r` is its answer. Killed with all that it has
/// started when the last reference goes.
final class Program {
    let id: pid_t
    private let input: Int32
    private let output: UnsafeMutablePointer<FILE>

    private static let code = """
        import ctypes, mmap, os, signal, subprocess, sys, threading, time
        c = ctypes.CDLL(None)
        os.closerange(3, 4096)  # what it has inherited from the tests
        for line in sys.stdin:
            r = None
            exec(line)
            print(r, flush=True)
        """

    init() {
        var (toProgram, fromProgram): ([Int32], [Int32]) = ([0, 0], [0, 0])
        precondition(pipe(&toProgram) == 0 && pipe(&fromProgram) == 0)
        for end in toProgram + fromProgram { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, toProgram[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromProgram[1], 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | Int32(POSIX_SPAWN_SETSIGMASK)))
        let words: [UnsafeMutablePointer<CChar>?] = [strdup("python3"), strdup("-c"), strdup(Self.code), nil]
        var id: pid_t = 0
        precondition(posix_spawnp(&id, "python3", &actions, &attributes, words, environ) == 0)
        for word in words { free(word) }
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        close(toProgram[0])
        close(fromProgram[1])
        self.id = id
        input = toProgram[1]
        output = fdopen(fromProgram[0], "r")
        tell("pass")
    }

    /// Executes a line and waits for its answer.
    @discardableResult
    func tell(_ line: String) -> String {
        let text = Array("\(line)\n".utf8)
        precondition(write(input, text, text.count) == text.count)
        // Answers are short and come one at a time: nothing of this one is in the buffer.
        var ready = pollfd(fd: fileno(output), events: Int16(POLLIN), revents: 0)
        precondition(poll(&ready, 1, 20_000) == 1, "no answer: \(line)")
        var (answer, size): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
        defer { free(answer) }
        let length = getline(&answer, &size, output)
        return length > 0 ? String(cString: answer!).split(separator: "\n").joined() : ""
    }

    func number(_ line: String) -> pid_t { pid_t(tell(line)) ?? 0 }

    deinit {
        close(input)
        fclose(output)
        kill(-id, SIGKILL)
        var status: Int32 = 0
        waitpid(id, &status, 0)
    }
}
