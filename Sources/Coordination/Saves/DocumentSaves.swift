/// The saves of one document: who works on which version, and what becomes of it.
///
/// A state machine without I/O, threads or clock: it is told what the kernel asks and what was found out, and says what
/// to do. The caller guards it by the document's lock and gathers facts outside of that lock, so that reading /proc
/// never holds anybody up; facts name the handles they are about, and what happened to a handle meanwhile makes them
/// void.
///
/// **The rules** that comments cite by number are in Mount/DocumentMount/Saves/README.md.
///
/// **The life of a save.**
/// 1. OPEN with O_TRUNC comes with the published version. `open` says `.begin`; the mount makes a working copy and
///    calls `begin`, which says `.retry`: the mount answers ESTALE. From here on the thread is *arriving*.
/// 2. The kernel walks the path again. `lookup` answers the working copy to the arriving thread and to the save's
///    *lineage*, the published version to everyone else. OPEN comes with the working copy: `.serve`.
/// 3. `wrote` tells of writes, `writeFailed` of failed ones. Opens by others for writing without truncating are retried on
///    the newest save's working copy and *join* the save (rule 5).
/// 4. Each FLUSH is `flushing`, facts, `flush`; each RELEASE is `release`. The one after which nobody has the working
///    copy open says `.publish` or `.discard`. So may `sync`, `renaming`, `writeFailed` and `tick`, each for its
///    reason.
/// 5. `.publish` is carried out under a lock by which the document's savers publish one at a time: `plan` says how, the
///    mount does it and tells `published` or `failed`. The working copy is now the published version, or, in place, its
///    content is, and the save is over. Handles that are still open are live.
///
/// **Arriving.** The kernel retries an open(2) once, so a thread is never answered ESTALE twice in one. From its ESTALE
/// to its OPEN it counts as a holder of the version it is to retry on, which keeps that version where it is, but for a
/// relay's that does not truncate. If it comes back with another version, it went there without a LOOKUP (/proc/self/fd,
/// a file handle) or the walk took
/// longer than the arrival timeout; then it is served the current content by a handle on a node that stands for other
/// content.
///
/// **Late RELEASE.** A process's close(2) ends in FLUSH; RELEASE follows later. So a handle counts as open until it has
/// seen a FLUSH *and* was found to be held by nobody. Whatever happens through it afterwards shows that it is open
/// after all.
///
/// Operations are linear in the document's open saves, arriving threads and handles.
public struct DocumentSaves: Sendable {
    /// The version under the document's name.
    public internal(set) var published: VersionID
    let times: StreamTimes

    /// The saves under way, the newest last.
    var saves: [Save] = []
    /// Handles open for writing: on working copies, and since this exists on other versions.
    var writers: [SaveHandle: Writer] = [:]
    /// Threads between their ESTALE and their OPEN.
    var arrivals: [ThreadID: Arrival] = [:]
    /// How many versions have been published, and by whom the last.
    var publications = 0
    var publisher: SaveProcess?

    /// - Parameter writers: the handles open for writing on the published version.
    public init(published: VersionID, writers: [LiveWriter] = [], times: StreamTimes = StreamTimes()) {
        self.published = published
        self.times = times
        for writer in writers { adopt(writer) }
    }

    /// Whether there is nothing here that the mount does not know itself: no save, nobody arriving, no handle that a
    /// save has left behind. Then it may be dropped, and made anew for the next save.
    public var isIdle: Bool {
        saves.isEmpty && arrivals.isEmpty && !writers.values.contains { $0.comesFromSave }
    }

    /// Whether another version is taking the name at this moment.
    public var isReplacing: Bool { saves.contains(where: \.isReplacing) }

    /// Whether a version is the working copy of a save that is not being put in place.
    public func isOpenSave(_ version: VersionID) -> Bool { saves.contains { $0.working == version && !$0.isReplacing } }

    /// What takes an OPEN for writing now: the published version, or the one that is taking its place at this moment.
    var current: VersionID { saves.first { $0.isReplacing }?.working ?? published }
}

/// One save under way.
struct Save: Sendable {
    enum Phase: Hashable {
        case open
        case publishing(PublishMode, PublishCause)
    }

    let working: VersionID
    let opener: SaveProcess
    /// The opener saves for others, of whom nothing is known here.
    let isRelayed: Bool
    let moment: SaveMoment
    let began: UInt64
    /// `DocumentSaves.publications` with the version it was begun on.
    let basis: Int
    /// The opener, and processes that were seen to have inherited a descriptor. With their younger descendants they are
    /// the save's lineage.
    var members: Set<SaveProcess>
    var phase = Phase.open
    var isRedirected = false
    /// It was begun by ftruncate(2) on a handle. Programs that keep a file open for as long as they run, and write a line into it, do so, too.
    var isLate = false
    /// Its working copy is the document's own inode: handles on that can be led to no other file, nor need they.
    var isExchanged = false
    /// Why it is not to be published, as things stand.
    var fault: DiscardReason? = .neverOpened
    /// The opener has closed it and gone on: how it ends later does not matter to whom it has left the descriptor.
    var openerHasLeft = false
    /// By a signal that discards: the save goes on only for the sake of those who joined it.
    var openerWasKilled = false
    /// Somebody who only joined it has written: that must not be lost, whatever becomes of the opener.
    var hasJoinedWrites = false
    var lastActivity: UInt64
    /// As the writes tell: the end of the one that went farthest.
    var size: UInt64 = 0
    var hasTimeSet = false
    /// When it was last found not to be redirected.
    var checked: UInt64?
    /// It could not be brought up to date as a stream: not tried again before this.
    var notBefore: UInt64 = 0

    var isReplacing: Bool { if case .publishing(.replace, _) = phase { true } else { false } }

    /// Whether it ends in a discard if it ends now.
    var isToBeDiscarded: Bool { fault != nil && !hasJoinedWrites }

    /// Rule 4: the members and their younger descendants. A relay's save has none: what the relay asks for, it may ask for another of its
    /// clients.
    func isLineage(_ caller: SaveCaller) -> Bool { !isRelayed && isWork(of: caller) }

    /// Whether a caller's handle on the working copy has a part in the save.
    func isWork(of caller: SaveCaller) -> Bool {
        guard let process = caller.process else { return false }
        return members.contains(process) || process.descends(from: members, since: moment, by: caller.ancestors)
    }
}

/// A handle open for writing.
struct Writer: Sendable {
    /// The version whose file it writes.
    var version: VersionID
    let process: SaveProcess?
    /// Why it is live; unused while the version is a working copy.
    var reason: LiveReason
    var isFlushed = false
    /// Flushed, and found to be held by nobody: only its RELEASE is missing.
    var isClosed = false
    /// It is on a working copy, but has no part in the save: it is not of the lineage, or came when the save was being
    /// published already.
    var isJoined = false
    var comesFromSave = false
    /// Its save was published, by fsync for example, and it has written nothing since: the program is about to close
    /// it. Or a relay opened it without O_TRUNC and has not written by it. It does not keep a save from replacing the document's
    /// file, and goes along when the next version takes the name.
    var isSettled = false
    /// Other processes that have flushed it.
    var flushers: Set<SaveProcess> = []

    /// Whether that version has to stay where it is for this handle.
    func writesInPlace(_ version: VersionID) -> Bool { self.version == version && !isClosed && !isSettled }
}

/// A thread that was answered ESTALE.
struct Arrival: Sendable {
    var target: VersionID
    let process: SaveProcess?
    /// The save with that working copy was begun for this open.
    let begins: Bool
    /// See `OpenRequest.isUnused`.
    let isUnused: Bool
    let since: UInt64

    func writesInPlace(_ version: VersionID) -> Bool { target == version && !isUnused }
}
