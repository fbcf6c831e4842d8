import CLinux
import Glibc
import Logging
import StorePrimitives
import Synchronization

/// The daemon's log on standard error, which is the terminal, the service manager's, or the log file in the state folder. It says a
/// thing once and counts repetitions (`LogRepetitions`), and the file is bounded, too: when it is full it takes the name `.old`, and
/// goes on in a new one.
struct DaemonLog: LogHandler {
    private var inner: StreamLogHandler
    private let shared: Shared

    private final class Shared: Sendable {
        let repetitions = Mutex(LogRepetitions())
        /// The log file; nil if the log goes elsewhere.
        let file: String?

        init(file: String?) { self.file = file }
    }

    /// The most bytes of a log file; there are two at most.
    static let longest = 1 << 20

    /// - Parameter file: where the log file is, if standard error is that.
    init(label: String, file: String) {
        inner = StreamLogHandler.standardError(label: label)
        shared = Shared(file: Self.isStandardError(file) ? file : nil)
    }

    private static func isStandardError(_ file: String) -> Bool {
        var (own, named) = (stat(), stat())
        return fstat(STDERR_FILENO, &own) == 0 && stat(file, &named) == 0 && own.st_ino == named.st_ino && own.st_dev == named.st_dev
            && own.st_mode & S_IFMT == S_IFREG
    }

    /// Whether standard error is a log file, or was one that has taken the name `.old` by now.
    static func isInUse(_ file: String) -> Bool { isStandardError(file) || isStandardError(file + ".old") }

    /// Has this process write to what bears the log file's name now, which another process may have changed.
    static func reopen(_ file: String) {
        let new = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard new >= 0 else { return }
        dup2(new, STDERR_FILENO)
        dup2(new, STDOUT_FILENO)
        close(new)
    }

    func log(event: LogEvent) {
        // One thread writes at a time: lines stand in order, and the file is changed by one.
        shared.repetitions.withLock { repetitions in
            for line in repetitions.lines(for: event.message.description, at: cl_monotonic_ns()) {
                makeRoom()
                var event = event
                event.message = "\(line)"
                inner.log(event: event)
            }
        }
    }

    private func makeRoom() {
        guard let file = shared.file else { return }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0, status.st_size > Self.longest, rename(file, file + ".old") == 0 else { return }
        Self.reopen(file)
    }

    var logLevel: Logger.Level {
        get { inner.logLevel }
        set { inner.logLevel = newValue }
    }
    var metadata: Logger.Metadata {
        get { inner.metadata }
        set { inner.metadata = newValue }
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { inner[metadataKey: key] }
        set { inner[metadataKey: key] = newValue }
    }
}
