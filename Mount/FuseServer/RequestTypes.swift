public import Glibc

/// The number by which the kernel names an inode of the mount. 1 is the root.
public struct NodeID: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static let root = NodeID(1)
    /// In a lookup's answer: no such name, and the kernel may remember that.
    public static let none = NodeID(0)
}

/// The number by which the kernel names an open file or folder: what OPEN, CREATE or OPENDIR answered.
public struct HandleID: Hashable, Sendable {
    public let rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    /// Nothing of the file system's is open.
    public static let nothing = HandleID(0)
}

/// The id under which the kernel keeps a backing file for passthrough.
public struct BackingID: Hashable, Sendable {
    public let rawValue: Int32
    public init(_ rawValue: Int32) { self.rawValue = rawValue }
}

/// How long the kernel may answer from memory.
public struct CacheTime: Hashable, Sendable {
    public let seconds: Double
    public init(seconds: Double) { self.seconds = seconds }
    /// Ask each time.
    public static let none = CacheTime(seconds: 0)
    /// Until told otherwise: the daemon announces every change.
    public static let untilNotified = CacheTime(seconds: 86_400)
}

/// Who asks. The kernel gives a thread id, 0 when the caller lives in a foreign pid namespace.
public struct Caller: Hashable, Sendable {
    public let uid: uid_t
    public let gid: gid_t
    public let thread: pid_t
    public let umask: mode_t
    /// A view of the files that the request came by, which the file system numbers; 0: by their own paths. The kernel knows of none.
    public var view: UInt32 = 0

    public init(uid: uid_t, gid: gid_t, thread: pid_t, umask: mode_t) {
        self.uid = uid
        self.gid = gid
        self.thread = thread
        self.umask = umask
    }
}

/// A file's attributes for the kernel, and how long they hold.
public struct Attributes: Sendable {
    public var status: stat
    public var validity: CacheTime
    public init(status: stat, validity: CacheTime) {
        self.status = status
        self.validity = validity
    }
}

/// What a name stands for. An entry given to the kernel counts as one lookup of its node, until FORGET.
public struct Entry: Sendable {
    public var node: NodeID
    /// Tells apart two nodes that had the same id one after the other.
    public var generation: UInt64
    public var attributes: Attributes
    public var validity: CacheTime

    public init(node: NodeID, generation: UInt64, attributes: Attributes, validity: CacheTime) {
        self.node = node
        self.generation = generation
        self.attributes = attributes
        self.validity = validity
    }

    /// "There is no such name", remembered by the kernel for `validity`.
    public static func absent(validity: CacheTime) -> Entry {
        Entry(node: .none, generation: 0, attributes: Attributes(status: stat(), validity: .none), validity: validity)
    }
}

/// How the kernel reads and writes an open file.
public enum OpenMode: Sendable {
    /// Through the kernel's page cache. `keeps`: what it has from earlier opens is good.
    case cached(keeps: Bool)
    /// Every read and write comes to the daemon. `beside`: the backing that others have the node open through.
    case direct(beside: BackingID?)
    /// The kernel reads and writes the backing file itself.
    case passthrough(BackingID)

    /// As long as a node has an open with a backing, the kernel refuses each that has none, or another (EIO; fs/fuse/iomode.c), and maps
    /// the backing file whichever of them is mapped.
    public var backing: BackingID? {
        switch self {
        case .cached: nil
        case .direct(let beside): beside
        case .passthrough(let backing): backing
        }
    }
}

/// The answer to OPEN.
public struct OpenedFile: Sendable {
    public var handle: HandleID
    public var mode: OpenMode
    /// Whether close(2) is told, and waits for the answer.
    public var isFlushed: Bool
    fileprivate(set) var dropsContent = false
    public init(handle: HandleID, mode: OpenMode, isFlushed: Bool = true) {
        self.handle = handle
        self.mode = mode
        self.isFlushed = isFlushed
    }
    /// An open that nothing is read or written by, of a node that nobody has open with a backing.
    public static let nothing = OpenedFile(handle: .nothing, mode: .direct(beside: nil), isFlushed: false)
    /// The same, with which the kernel drops what it keeps of the content.
    public static let droppingContent = {
        var file = nothing
        file.dropsContent = true
        return file
    }()
}

/// The answer to OPENDIR.
public struct OpenedFolder: Sendable {
    public var handle: HandleID
    /// The kernel may keep the listing until the folder changes.
    public var cached: Bool
    /// The kernel keeps the listing that it has of the folder; else it drops that first.
    public var keepsListing: Bool
    public init(handle: HandleID, cached: Bool, keepsListing: Bool = true) {
        self.handle = handle
        self.cached = cached
        self.keepsListing = keepsListing
    }
}

/// What SETATTR asks for; nil is left alone.
public struct AttributeRequest: Sendable {
    public enum Time: Sendable {
        case now
        case exactly(timespec)
    }
    public var mode: mode_t?
    public var uid: uid_t?
    public var gid: gid_t?
    public var size: off_t?
    public var accessed: Time?
    public var modified: Time?
}

/// A byte-range lock as GETLK, SETLK and SETLKW carry it.
public struct RecordLock: Sendable {
    /// F_RDLCK, F_WRLCK or F_UNLCK.
    public var type: Int16
    public var start: Int64
    /// Inclusive; Int64.max for "to the end of the file".
    public var end: Int64
    public var process: pid_t
    public init(type: Int16, start: Int64, end: Int64, process: pid_t) {
        self.type = type
        self.start = start
        self.end = end
        self.process = process
    }
}
