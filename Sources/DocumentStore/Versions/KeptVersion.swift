import Glibc
public import StorePrimitives
public import SystemPackage

/// A version that did not become, or did not stay, the document's content, and can be had back for some days.
public struct KeptVersion: Hashable, Sendable {
    /// The process that wrote it.
    public struct Saver: Hashable, Sendable {
        public let pid: Int32
        public let name: String
        public let uid: UInt32

        public init(pid: Int32, name: String, uid: UInt32) {
            self.pid = pid
            self.name = name
            self.uid = uid
        }
    }

    public enum Reason: Hashable, Sendable {
        case killed(signal: Int32)
        /// The file server or portal that was saving it ended: its connection was cut, for example.
        case relayEnded
        case writeError(Errno)
        case publishError(Errno)
        /// Another saver published later.
        case overtaken
        /// Saved over by way of a file server or a portal, which does not tell whether its client was killed.
        case relayed
        /// The document's name was given to another file.
        case replaced
        case removed
        /// The daemon ended when the save was whole and not yet published.
        case unpublished
        /// The daemon ended while the save was being written.
        case unfinished
        /// The daemon ended while publishing in place, and the document was edited before the next mount.
        case edited
        /// A kept version was restored over it.
        case restored
    }

    public let id: UInt64
    /// Whose share of what may be kept it takes: who saved it, as far as that is known, else the document's owner.
    public var charged: UInt32 { payer ?? saver?.uid ?? owner }
    let payer: UInt32?
    /// Where the document stood.
    public let document: StorePath
    /// The document's owner, group and mode.
    public let owner: UInt32
    public let group: UInt32
    public let mode: UInt32
    /// When it was kept, in nanoseconds since 1970.
    public let time: Int64
    /// Nil when nobody is left who knew.
    public let saver: Saver?
    public let reason: Reason
    /// In bytes.
    public let size: Int64
    /// What its content takes on disk; 0 if that was more than may be kept, and only the fact is.
    public let allocated: Int64
    public var hasContent: Bool { allocated > 0 || size == 0 }
}

extension KeptVersion {
    /// The line of the file `ID.about`.
    var record: RecordLine {
        let (word, number) = reason.encoded
        var record = RecordLine(["kept", id, owner, group, mode, time, word, number, size, allocated])
        record.fields.append(document.bytes)
        if let saver {
            record.fields += RecordLine([saver.pid, saver.uid]).fields
            record.fields.append(Array(saver.name.utf8))
        }
        if let payer { record.fields += RecordLine([payer]).fields }
        return record
    }

    /// No version has this number or a higher one, so that the next one can always be told.
    static let idLimit: UInt64 = 1 << 62
    /// More than any file system holds: the sum of a thousand is a number still.
    private static let mostBytes: Int64 = 1 << 53

    /// Nil for what is no such record; it may come from a damaged file.
    init?(_ record: RecordLine) {
        guard record.fields.count >= 11, record.text(0) == "kept", let id: UInt64 = record.number(1), id < KeptVersion.idLimit,
            let owner: UInt32 = record.number(2), let group: UInt32 = record.number(3), let mode: UInt32 = record.number(4),
            let time: Int64 = record.number(5), let word = record.text(6), let number: Int32 = record.number(7),
            let reason = Reason(word, number), let size: Int64 = record.number(8), size >= 0,
            let allocated: Int64 = record.number(9), (0...Self.mostBytes).contains(allocated),
            let document = StorePath(parsing: record.fields[10]), document.bytes == record.fields[10], !document.isRoot
        else { return nil }
        var saver: Saver?
        if record.fields.count >= 14, let pid: Int32 = record.number(11), let uid: UInt32 = record.number(12), let name = record.text(13) {
            saver = Saver(pid: pid, name: name, uid: uid)
        }
        self.init(
            id: id, payer: [12, 15].contains(record.fields.count) ? record.number(record.fields.count - 1) : nil,
            document: document, owner: owner, group: group, mode: mode, time: time,
            saver: saver, reason: reason, size: size, allocated: allocated)
    }
}

extension KeptVersion.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .killed(let signal): "its process was ended by signal \(signal)"
        case .relayEnded: "the file server or portal ended before it had closed the document"
        case .writeError(let error): "a write failed: \(error)"
        case .publishError(let error): "it could not be published: \(error)"
        case .overtaken: "another process saved over it"
        case .relayed: "a file server or portal saved over it, which does not tell whether its client was killed"
        case .replaced: "the document was replaced meanwhile"
        case .removed: "the document was removed meanwhile"
        case .unpublished: "it was not published: its claim, or the daemon, ended before"
        case .unfinished: "the daemon ended while it was being written"
        case .edited: "the daemon ended while publishing it, and the document was edited since"
        case .restored: "another version was restored over it"
        }
    }

    /// One word for each, for programs.
    public var word: String { encoded.0 }

    fileprivate var encoded: (String, Int32) {
        switch self {
        case .killed(let signal): ("killed", signal)
        case .relayEnded: ("relay-ended", 0)
        case .writeError(let error): ("write-error", error.rawValue)
        case .publishError(let error): ("publish-error", error.rawValue)
        case .overtaken: ("overtaken", 0)
        case .relayed: ("relayed", 0)
        case .replaced: ("replaced", 0)
        case .removed: ("removed", 0)
        case .unpublished: ("unpublished", 0)
        case .unfinished: ("unfinished", 0)
        case .edited: ("edited", 0)
        case .restored: ("restored", 0)
        }
    }

    fileprivate init?(_ word: String, _ number: Int32) {
        switch word {
        case "killed": self = .killed(signal: number)
        case "relay-ended": self = .relayEnded
        case "write-error": self = .writeError(Errno(rawValue: number))
        case "publish-error": self = .publishError(Errno(rawValue: number))
        case "overtaken": self = .overtaken
        case "relayed": self = .relayed
        case "replaced": self = .replaced
        case "removed": self = .removed
        case "unpublished": self = .unpublished
        case "unfinished": self = .unfinished
        case "edited": self = .edited
        case "restored": self = .restored
        default: return nil
        }
    }
}
