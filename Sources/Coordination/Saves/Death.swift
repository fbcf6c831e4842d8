import Glibc

/// How the thread ends that a FLUSH comes from.
public enum Death: Hashable, Sendable {
    /// It goes on, or exits of its own will.
    case none
    /// A signal is killing it; nil if the number is not to be seen.
    case killed(Int32?)
    /// It cannot be seen whether it is dying.
    case unknown

    /// Rule 10. A signal without a number counts as SIGKILL: what is discarded wrongly can be recovered, what is
    /// published wrongly has replaced the document.
    func discards(redirected: Bool) -> Bool {
        guard case .killed(let signal) = self else { return false }
        switch signal {
        case SIGPIPE: return false  // The reader of a pipeline has had enough.
        case SIGHUP, SIGINT, SIGTERM: return !redirected  // `vmstat 1 > f`, then ^C.
        default: return true
        }
    }
}
