internal import CLinux

/// When a search has to end. For one thread.
final class SearchDeadline {
    /// On the monotonic clock, in nanoseconds.
    private let time: Int64
    /// Work since the clock was last looked at, of about a nanosecond each.
    private var spent = 0

    init(within time: Duration) {
        let (seconds, attoseconds) = time.components
        let nanoseconds = seconds.multiplied(clamping: 1_000_000_000).adding(clamping: attoseconds / 1_000_000_000)
        self.time = cl_monotonic_ns().adding(clamping: nanoseconds)
    }

    /// Throws `.searchTooLong`.
    func check() throws { if cl_monotonic_ns() > time { throw IndexError.searchTooLong } }

    /// Looks at the clock at every millisecond or so of work.
    @inline(__always)
    func spend(_ work: Int) throws {
        spent &+= work
        if spent > 1_000_000 {
            spent = 0
            try check()
        }
    }
}
