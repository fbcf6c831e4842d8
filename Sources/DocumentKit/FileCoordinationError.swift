public import Foundation

/// Why an access was not coordinated. Everything that `FileCoordinator` itself throws is one of these; what an accessor
/// throws is passed on as it is.
public enum FileCoordinationError: Error, Hashable, Sendable {
    /// `FileCoordinator.cancel()` was called, or the task was cancelled, before the access was granted. Apple's systems say
    /// `NSUserCancelledError` here.
    case cancelled
    /// The access was not granted in time. The text says who is in the way: `/docs/report.odt is held by vim (pid 4711)`.
    case timedOut(String)
    /// Who is in the way waits for the caller: waiting would never end. The text says who.
    case deadlock(String)
    /// The user may not read or write an item in that way.
    case permissionDenied(String)
    /// The mount's daemon is gone. Before the accessor ran: nothing was done. After it ran: the access was lost meanwhile,
    /// and others may have written too. Once the store is mounted again the same coordinator can be used again.
    case disconnected(String)
    /// Anything else; the text says what. A presenter that could not save or let go is one.
    case failed(String)
}

extension FileCoordinationError: CustomStringConvertible, LocalizedError {
    public var description: String {
        switch self {
        case .cancelled: "the file access was cancelled"
        case .timedOut(let text), .deadlock(let text), .permissionDenied(let text), .disconnected(let text), .failed(let text):
            text
        }
    }

    public var errorDescription: String? { description }
}
