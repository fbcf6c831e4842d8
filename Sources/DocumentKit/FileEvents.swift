public import Foundation
import MountProtocol

/// Something happened to an item.
public struct FileEvent: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        case appeared, changed, moved, deleted
        /// Tags, dates, mode or owner.
        case attributesChanged
        case versionGained, versionLost
        /// A save failed, or its process was killed: the document is as it was.
        case saveAborted
        /// Events were missed, since too many came at a time or the daemon was away: look at everything again.
        case missed
    }

    /// Who did it.
    public struct Process: Hashable, Sendable {
        public let id: Int32
        public let name: String?
        public let user: UInt32?
    }

    public let kind: Kind
    public let url: URL
    /// Where it was before it was moved; for `appeared`, where the document was moved to whose place it takes.
    public let oldURL: URL?
    /// Rises with each version of a document.
    public let generation: UInt64?
    public let date: Date
    /// Nil if it is not known, as for most of what is done outside of the mount.
    public let process: Process?
}

/// The events of one item, from ``FileCoordinator/events(forItemAt:)`` on, in order. Ends with its task or when it is let go
/// of.
///
/// A thousand events are kept for who does not take them; then one `missed` takes the place of what did not fit.
public struct FileEvents: AsyncSequence, Sendable {
    public typealias Element = FileEvent
    public typealias Failure = Never

    let stream: AsyncStream<FileEvent>

    public struct AsyncIterator: AsyncIteratorProtocol {
        var iterator: AsyncStream<FileEvent>.Iterator

        /// Waits for the next event; nil when the task was cancelled.
        public mutating func next() async -> FileEvent? { await iterator.next() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(iterator: stream.makeAsyncIterator()) }
}

extension FileCoordinator {
    /// What happens to a document, or to a folder and everything in it, from now on.
    ///
    /// Tells what presenters are told: in a mount what other processes do, whether they know of coordination or not, and what
    /// this process does through coordinators; outside of mounts only the latter. Costs no thread and no connection: all
    /// events and presenters of a mount share one.
    /// - Throws: `permissionDenied` if the user may not read the item, `failed` for a URL that is no file's.
    public static func events(forItemAt url: URL) async throws(FileCoordinationError) -> FileEvents {
        let path = try AbsolutePath(url, resolvesLink: true)
        let (stream, continuation) = AsyncStream.makeStream(of: FileEvent.self, bufferingPolicy: .bufferingOldest(1_000))
        let feed = FileEventWriter(continuation)
        let member = RegisteredPresenter(feed, at: path)
        continuation.onTermination = { _ in WaitingThreads.releases.run { PresenterRegistry.shared.remove(member) } }
        let failure = await WaitingThreads.claims.result { PresenterRegistry.shared.add(member) }
        if let failure {
            continuation.finish()
            throw failure
        }
        return FileEvents(stream: stream)
    }
}
