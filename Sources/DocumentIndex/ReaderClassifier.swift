public import StorePrimitives

/// Whom an open for reading is put down to. One open belongs to several: its process, and the process that started it.
public enum ReaderGroup: Hashable, Sendable {
    /// A process; the start time (in whatever unit) tells it from a later one with the same number.
    case process(id: Int32, start: UInt64)
    /// All children of a process, for readers that start a program for each document. Not for init and session managers,
    /// whose children have nothing in common.
    case children(id: Int32, start: UInt64)
    /// All processes of a user that had gone before one could look.
    case departed(UserID)
}

/// A plain open of a document for reading.
public struct ReadOpen: Sendable {
    public var path: StorePath
    public var user: UserID
    /// On the wall clock: when the document counts as used.
    public var time: Timestamp
    public var groups: [ReaderGroup]
    /// Opened with O_NOATIME, or by a process of idle I/O class or with a nice value of 10 or more: it says itself that it
    /// is in the background, and never counts.
    public var isBackground: Bool

    public init(path: StorePath, user: UserID, time: Timestamp, groups: [ReaderGroup], isBackground: Bool = false) {
        self.path = path
        self.user = user
        self.time = time
        self.groups = groups
        self.isBackground = isBackground
    }
}

/// One use of a document, counted or taken back.
public struct DocumentUse: Sendable, Hashable {
    public let path: StorePath
    public let user: UserID
    public let time: Timestamp
}

/// Decides which opens for reading are a person's, and so count for the recents, and which a bulk reader's: grep, backup
/// programs, indexers, thumbnailers.
///
/// An open is first held back for the settling time; then `settle` hands it out as counted. A group of readers that opens
/// more different documents than a person would, in one of two windows, is a bulk reader: what it has pending is dropped,
/// what was counted for it inside the window is handed out to be taken back, and it stays one until it has been idle for
/// some time: at least the window that caught it.
///
/// A state machine without I/O and clock: `now` is any monotonic clock's reading, the same in all calls and never going
/// back. Not safe for several threads at once. Calls are O(opens held back); what is remembered is bounded by the options,
/// about 4 MB at most with the defaults.
public struct ReaderClassifier: Sendable {
    public struct Options: Sendable {
        /// A recursive reader is at its seventh document within milliseconds, a thumbnailer renders some 5 to 20 a second:
        /// both are caught before anything shows. Who looks at the recents after opening something takes longer than this.
        public var settlingTime: Duration = .milliseconds(1500)
        /// Nobody opens more different documents in ten seconds to read them.
        public var fastLimit = 6
        public var fastWindow: Duration = .seconds(10)
        /// A document each half minute for ten minutes; a backup program slowed down to one in 12 s is caught after four.
        public var slowLimit = 20
        public var slowWindow: Duration = .seconds(600)
        /// How long at least a process that was a bulk reader has to be idle to be none: a thumbnailer has a pause whenever
        /// the person looks at one folder, which then may have few documents.
        public var processIdleTime: Duration = .seconds(120)
        /// The same document opened again by the same group within this time is the same use: viewers look again and again.
        public var repeatInterval: Duration = .seconds(120)
        /// Opens held back at once; more of them in the settling time are no person's and do not count.
        public var pendingLimit = 1_024
        /// Groups remembered; the longest idle ones are forgotten first.
        public var groupLimit = 1_024

        public init() {}
    }

    private struct Pending {
        let use: DocumentUse
        let at: Duration
        let groups: [ReaderGroup]
    }

    private struct Opened {
        var last: Duration
        var counted: [(time: Timestamp, user: UserID, at: Duration)] = []
    }

    private struct Group {
        var last: Duration
        /// While this is a bulk reader: the window that caught it.
        var bulkWindow: Duration?
        /// The different documents of the slow window, at most one more than its limit.
        var documents: [StorePath: Opened] = [:]
    }

    private let options: Options
    private var pending: [Pending] = []
    private var groups: [ReaderGroup: Group] = [:]

    public init(options: Options = Options()) { self.options = options }

    /// Whether using the document at this path is worth remembering, by reading or writing: not if it is hidden, nor if the
    /// name is that of a backup, lock, or unfinished file.
    public static func mayCount(_ path: StorePath) -> Bool {
        guard !path.isHidden, let name = path.lastName else { return false }
        let text = Array(name.bytes)
        return !unfinished.contains { text.count > $0.count && text[(text.count - $0.count)...].elementsEqual($0) }
    }

    private static let unfinished = ["~", ".tmp", ".part", ".crdownload", ".lock"].map { Array($0.utf8) }

    /// Notes an open. Returns uses counted before that are to be taken back.
    public mutating func noteOpen(_ open: ReadOpen, now: Duration) -> [DocumentUse] {
        guard !open.isBackground else { return [] }
        var isBulk = false
        var retracted: Set<DocumentUse> = []
        for key in open.groups where note(open.path, in: key, now: now) {
            isBulk = true
            retracted.formUnion(retractUses(of: key, now: now))
        }
        clearUp(now: now)
        if !isBulk, Self.mayCount(open.path), pending.count < options.pendingLimit, isNewUse(open, now: now) {
            let use = DocumentUse(path: open.path, user: open.user, time: open.time)
            pending.append(Pending(use: use, at: now, groups: open.groups))
        }
        return retracted.sorted { $0.time < $1.time }
    }

    /// The uses that have stood the settling time, oldest first.
    public mutating func settle(now: Duration) -> [DocumentUse] {
        // In the order they came: the settled ones are in front.
        let count = pending.firstIndex { now - $0.at < options.settlingTime } ?? pending.count
        let settled = pending[..<count]
        for entry in settled {
            for key in entry.groups {
                groups[key]?.documents[entry.use.path]?.counted.append((entry.use.time, entry.use.user, entry.at))
            }
        }
        let uses = settled.map(\.use)
        pending.removeFirst(count)
        return uses
    }

    /// When `settle` next has something to hand out; nil if nothing is held back.
    public var nextSettling: Duration? { pending.first.map { $0.at + options.settlingTime } }

    /// Enters an open into its group. Returns whether the group is a bulk reader.
    private mutating func note(_ path: StorePath, in key: ReaderGroup, now: Duration) -> Bool {
        var group = groups[key] ?? Group(last: now)
        defer {
            group.last = now
            groups[key] = group
        }
        if let window = group.bulkWindow {
            var idleTime = window
            if case .process = key { idleTime = max(window, options.processIdleTime) }
            if now - group.last < idleTime { return true }
            group.bulkWindow = nil
        }
        group.documents[path, default: Opened(last: now)].last = now
        if group.documents.count > options.fastLimit {
            for (path, opened) in group.documents where now - opened.last >= options.slowWindow {
                group.documents[path] = nil
            }
            let inFastWindow = group.documents.values.count { now - $0.last < options.fastWindow }
            if inFastWindow > options.fastLimit { group.bulkWindow = options.fastWindow }
        }
        if group.documents.count > options.slowLimit { group.bulkWindow = options.slowWindow }
        return group.bulkWindow != nil
    }

    /// Drops what a bulk reader has pending, and hands over what was counted for it in the window that caught it.
    private mutating func retractUses(of key: ReaderGroup, now: Duration) -> [DocumentUse] {
        guard let group = groups[key], let window = group.bulkWindow, !group.documents.isEmpty else { return [] }
        var uses: [DocumentUse] = []
        for (path, opened) in group.documents {
            for counted in opened.counted where now - counted.at < window {
                uses.append(DocumentUse(path: path, user: counted.user, time: counted.time))
            }
        }
        groups[key]?.documents = [:]
        pending.removeAll { $0.groups.contains(key) }
        return uses
    }

    /// Whether the open's own group, the first, has not opened the document shortly before.
    private func isNewUse(_ open: ReadOpen, now: Duration) -> Bool {
        if pending.contains(where: {
            $0.use.path == open.path && $0.use.user == open.user && $0.groups.first == open.groups.first
        }) {
            return false
        }
        guard let key = open.groups.first, let opened = groups[key]?.documents[open.path], let last = opened.counted.last
        else { return true }
        return last.user != open.user || now - last.at >= options.repeatInterval
    }

    /// Above the limit, forgets groups idle for the slow window, then the longest idle ones, until half the limit is left.
    private mutating func clearUp(now: Duration) {
        guard groups.count > options.groupLimit else { return }
        groups = groups.filter { now - $0.value.last < options.slowWindow }
        guard groups.count > options.groupLimit / 2 else { return }
        let oldest = groups.map { ($0.value.last, $0.key) }.sorted { $0.0 < $1.0 }
        for (_, key) in oldest.prefix(groups.count - options.groupLimit / 2) { groups[key] = nil }
    }
}
