import Coordination
import FuseServer
import Glibc
public import StorePrimitives

/// What `quire status` tells of saves and writers, to each user of the documents accessible to them.
extension MountedStore {
    /// A handle that writes a document in place.
    public struct Writer: Sendable {
        public let path: StorePath
        public let process: pid_t
        public let name: String
        /// Why it is no transaction: a word, and a sentence.
        public let reason: String
        public let explanation: String
    }

    /// A save under way. Times in seconds.
    public struct SaveUnderWay: Sendable {
        public let path: StorePath
        public let process: pid_t
        public let name: String
        /// `arriving`, `open` or `publishing`.
        public let state: String
        public let age: Double
        public let idle: Double
        public let bytes: Int64
    }

    /// The handles that write documents in place, by path.
    public func openWriters(for caller: Credentials) -> [Writer] {
        let handles = fileSystem.writers.current.compactMap { handle -> (handle: FileHandle, path: StorePath, LiveReason)? in
            guard let reason = fileSystem.saves.reason(of: handle), let path = fileSystem.saves.path(of: handle.node)
            else { return nil }
            return (handle, path, reason)
        }
        let isAccessible = recents.access.filter(handles.map(\.path), caller)
        return zip(handles, isAccessible).filter(\.1).map { entry, _ in
            let thread = entry.handle.caller.thread
            let process = ProcessFacts.status(of: thread)?.group ?? thread
            return Writer(
                path: entry.path, process: process, name: ProcessFacts.name(of: process) ?? "", reason: entry.2.rawValue,
                explanation: entry.2.sentence)
        }.sorted { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }
    }

    /// The saves under way, by path, the older first.
    public func openSaves(for caller: Credentials) -> [SaveUnderWay] {
        let saves = fileSystem.saves.openSaves
        let isAccessible = recents.access.filter(saves.map(\.path), caller)
        let now = SaveService.now
        func seconds(since time: UInt64) -> Double { now > time ? Double(now - time) / 1e9 : 0 }
        return zip(saves, isAccessible).filter(\.1).map { entry, _ in
            SaveUnderWay(
                path: entry.path, process: entry.save.process.id, name: ProcessFacts.name(of: entry.save.process.id) ?? "",
                state: entry.save.phase.rawValue, age: seconds(since: entry.save.began),
                idle: seconds(since: entry.save.lastActivity), bytes: Int64(clamping: entry.save.bytes))
        }.sorted { ($0.path.description, $1.age) < ($1.path.description, $0.age) }
    }

    /// How many opens for writing were transactions (`transactional`), and how many live for which reason (`live.` and the
    /// reason's word).
    public var opensForWriting: [String: Int] {
        let counters = fileSystem.saves.counters.withLock { $0 }
        var result = ["transactional": counters.transactional]
        for (reason, count) in counters.live { result["live.\(reason.rawValue)"] = count }
        return result
    }
}
