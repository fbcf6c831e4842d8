import Coordination
import TestSupport

/// A world in which processes save one document: the kernel, the mount's part and the processes, as plain as they can
/// be told. It knows what is true (who holds what, who died of what, which bytes are where), drives the machine as the
/// mount does, and says where that breaks a promise.
///
/// Everything is cut into steps that may come in any order: a thread's LOOKUP and OPEN, the making of a working copy,
/// the halves of a FLUSH, the start and end of a publication, a RELEASE.
final class SaveWorld {
    struct Broken: Error { let promise: String }

    /// One write.
    struct Piece: Hashable {
        let serial: Int
        /// It was written by somebody who only joined the save.
        let isJoined: Bool
    }

    final class OpenFile {
        let handle: SaveHandle
        let opener: Process
        var node: VersionID
        /// The version whose file it writes.
        var file: VersionID
        var kind: OpenKind
        var isJoined = false
        var descriptors = 1
        var mappings = 0
        /// FLUSHes that are not answered yet: RELEASE comes after them.
        var flushes = 0
        var isFlushed = false
        var isHeld: Bool { descriptors + mappings > 0 }

        init(_ handle: SaveHandle, _ opener: Process, node: VersionID, file: VersionID, kind: OpenKind) {
            (self.handle, self.opener, self.node, self.file, self.kind) = (handle, opener, node, file, kind)
        }
    }

    final class Process {
        let identity: SaveProcess
        /// The mount cannot tell who it is: it is in another pid namespace.
        let isForeign: Bool
        var parent: Process?
        var threads: [Thread] = []
        var descriptors: [OpenFile] = []
        var mappings: [OpenFile] = []
        var execs = 0
        var death: Death?
        var isGone = false

        init(_ identity: SaveProcess, parent: Process?, isForeign: Bool) {
            (self.identity, self.parent, self.isForeign) = (identity, parent, isForeign)
        }

        var known: SaveProcess? { isForeign ? nil : identity }
        func holds(_ file: OpenFile) -> Bool { (descriptors + mappings).contains { $0 === file } }
        var ancestors: [SaveProcess] {
            parent.map { $0.isGone ? [] : [$0.identity] + $0.ancestors } ?? []
        }
    }

    struct Opening {
        var flags: OpenFlags
        /// Opened through /proc/self/fd, from a descriptor on that version: no LOOKUP ever comes.
        let reopened: VersionID?
        var estales = 0
        var retriedAt: UInt64 = 0
        /// The mount had a doubt whether a handle is closed.
        var isInDoubt = false
    }

    enum Activity {
        case idle
        case walking(Opening)
        case opening(Opening, VersionID)
        case making(Opening, OpenRequest, VersionID, SaveMoment)
        case flushing(OpenFile, Death)
        case looking(OpenFile, FlushQuestion, Death)
        case deciding(OpenFile, FlushFacts, isInDoubt: Bool)
        case waiting
        case dead
    }

    final class Thread {
        let id: ThreadID
        unowned let process: Process
        var activity = Activity.idle

        init(_ id: ThreadID, _ process: Process) { (self.id, self.process) = (id, process) }
    }

    struct Publication {
        let working: VersionID
        let cause: PublishCause
        var plan: PublishPlan?
        let done: (Int32?) throws -> Void
    }

    /// What is true of a save.
    struct Truth {
        let opener: Process
        let moment: SaveMoment
        let execs: Int
        var users: Set<SaveProcess>
        var isRedirected = false
        /// It has closed all that it had of it, and gone on.
        var openerHasLeft = false
        /// The mount has been told that the opener was killed by a signal that discards.
        var openerWasKilled = false
        var hasArrived = false
        var writeFailed = false
        /// It was killed by a signal that discards, and nobody has gone on with its work.
        var isKilled = false
        /// The mount had a doubt who was dying, or what was closed: the save is decided at RELEASE.
        var isInDoubt = false
        /// Mappings end without a FLUSH: the save may be decided at RELEASE.
        var wasMapped = false
    }

    struct Reader {
        let file: VersionID
        let content: [Piece]
        let liveChanges: Int
    }

    var numbers: SeededNumbers
    var machine: DocumentSaves?
    var now: UInt64 = 1_000_000_000
    var published = VersionID(1)
    var contents: [VersionID: [Piece]] = [VersionID(1): [Piece(serial: 0, isJoined: false)]]
    /// What the document must say.
    var document = [Piece(serial: 0, isJoined: false)]
    /// How often a version's content was changed by who may change it in place.
    var liveChanges: [VersionID: Int] = [:]
    var links = 1
    var processes: [Process] = []
    var files: [OpenFile] = []
    var releases: [OpenFile] = []
    var publications: [Publication] = []
    var truths: [VersionID: Truth] = [:]
    var discarded: Set<VersionID> = []
    var readers: [Reader] = []
    var history: [String] = []
    var seen: [String: Int] = [:]
    private var lastNumber = 1

    init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &numbers) < percent }

    func note(_ event: String) { history.append(event) }

    func meet(_ event: String) { seen[event, default: 0] += 1 }

    func require(_ condition: Bool, _ promise: @autoclosure () -> String) throws {
        if !condition { throw Broken(promise: promise()) }
    }

    // MARK: - What is true

    func caller(_ thread: Thread) -> SaveCaller {
        let process = thread.process
        return SaveCaller(thread: thread.id, process: process.known, ancestors: process.ancestors)
    }

    /// Rule 4, told once more.
    func isLineage(_ process: Process, of truth: Truth) -> Bool {
        if process.isForeign { return false }
        if truth.users.contains(process.identity) { return true }
        let isYounger =
            (process.identity.start, process.identity.id) > (truth.moment.ticks, truth.moment.lastProcess)
        guard isYounger, let parent = process.parent, !parent.isGone else { return false }
        return isLineage(parent, of: truth)
    }

    var openSaves: [VersionID] { machine?.openSaves.map(\.working) ?? [] }

    func held(_ version: VersionID) -> Bool { files.contains { $0.file == version && $0.isHeld } }

    /// Whether a thread is between its ESTALE and its OPEN, or died there.
    var isAnyoneArriving: Bool {
        processes.contains { process in
            process.threads.contains { thread in
                switch thread.activity {
                case .walking(let opening), .opening(let opening, _), .making(let opening, _, _, _): opening.estales > 0
                default: false
                }
            }
        } || !lost.isEmpty
    }
    /// When opens ended between ESTALE and OPEN, until the machine has given them up.
    var lost: [UInt64] = []

    /// What must hold at all times.
    func check() throws {
        if publications.allSatisfy({ $0.plan == nil }), links > 0 {
            try require(contents[published] == document, "the document says \(contents[published]!), not \(document)")
        }
        for reader in readers where liveChanges[reader.file, default: 0] == reader.liveChanges {
            try require(contents[reader.file] == reader.content, "a reader of \(reader.file) saw half a save")
        }
        try require(
            publications.filter { $0.plan != nil }.count <= 1, "two savers of one document published at once")
    }

    // MARK: - What processes do

    func spawn(by parent: Process?) -> Process {
        let number = nextNumber()
        let isForeign = parent?.isForeign ?? happens(3)
        let process = Process(
            SaveProcess(id: Int32(number), start: now / 10_000_000), parent: parent, isForeign: isForeign)
        for index in 0..<2 { process.threads.append(Thread(ThreadID(Int32(number * 10 + index)), process)) }
        processes.append(process)
        for file in parent?.descriptors ?? [] { duplicate(file, into: process) }
        note("fork \(number) by \(parent?.identity.id ?? 0)")
        return process
    }

    func duplicate(_ file: OpenFile, into process: Process) {
        file.descriptors += 1
        process.descriptors.append(file)
    }

    func read(_ thread: Thread) throws {
        guard links > 0 else { return }
        let version = try lookup(thread, arriving: false)
        note("read \(thread.id.rawValue) sees \(version.rawValue)")
        if version == published {
            readers.append(
                Reader(file: version, content: contents[version]!, liveChanges: liveChanges[version, default: 0]))
        }
    }

    func lookup(_ thread: Thread, arriving: Bool) throws -> VersionID {
        guard let machine else { return published }
        let version = machine.lookup(caller(thread))
        if !arriving {
            let own = openSaves.last { isLineage(thread.process, of: truths[$0]!) }
            try require(version == own ?? published, "\(thread.id.rawValue) was shown \(version)")
        }
        return version
    }

    func write(_ file: OpenFile, by process: Process?, failing: Bool) throws {
        // The mount keeps writes out of a version while it is copied.
        if publications.contains(where: { $0.working == file.file && $0.plan?.mode == .inPlace }) { return }
        let version = file.file
        if failing {
            note("write-error on \(file.handle.rawValue)")
            let step = machine?.writeFailed(file.handle, errno: 28, truncatingMakesRoom: happens(30)) ?? .none
            if case .publish(_, .outOfRoom) = step { return try carryOut(step) { _ in } }
            if !file.isJoined { truths[version]?.writeFailed = true }
            return
        }
        note("write \(process?.identity.id ?? 0) through \(file.handle.rawValue) to \(version.rawValue)")
        let piece = Piece(serial: nextNumber(), isJoined: file.isJoined)
        contents[version]!.append(piece)
        if process?.known != nil { file.isFlushed = false }
        machine?.wrote(file.handle, by: process?.known, end: UInt64(contents[version]!.count), now: now)
        if openSaves.contains(version) {
            if version != published, !file.isJoined, let process { use(version, by: process) }
        } else if discarded.contains(version) {
            try require(!file.isJoined || links == 0, "a joined writer was left on a discarded version")
        } else {
            if case .live = file.kind {} else { throw Broken(promise: "\(file.handle) is live and nobody knows") }
            liveChanges[version, default: 0] += 1
            if links > 0 {
                try require(version == published, "a write to the superseded \(version) is lost")
                document.append(piece)
            }
        }
    }

    /// Somebody of a save's lineage writes or flushes.
    func use(_ version: VersionID, by process: Process) {
        guard let truth = truths[version], process !== truth.opener, !process.isForeign else { return }
        // It is too late to take over the work of an opener that was killed.
        if truth.isKilled, !truth.isRedirected { return }
        truths[version]!.users.insert(process.identity)
        truths[version]!.isRedirected = true
    }
}
