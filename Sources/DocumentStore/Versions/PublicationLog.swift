import CLinux
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// What is about to be published in place: logged before a document's content is touched, so that the next mount can complete
/// what a crash cut short.
struct PendingPublication: Equatable, Sendable {
    /// Where the document stood.
    let folder: StorePath
    let name: EntryName
    /// The new version's name in that folder.
    let hidden: EntryName
    /// The document. Device numbers are given anew at each start of the machine: only these two are compared.
    let inode: UInt64
    let birth: Int64
    /// The document before the copying: bytes, and nanoseconds since 1970.
    let size: Int64
    let modified: Int64
    let started: Int64
    /// The copying writes until then and not later, unless it has said so before: a later modification is somebody else's.
    var until: Int64
}

/// The file `intents` in the state folder. Lines are appended and synced: `begin ID ...`, `until ID TIME`, `done ID`; of what is
/// published together `item ID ...` for each name and then `group ID COUNT`, without which the items are none. When nothing is
/// under way any more the file is cut to nothing.
final class PublicationLog: Sendable {
    private struct State {
        var nextID: UInt64 = 1
        var open: Set<UInt64> = []
    }

    private let file: Descriptor
    /// A leaf.
    private let state: Mutex<State>
    /// What an earlier daemon began and did not finish.
    let leftOver: [UInt64: PendingPublication]
    /// The same of what was to be published together.
    let leftOverGroups: [UInt64: [GroupItem]]

    /// Opens or makes the log. A line that was not written whole is as if it had not been written: nothing was done yet.
    init(in folder: Descriptor) throws(Errno) {
        file = try Descriptor(opening: "intents", in: folder, flags: O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK, mode: 0o600)
        let text = try WholeFile.read(file)
        var left: [UInt64: PendingPublication] = [:]
        var items: [UInt64: [GroupItem]] = [:]
        var groups: [UInt64: [GroupItem]] = [:]
        var last: UInt64 = 0
        for line in text.split(separator: UInt8(ascii: "\n")) {
            guard let record = RecordLine(parsing: line), let kind = record.text(0), let id: UInt64 = record.number(1), id < KeptVersion.idLimit
            else { continue }
            last = max(last, id)
            switch kind {
            case "begin": left[id] = PendingPublication(record)
            case "until": if let until: Int64 = record.number(2) { left[id]?.until = until }
            case "item": if let item = GroupItem(record) { items[id, default: []].append(item) }
            case "group": if let whole = items[id], whole.count == record.number(2) { groups[id] = whole }
            case "done": (left[id], groups[id]) = (nil, nil)
            default: break
            }
        }
        (leftOver, leftOverGroups) = (left, groups)
        state = Mutex(State(nextID: last + 1, open: Set(left.keys).union(groups.keys)))
        // The file's name must last as long as what is written in it.
        let readable = try Descriptor(opening: ".", in: folder, flags: O_RDONLY | O_DIRECTORY)
        _ = try check(cl_fsync(readable.number, 0))
    }

    /// When this returns, a crash of anything is followed by `leftOver` telling of the publication.
    func begin(_ publication: PendingPublication) throws(Errno) -> Lease {
        let id = try begin { [publication.record($0)] }
        return Lease(log: self, id: id, until: publication.until)
    }

    /// The same of what is to be published together. Ended by `finish`.
    func begin(_ items: [GroupItem]) throws(Errno) -> UInt64 {
        try begin { id in items.map { $0.record(id) } + [RecordLine(["group", id, items.count])] }
    }

    private func begin(_ records: (UInt64) -> [RecordLine]) throws(Errno) -> UInt64 {
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            state.open.insert(state.nextID)
            return state.nextID
        }
        do throws(Errno) {
            try append(records(id))
        } catch {
            // It may be in the file all the same.
            try? finish(id)
            throw error
        }
        return id
    }

    /// For going on with what an earlier daemon began.
    func lease(of id: UInt64) -> Lease { Lease(log: self, id: id, until: 0) }

    /// The right to write to a publication's document, for some seconds at a time: a modification after that was somebody else's.
    struct Lease {
        fileprivate let log: PublicationLog
        fileprivate let id: UInt64
        fileprivate var until: Int64

        static let length: Int64 = 4_000_000_000

        /// To be called before each write. Syncs the log when half of the time is over; a log that cannot be written (a full
        /// disk) must not stop the copying half way.
        mutating func renew() {
            let now = cl_realtime_coarse_ns()
            guard now > until - Self.length / 2 else { return }
            until = now + Self.length
            try? log.append([RecordLine(["until", id, until])])
        }

        /// The document is whole, or the publication given up. The version's hidden name is gone: that ends it, whatever the log says.
        func finish() { try? log.finish(id) }
    }

    func finish(_ id: UInt64) throws(Errno) {
        // Under the lock: another publication must not be appended and then cut off. Nobody waits here but other publishers in place.
        let result = state.withLock { state in
            state.open.remove(id)
            return Result { () throws(Errno) in
                if state.open.isEmpty {
                    _ = try check(cl_ftruncate(file.number, 0))
                    _ = try check(cl_fsync(file.number, 1))
                } else {
                    try append([RecordLine(["done", id])])
                }
            }
        }
        try result.get()
    }

    private func append(_ records: [RecordLine]) throws(Errno) {
        // The newline first: the line before may have been cut off.
        try WholeFile.write([UInt8(ascii: "\n")] + records.flatMap(\.bytes), to: file)
        _ = try check(cl_fsync(file.number, 1))
    }
}

extension PendingPublication {
    fileprivate func record(_ id: UInt64) -> RecordLine {
        var record = RecordLine(["begin", id, inode, birth, size, modified, started, until])
        record.fields += [folder.bytes, Array(name.bytes), Array(hidden.bytes)]
        return record
    }

    fileprivate init?(_ record: RecordLine) {
        guard record.fields.count == 11, let inode: UInt64 = record.number(2), let birth: Int64 = record.number(3),
            let size: Int64 = record.number(4), let modified: Int64 = record.number(5), let started: Int64 = record.number(6),
            let until: Int64 = record.number(7), let name = EntryName(record.fields[9]), let hidden = EntryName(record.fields[10]),
            let folder = StorePath(parsing: record.fields[8]), folder.bytes == record.fields[8]
        else { return nil }
        self.init(
            folder: folder, name: name, hidden: hidden, inode: inode, birth: birth, size: size,
            modified: modified, started: started, until: until)
    }
}
