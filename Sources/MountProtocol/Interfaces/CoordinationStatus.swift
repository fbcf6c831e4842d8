/// Who holds what of a mount's documents, and who waits for whom: of those that the asker may access.
public struct CoordinationStatus: Codable, Hashable, Sendable {
    public struct ClaimStatus: Codable, Hashable, Sendable {
        public var id: UInt64
        /// `queued` (behind other claims), `begun` (it waits for presenters and writers) or `granted`.
        public var state: String
        public var paths: [DocumentPath]
        /// Whether it claims any of them for writing.
        public var writing: Bool
        public var pid: Int32
        public var process: String
        public var uid: UInt32
        public var purpose: String?
        /// Seconds since it was asked for.
        public var age: Double
        /// The claims that it waits for.
        public var behind: [UInt64]
        /// How many names were saved or removed within it, which are everybody's when it ends.
        public var unpublished: Int

        public init(
            id: UInt64, state: String, paths: [DocumentPath], writing: Bool, pid: Int32, process: String, uid: UInt32,
            purpose: String?, age: Double, behind: [UInt64], unpublished: Int
        ) {
            (self.id, self.state, self.paths, self.writing, self.pid) = (id, state, paths, writing, pid)
            (self.process, self.uid, self.purpose, self.age, self.behind) = (process, uid, purpose, age, behind)
            self.unpublished = unpublished
        }
    }

    public struct PresenterStatus: Codable, Hashable, Sendable {
        public var path: DocumentPath
        /// Whether it presents what is in the folder too.
        public var contents: Bool
        public var pid: Int32
        public var process: String
        public var uid: UInt32
        /// Whether it shows what is not in the document yet.
        public var unsaved: Bool
        /// It did not answer once, and is not asked until it does.
        public var silent: Bool

        public init(
            path: DocumentPath, contents: Bool, pid: Int32, process: String, uid: UInt32, unsaved: Bool, silent: Bool
        ) {
            (self.path, self.contents, self.pid, self.process) = (path, contents, pid, process)
            (self.uid, self.unsaved, self.silent) = (uid, unsaved, silent)
        }
    }

    /// An advisory lock, held or waited for.
    public struct LockStatus: Codable, Hashable, Sendable {
        public var path: DocumentPath
        /// `fcntl` or `flock`.
        public var kind: String
        public var exclusive: Bool
        /// The first byte and, if it does not go to the end of the document, the last.
        public var start: Int64
        public var end: Int64?
        public var pid: Int32
        public var waits: Bool

        public init(path: DocumentPath, kind: String, exclusive: Bool, start: Int64, end: Int64?, pid: Int32, waits: Bool) {
            (self.path, self.kind, self.exclusive, self.start) = (path, kind, exclusive, start)
            (self.end, self.pid, self.waits) = (end, pid, waits)
        }
    }

    public var claims: [ClaimStatus]
    /// Opens that wait for the end of a claim, or for presenters to save.
    public var waitingOpens: Int
    /// A hundred of them at most.
    public var presenters: [PresenterStatus]
    public var presenterCount: Int
    public var locks: [LockStatus]

    public init(
        claims: [ClaimStatus] = [], waitingOpens: Int = 0, presenters: [PresenterStatus] = [], presenterCount: Int = 0, locks: [LockStatus] = []
    ) {
        (self.claims, self.waitingOpens, self.presenters) = (claims, waitingOpens, presenters)
        (self.presenterCount, self.locks) = (presenterCount, locks)
    }
}
