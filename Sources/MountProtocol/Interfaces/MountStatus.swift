/// The state of one mount, as `Status` tells it.
public struct MountStatus: Codable, Hashable, Sendable {
    public enum Mode: String, Codable, Sendable {
        /// The mount covers the store's own folder.
        case inPlace
        /// The mount is another folder than the store.
        case beside
    }

    public struct Gather: Codable, Hashable, Sendable {
        /// `waiting`, `running`, `done` or `failed`.
        public var state: String
        public var documents: Int
        public var folders: Int

        public init(state: String, documents: Int, folders: Int) {
            self.state = state
            self.documents = documents
            self.folders = folders
        }
    }

    /// A document that some process writes in place, as on a plain folder.
    public struct OpenWriter: Codable, Hashable, Sendable {
        public var path: DocumentPath
        public var pid: Int32
        public var process: String
        /// Why it is no transaction: a word such as `appending` or `newFile`, and a sentence.
        public var reason: String
        public var explanation: String

        public init(path: DocumentPath, pid: Int32, process: String, reason: String, explanation: String) {
            self.path = path
            self.pid = pid
            self.process = process
            self.reason = reason
            self.explanation = explanation
        }
    }

    /// What the asker's user has of something that is bounded for each user.
    public struct Share: Codable, Hashable, Sendable {
        public var resource: String
        public var used: Int
        public var limit: Int
        /// What all users have; nil unless the asker may know.
        public var usedByAll: Int?
        public var limitOfAll: Int
        /// What asking for more is answered.
        public var answer: String
        /// Why there is a bound.
        public var reason: String

        public init(
            resource: String, used: Int, limit: Int, usedByAll: Int?, limitOfAll: Int, answer: String, reason: String
        ) {
            (self.resource, self.used, self.limit, self.usedByAll) = (resource, used, limit, usedByAll)
            (self.limitOfAll, self.answer, self.reason) = (limitOfAll, answer, reason)
        }
    }

    /// The unasked end of a daemon.
    public struct Death: Codable, Hashable, Sendable {
        /// In seconds since 1970.
        public var time: Double
        public var reason: String

        public init(time: Double, reason: String) {
            self.time = time
            self.reason = reason
        }
    }

    /// A save under way.
    public struct OpenSave: Codable, Hashable, Sendable {
        public var path: DocumentPath
        public var pid: Int32
        public var process: String
        /// `arriving`, `open` or `publishing`.
        public var state: String
        /// Seconds since it began, and since the last write.
        public var age: Double
        public var idle: Double
        /// How much was written.
        public var bytes: Int64

        public init(path: DocumentPath, pid: Int32, process: String, state: String, age: Double, idle: Double, bytes: Int64) {
            self.path = path
            self.pid = pid
            self.process = process
            self.state = state
            self.age = age
            self.idle = idle
            self.bytes = bytes
        }
    }

    public var pid: Int32
    public var version: String
    public var mode: Mode
    /// Whether this mount serves other users too.
    public var system: Bool
    public var readOnly: Bool
    public var store: DocumentPath
    public var mountpoint: DocumentPath
    /// Whether the kernel reads and writes documents itself, without asking the daemon.
    public var passthrough: Bool
    /// Why there is no passthrough; nil when there is.
    public var passthroughReason: String?
    public var gather: Gather
    public var openSaves: [OpenSave]
    public var openWriters: [OpenWriter]
    public var coordination: CoordinationStatus
    public var shares: [Share]
    /// The names of the programs that count as serving others' files.
    public var relays: [String]
    /// Why no thumbnails can be rendered; nil when they can.
    public var thumbnailTrouble: String?
    /// How the last twenty daemons of this store died, oldest first.
    public var deaths: [Death]
    /// `transactional` and `live.REASON` count opens for writing; `knownFiles` are the files and folders the kernel knows,
    /// `listingsMade` the lists of virtual folders made; `thumbnailsDrawn`, `thumbnailsRefused` and `thumbnailsWaiting` as they say.
    public var counters: [String: Int]

    public init(
        pid: Int32, version: String, mode: Mode, system: Bool, readOnly: Bool, store: DocumentPath,
        mountpoint: DocumentPath, passthrough: Bool, passthroughReason: String?, gather: Gather,
        openSaves: [OpenSave], openWriters: [OpenWriter], coordination: CoordinationStatus, shares: [Share],
        relays: [String], thumbnailTrouble: String?, deaths: [Death] = [], counters: [String: Int]
    ) {
        self.pid = pid
        self.version = version
        self.mode = mode
        self.system = system
        self.readOnly = readOnly
        self.store = store
        self.mountpoint = mountpoint
        self.passthrough = passthrough
        self.passthroughReason = passthroughReason
        self.gather = gather
        self.openSaves = openSaves
        self.openWriters = openWriters
        self.coordination = coordination
        self.shares = shares
        self.relays = relays
        self.thumbnailTrouble = thumbnailTrouble
        self.deaths = deaths
        self.counters = counters
    }
}

public struct RecentDocument: Codable, Hashable, Sendable {
    public var path: DocumentPath
    /// When it was used last, in seconds since 1970.
    public var used: Double

    public init(path: DocumentPath, used: Double) {
        self.path = path
        self.used = used
    }
}

/// A document or folder that a user has marked.
public struct FavoriteItem: Codable, Hashable, Sendable {
    public var path: DocumentPath
    public var folder: Bool
    /// When it was marked, in seconds since 1970.
    public var added: Double

    public init(path: DocumentPath, folder: Bool, added: Double) { (self.path, self.folder, self.added) = (path, folder, added) }
}

/// Why something was not done for a path.
public struct PathFailure: Codable, Hashable, Sendable {
    public var path: DocumentPath
    public var message: String
    /// A claim is on the document, which decides by the process that changes it: the caller may try through the mount.
    public var claimed: Bool?

    public init(path: DocumentPath, message: String, claimed: Bool? = nil) { (self.path, self.message, self.claimed) = (path, message, claimed) }
}

public struct TagCount: Codable, Hashable, Sendable {
    public var name: String
    public var count: Int

    public init(name: String, count: Int) {
        self.name = name
        self.count = count
    }
}
