import Glibc

/// Ends the program: a benchmark whose work fails has no figure to give.
func stop(_ what: String) -> Never { exit(saying: "benchmarks: \(what): \(String(cString: strerror(errno)))", code: 1) }

func exit(saying message: String, code: Int32) -> Never {
    let line = Array((message + "\n").utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(code)
}

@discardableResult
func require(_ result: Int32, _ what: @autoclosure () -> String) -> Int32 {
    if result < 0 { stop(what()) }
    return result
}

func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Names made before the clock starts, as the C calls want them. Kept until the program ends.
struct Names {
    let pointers: [UnsafeMutablePointer<CChar>]
    init(_ prefix: String, count: Int) { pointers = (0..<count).map { strdup("\(prefix)\($0)") } }
}

/// Calls `body` with the name of each entry of a folder, `.` and `..` among them.
func forEachEntry(of folder: String, _ body: (Int32, UnsafePointer<CChar>) -> Void) {
    guard let stream = opendir(folder) else { stop(folder) }
    defer { closedir(stream) }
    let descriptor = dirfd(stream)
    while let entry = readdir(stream) {
        let name = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \.d_name)!
        body(descriptor, name.assumingMemoryBound(to: CChar.self))
    }
}
