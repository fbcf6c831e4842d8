import SystemCalls

/// Copies a program, with execute permission.
func copyProgram(_ from: String, to: String) throws {
    let bytes = try content(from)
    let fd = try open(to, O_WRONLY | O_CREAT | O_EXCL, 0o755)
    try write(fd, bytes)
    try fchmod(fd, 0o755)
    try close(fd)
}

/// Becomes the program at `path`. Throws execve's errno.
func execute(_ path: String, _ arguments: [String]) throws -> Never {
    let strings = arguments.map { argument in
        let bytes = Array(argument.utf8CString)
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        copy.initialize(from: bytes, count: bytes.count)
        return UInt(bitPattern: copy)
    }
    // The strings live as long as this process image: until execve succeeds or the child reports and ends.
    let list = strings + [0]
    try withMemory(path) { (path) throws(Errno) in
        try withMemory(list) { (list) throws(Errno) in
            _ = try call(SYS_execve, path, list, UnsafeRawPointer(sc_environment()!), name: "execve")
        }
    }
    exitNow(127)
}

/// A program under way, between two pipes.
struct RunningProgram {
    let process: Int32
    private let input: Int32
    private let output: Int32

    init(_ path: String, _ arguments: [String] = []) throws {
        let (childInput, input) = try pipe()
        let (output, childOutput) = try pipe()
        process = Int32(try done(sc_fork(), name: "fork"))
        if process == 0 {
            // The copies are without FD_CLOEXEC.
            _ = sc_call(SYS_dup3, Int(childInput), 0, 0, 0, 0, 0)
            _ = sc_call(SYS_dup3, Int(childOutput), 1, 0, 0, 0, 0)
            try? execute(path, [path] + arguments)
            exitNow(126)
        }
        try close(childInput)
        try close(childOutput)
        (self.input, self.output) = (input, output)
    }
    /// What the program prints next, after being told `text`.
    func answer(_ text: String) throws -> [UInt8] {
        try write(input, text)
        return try read(output, 4096)
    }
    /// Closes the program's input and waits for its end.
    func end() throws -> Ending {
        try close(input)
        try close(output)
        return try wait(for: process)!
    }
    /// Closes the program's input and gives all it prints and how it ends.
    func finish() throws -> (output: String, ending: Ending) {
        try close(input)
        let text = String(decoding: try readAll(output), as: UTF8.self)
        try close(output)
        return (text, try wait(for: process)!)
    }
}

/// Runs a program without input and gives what it printed and how it ended.
func run(_ path: String, _ arguments: [String] = []) throws -> (output: String, ending: Ending) {
    try RunningProgram(path, arguments).finish()
}
