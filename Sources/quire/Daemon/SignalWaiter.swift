import CLinux
import Glibc

/// Turns the signals that ask a daemon to end into one call on a thread of its own.
enum SignalWaiter {
    private static let ending = [SIGTERM, SIGINT, SIGHUP]

    /// Blocks the signals in this thread and all it will start, and ignores SIGPIPE. Faults end the process at once: Swift's own
    /// handlers stop all threads for seconds, while every program in the mount waits, and go on after such a signal that was sent.
    /// To be called before any thread starts.
    static func block() {
        signal(SIGPIPE, SIG_IGN)
        for fault in [SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGQUIT] { signal(fault, SIG_DFL) }
        var signals = set
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Calls `end` for each such signal from now on.
    static func start(_ end: @escaping @Sendable (_ signal: Int32) -> Void) {
        let box = Unmanaged.passRetained(Callback(end))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, nil,
            { argument in
                // Safe: the box is retained for as long as the thread runs, which is as long as the process.
                let callback = Unmanaged<Callback>.fromOpaque(argument!).takeUnretainedValue()
                _ = cl_set_thread_name("signals")
                var signals = SignalWaiter.set
                var signal: Int32 = 0
                while true { if sigwait(&signals, &signal) == 0 { callback.end(signal) } }
            }, box.toOpaque())
        precondition(result == 0, "no thread for signals: errno \(result)")
        pthread_detach(thread)
    }

    private static var set: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in ending { sigaddset(&signals, signal) }
        return signals
    }

    private final class Callback: Sendable {
        let end: @Sendable (Int32) -> Void
        init(_ end: @escaping @Sendable (Int32) -> Void) { self.end = end }
    }
}
