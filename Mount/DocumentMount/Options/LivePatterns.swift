import Glibc

/// Which documents are written in place and not by transactions, by their names: shell patterns on the last component.
public struct LivePatterns: Hashable, Sendable {
    /// What is live unless the mount is told otherwise. On each of these the promise would do harm:
    /// - `*.log`: is followed while it is written (`tail -f`, a script that waits for "ready"), and its last lines are wanted
    ///   most when the program that wrote them was killed. `typescript`, which script(1) writes until its session ends,
    ///   is the same.
    /// - `*.part`, `*.crdownload`: downloads that are not whole. What came before a kill is what the next try resumes;
    ///   the older part in its place, resumed by what is known of the newer one, would make a document of two.
    /// - `*.pid`, `*.lck`: kept open as long as a program runs, and read meanwhile by others for the process named in them.
    ///
    /// Not `*.lock`: most of these are documents (Cargo.lock, yarn.lock), and those used as locks are empty or made anew,
    /// so live without being listed. Not databases nor torrents: they never truncate while shared. Not FIFOs and devices, which
    /// are no documents.
    public static let standard = LivePatterns(["*.log", "typescript", "*.part", "*.crdownload", "*.pid", "*.lck"])

    public private(set) var patterns: [String]
    /// The patterns again as fnmatch(3) takes them, so that a match allocates nothing.
    private var terminated: [ContiguousArray<CChar>]

    public init(_ patterns: [String]) {
        self.patterns = []
        terminated = []
        for pattern in patterns { add(pattern) }
    }

    public mutating func add(_ pattern: String) {
        guard !patterns.contains(pattern) else { return }
        patterns.append(pattern)
        terminated.append(ContiguousArray(pattern.utf8CString))
    }

    /// Whether a file of this name, one component, is live. Case counts; `*` and `?` match a dot at the beginning, too. `?` is
    /// one byte, in whatever locale: the daemon's is always C. Some 0.1 us for each pattern, no allocation.
    public func matches(_ name: UnsafePointer<CChar>) -> Bool {
        for pattern in terminated where pattern.withUnsafeBufferPointer({ fnmatch($0.baseAddress!, name, 0) }) == 0 { return true }
        return false
    }
}
