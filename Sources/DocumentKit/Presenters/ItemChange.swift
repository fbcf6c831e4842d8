import Foundation
import Glibc
import MountProtocol

/// Something happened to an item, as presenters are told.
struct ItemChange: Sendable {
    let kind: FileEvent.Kind
    let path: AbsolutePath
    let oldPath: AbsolutePath?
    let event: FileEvent

    /// What a mount's daemon tells; nil for a kind that this version does not know.
    init?(_ told: WatchedEvent) {
        guard let kind = FileEvent.Kind(rawValue: told.kind) else { return nil }
        self.kind = kind
        path = AbsolutePath(told.path)
        oldPath = told.oldPath.map { AbsolutePath($0) }
        event = FileEvent(
            kind: kind, url: path.url, oldURL: oldPath?.url, generation: told.generation,
            date: Date(timeIntervalSince1970: told.time),
            process: told.pid.map { .init(id: $0, name: told.process, user: told.uid) })
    }

    /// What this process has done.
    init(_ kind: FileEvent.Kind, at path: AbsolutePath, from oldPath: AbsolutePath? = nil) {
        (self.kind, self.path, self.oldPath) = (kind, path, oldPath)
        event = FileEvent(
            kind: kind, url: path.url, oldURL: oldPath?.url, generation: nil, date: Date(),
            process: .init(id: getpid(), name: ProcessInfo.processInfo.processName, user: getuid()))
    }

    var version: FileVersion { FileVersion(url: event.url, generation: event.generation, date: event.date) }
}

/// The writing end of an event sequence.
final class FileEventWriter: Sendable {
    private let continuation: AsyncStream<FileEvent>.Continuation

    init(_ continuation: AsyncStream<FileEvent>.Continuation) { self.continuation = continuation }

    /// A sequence that is full holds a `missed` behind whose taking everything is looked at again: so what finds no room
    /// behind it may be dropped.
    func yield(_ event: FileEvent) {
        if case .enqueued(remaining: 1) = continuation.yield(event) { yieldMissed(at: event.url) }
    }

    func yieldMissed(at url: URL) {
        continuation.yield(
            FileEvent(kind: .missed, url: url, oldURL: nil, generation: nil, date: Date(), process: nil))
    }
}
