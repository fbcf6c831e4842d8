import CLinux
import Glibc
import StorePrimitives

/// Waits for a process that is no child of this one. Holds its folder in /proc, so that a new process with the same
/// number is not taken for it.
struct ProcessEnd {
    private let folder: Descriptor

    /// Nil if there is no such process.
    init?(of pid: Int32) {
        guard let folder = try? Descriptor(opening: "/proc/\(pid)", flags: O_RDONLY | O_DIRECTORY) else { return nil }
        self.folder = folder
    }

    /// Whether the process ended before `limit`.
    func happens(within limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        while !hasHappened {
            guard ContinuousClock.now < deadline else { return false }
            usleep(5_000)
        }
        return true
    }

    /// Gone, or a zombie that its parent has not asked about.
    private var hasHappened: Bool {
        let file = cl_openat(folder.number, "stat", O_RDONLY, 0)
        guard file >= 0 else { return true }
        defer { cl_close(file) }
        var text = [UInt8](repeating: 0, count: 512)
        let count = cl_read(file, &text, text.count)
        guard count > 0, let name = text[..<count].lastIndex(of: UInt8(ascii: ")")) else { return true }
        // proc(5): the state's letter stands a space after the name.
        return text[name + 2] == UInt8(ascii: "Z")
    }
}
