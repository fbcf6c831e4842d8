import Glibc

/// How the thread ends that a FLUSH comes from.
public enum Death: Hashable, Sendable {
    /// It goes on, or exits of its own will.
    case none
    /// A signal is killing it; nil if the number is not to be seen.
    case killed(Int32?)
    /// It cannot be seen whether it is dying.
    case unknown

    /// The signals that do not discard every save: what they do depends on whether it is a redirection.
    public static let mildSignals = [SIGTERM, SIGINT, SIGHUP, SIGPIPE]

    /// Rule 10. A signal without a number counts as SIGKILL: what is discarded wrongly can be recovered, what is
    /// published wrongly has replaced the document.
    func discards(redirected: Bool) -> Bool {
        guard case .killed(let signal) = self else { return false }
        guard let signal, Self.mildSignals.contains(signal) else { return true }
        // The reader of a pipeline has had enough; or `vmstat 1 > f`, then ^C.
        return signal != SIGPIPE && !redirected
    }
}
