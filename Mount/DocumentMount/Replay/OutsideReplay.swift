import CLinux
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// Has changes made outside replayed on the mount, in order, so that inotify users there hear of them; and has the kernel forget
/// the names concerned, where the replay does not set them right.
///
/// Only what can be watched is replayed: the kernel knows a folder that is watched. A queue that is too long is
/// dropped, see README.md in this folder, "What is not reported".
final class OutsideReplay: Sendable {
    private struct Job {
        let change: OutsideChange
        /// The kernel has been told, or needs not be told, to forget the names.
        var isForgotten: Bool
        var writing: OutsideChange.Writing
    }

    private struct State {
        var jobs: [Job] = []
        /// Nobody works on the jobs: before the start, after the end, and on a mount that nothing can be done on.
        var isIdle = true
        /// The current replay takes long.
        var isHeldUp = false
        /// Folders in which something was not replayed.
        var missed: Set<FileIdentity> = []
    }

    /// With more waiting the kernel is told to forget at once: what it shows must not wait for replays.
    private static let fewJobs = 50
    /// More are not kept: some seconds' work, and 4 MiB.
    private static let mostJobs = 10_000
    private static let mostMissed = 100
    /// After so many the thread rests for as long as they took, so that apps and an unmount find room.
    private static let batch = 50
    /// How long a folder's own inotify watch may tell a second time, by finding it in a new folder, what was told of already.
    private static let doubleTime: Int64 = 1_000_000_000
    /// The process that has the kernel forget may be yet to start.
    private static let kernelTimeout = 0.5

    private let table: NodeTable
    private let locator: Locator
    private let store: SharedStore
    private let replayer: Replayer
    private let session: SessionReference
    /// Leaf.
    private let state = Mutex(State())
    /// Rank 2b.
    private let current = Mutex<ReplayedChange?>(nil)
    private let loop = LoopThread()

    init(table: NodeTable, locator: Locator, store: SharedStore, replayer: Replayer, session: SessionReference) {
        self.table = table
        self.locator = locator
        self.store = store
        self.replayer = replayer
        self.session = session
    }

    // MARK: - Jobs

    /// Takes a change over. `isForgotten`: the kernel needs not forget the names. `replays`: else it only has the kernel forget
    /// them. On the watcher's thread; O(1).
    func take(_ change: OutsideChange, isForgotten: Bool, replays: Bool = true) {
        let isWatchedItself = isKnown(change.folder)
        let change = change.name == nil ? inItsParent(change) ?? change : change
        guard isWatchedItself || mayBeWatched(change) else { return }
        let isGoneAgain = change.kind == .appeared && change.place.flatMap { status(at: $0) } == nil
        let job = Job(change: change, isForgotten: isForgotten, writing: change.writing)
        let isBehind = state.withLock { state in
            guard replays, !state.isIdle else { return true }
            guard state.jobs.count < Self.mostJobs else {
                miss(change, &state)
                return true
            }
            let isBehind = state.isHeldUp || state.jobs.count >= Self.fewJobs
            add(isBehind ? Job(change: change, isForgotten: true, writing: change.writing) : job, isGoneAgain: isGoneAgain, &state)
            return isBehind
        }
        loop.wake()
        if isBehind, !isForgotten { forget(change) }
    }

    private func add(_ job: Job, isGoneAgain: Bool, _ state: inout State) {
        if let last = state.jobs.last, last.change.folder == job.change.folder, last.change.name == job.change.name {
            switch (last.change.kind, job.change.kind) {
            case (.contentChanged, .contentChanged):
                state.jobs[state.jobs.count - 1].writing.formUnion(job.writing)
                return
            case (.attributesChanged, .attributesChanged): return
            case (.disappeared, .appeared) where isGoneAgain:
                // fanotify merges the two and drops their order.
                state.jobs.insert(job, at: state.jobs.count - 1)
                return
            default: break
            }
        }
        state.jobs.append(job)
    }

    private func miss(_ change: OutsideChange, _ state: inout State) {
        if state.missed.count < Self.mostMissed { state.missed.insert(change.folder) }
    }

    /// Whether watches can be on a folder: not if the kernel knows it by replays alone.
    private func isKnown(_ folder: FileIdentity) -> Bool {
        table.known(folder).map { !$0.isOnlyReplayed.load(ordering: .relaxed) } ?? false
    }

    private func mayBeWatched(_ change: OutsideChange) -> Bool {
        if isKnown(change.folder) { return true }
        if case .moved(let target) = change.kind { return isKnown(target.folder) }
        return false
    }

    /// A change of a folder's own attributes as one in the folder that it is in: programs that watch that one hear of it, though the kernel
    /// has forgotten the folder itself. Nil for the store's.
    private func inItsParent(_ change: OutsideChange) -> OutsideChange? {
        guard let name = change.folderPath.lastName else { return nil }
        let path = change.folderPath.parent
        let link = table.known(change.folder)?.currentLink
        guard let parent = link?.parent.identity ?? (try? FileIdentity(FileStatus(of: store.held(path)))) else { return nil }
        return OutsideChange(
            folder: parent, folderPath: path, name: link?.name ?? name, kind: change.kind, isFolder: true, pid: change.pid)
    }

    private func status(at place: OutsideChange.Place) -> cl_status? {
        guard let parent = table.known(place.folder), let folder = try? locator.folder(parent) else { return nil }
        return try? FileStatus(of: place.name, in: folder)
    }

    /// Has the kernel ask again for the names and the listings of their folders.
    private func forget(_ change: OutsideChange, isAwaited: Bool = false) {
        guard let notifier = session.current?.notifier else { return }
        for place in change.places {
            guard let parent = table.known(place.folder) else { continue }
            _ = notifier.waiting(atMost: isAwaited ? Self.kernelTimeout : nil) { done in
                notifier.nameChanged(place.name, in: parent, table, done: done)
            }
            notifier.contentsChanged(of: table.id(of: parent))
        }
    }

    // MARK: - The thread

    func start() {
        state.withLock { $0.isIdle = false }
        loop.start("quire-replays") { [self] in run() }
    }

    /// Again: does nothing. What waits is replayed no more. After the replayer's `stop`.
    func stop() {
        state.withLock { $0.isIdle = true }
        loop.stop()
    }

    private func run() {
        while true {
            loop.sleep()
            while let jobs = takeBatch() {
                let started = cl_monotonic_ns()
                for job in jobs {
                    if loop.isStopping { return }
                    work(on: job)
                }
                if jobs.count == Self.batch { usleep(UInt32(clamping: (cl_monotonic_ns() - started) / 1_000)) }
            }
            if loop.isStopping { return }
        }
    }

    /// Nil if there is nothing to do. When all is done, the folders in which something was missed are touched: that much their
    /// watches are told.
    private func takeBatch() -> [Job]? {
        state.withLock { state in
            guard !state.jobs.isEmpty else {
                guard !state.missed.isEmpty else { return nil }
                defer { state.missed = [] }
                return state.missed.map { folder in
                    let change = OutsideChange(
                        folder: folder, folderPath: .root, name: nil, kind: .attributesChanged, isFolder: true, pid: nil)
                    return Job(change: change, isForgotten: true, writing: [])
                }
            }
            let jobs = Array(state.jobs.prefix(Self.batch))
            state.jobs.removeFirst(jobs.count)
            return jobs
        }
    }

    private func work(on job: Job) {
        var job = job
        let isDone =
            switch job.change.kind {
            case .appeared: made(&job)
            case .disappeared: gone(&job)
            case .moved(let target): moved(&job, to: target)
            case .contentChanged: written(job)
            case .attributesChanged: attributesChanged(job.change)
            case .overflow: true
            }
        if !isDone, !job.isForgotten { forget(job.change) }
    }

    /// Has it replayed. While that takes long, the kernel forgets what waits at once.
    private func replay(_ operation: ReplayProcess.Operation, _ change: ReplayedChange.Change, _ job: inout Job) -> Bool {
        current.withLock { $0 = ReplayedChange(change: change) }
        var wasSlow = false
        let isDone = replayer.replay(operation) {
            wasSlow = true
            heldUp(job)
        }
        if wasSlow {
            job.isForgotten = true
            state.withLock { $0.isHeldUp = false }
        }
        if isDone == nil, job.change.name != nil { state.withLock { miss(job.change, &$0) } }
        let found = current.withLock { $0.take()?.found }
        if let found { table.forget(found, count: 1) }
        return isDone ?? false
    }

    private func heldUp(_ job: Job) {
        let waiting = state.withLock { state in
            state.isHeldUp = true
            let waiting = state.jobs.filter { !$0.isForgotten }.map(\.change)
            for index in state.jobs.indices { state.jobs[index].isForgotten = true }
            return waiting
        }
        if !job.isForgotten { forget(job.change) }
        for change in waiting { forget(change) }
    }

    // MARK: - One change

    /// Where the mount has a place, by the names last seen.
    private func path(of place: OutsideChange.Place) -> [UInt8]? {
        table.known(place.folder)?.path.map { $0.appending(place.name).bytes }
    }

    private func made(_ job: inout Job) -> Bool {
        guard let place = job.change.place, let path = path(of: place) else { return false }
        let status = status(at: place)
        if let status, let node = table.known(FileIdentity(status)), wasLatelyReplayed(node, at: place) {
            return job.writing.isEmpty || written(job)
        }
        let type = status.map { $0.st.st_mode & S_IFMT } ?? (job.change.isFolder ? S_IFDIR : S_IFREG)
        guard self.replay(.make(path, type: type), .made(place), &job) else { return false }
        // fanotify merges what was written into what was made.
        return job.writing.isEmpty || written(job)
    }

    private func wasLatelyReplayed(_ node: Node, at place: OutsideChange.Place) -> Bool {
        node.state.withLock { state in
            guard let link = state.link, link.parent.identity == place.folder, link.name == place.name else { return false }
            return cl_monotonic_ns() - state.replayed < Self.doubleTime
        }
    }

    private func gone(_ job: inout Job) -> Bool {
        guard let place = job.change.place, let path = path(of: place) else { return false }
        let type: mode_t = job.change.isFolder ? S_IFDIR : S_IFREG
        if self.replay(.remove(path, type: type), .gone(place, type: type), &job) { return true }
        guard job.change.isFolder, status(at: place) == nil else { return false }
        // The kernel has something else there than a folder that is gone: it looks anew.
        forget(job.change, isAwaited: true)
        job.isForgotten = true
        return self.replay(.remove(path, type: type), .gone(place, type: type), &job)
    }

    private func moved(_ job: inout Job, to target: OutsideChange.Place) -> Bool {
        let change = job.change
        guard let source = change.place else { return false }
        if let path = self.path(of: source), let newPath = self.path(of: target), let status = status(at: target) {
            let node = table.lookedUp(status)
            defer { table.forget(node, count: 1) }
            func isReplayed() -> Bool {
                guard self.replay(.move(path, to: newPath), .moved(from: source, to: target, node: node), &job) else { return false }
                node.state.withLock { $0.replayed = cl_monotonic_ns() }
                return true
            }
            if isReplayed() { return true }
            // The kernel may have something else under one of the names: it looks anew.
            if change.isFolder, self.status(at: target).map(FileIdentity.init) == node.identity {
                forget(change, isAwaited: true)
                job.isForgotten = true
                if isReplayed() { return true }
            }
        }
        // It is somewhere else by now, or the kernel knows one of the two folders alone.
        if change.isFolder || !job.isForgotten { forget(change, isAwaited: change.isFolder) }
        job.isForgotten = true
        if isKnown(source.folder) { _ = gone(&job) }
        if isKnown(target.folder) {
            var arrival = Job(change: change.arrival(at: target), isForgotten: true, writing: [])
            _ = made(&arrival)
        }
        return true
    }

    private func written(_ job: Job) -> Bool {
        var job = job
        guard let place = job.change.place, let path = path(of: place), let status = status(at: place),
            status.isRegular
        else { return true }
        // As long as it is open for writing nobody can run it.
        let isProgram = status.st.st_mode & 0o111 != 0
        let operation = ReplayProcess.Operation.write(
            path, isModified: job.writing.contains(.modified), isClosed: job.writing.contains(.closed) && !isProgram)
        _ = self.replay(operation, .touched, &job)
        return true
    }

    private func attributesChanged(_ change: OutsideChange) -> Bool {
        var job = Job(change: change, isForgotten: true, writing: [])
        guard let path = change.place.map({ path(of: $0) }) ?? table.known(change.folder)?.path?.bytes else { return true }
        _ = self.replay(.changeAttributes(path), .touched, &job)
        return true
    }

    // MARK: - Requests of the process

    func isCaller(_ caller: Caller) -> Bool { replayer.isCaller(caller) }

    /// Calls `body` with what is being replayed; nil if nothing is, as while a process that was given up is still there.
    func withCurrent<Result>(_ body: (inout ReplayedChange?) -> Result) -> Result { current.withLock { body(&$0) } }

    /// The process looks at what the kernel has under a name.
    func shown(_ node: Node) {
        guard let link = node.currentLink else { return }
        current.withLock { replayed in
            let place: OutsideChange.Place
            switch replayed?.change {
            case .gone(let gone, _): place = gone
            case .moved(_, let target, let moved) where moved !== node: place = target
            default: return
            }
            guard replayed?.found == nil, link.parent.identity == place.folder, link.name == place.name else { return }
            table.hold(node)
            replayed?.found = node
        }
    }
}

extension OutsideChange {
    fileprivate var place: Place? { name.map { Place(folder: folder, folderPath: folderPath, name: $0) } }

    fileprivate var places: [Place] {
        let source = place.map { [$0] } ?? []
        if case .moved(let target) = kind { return source + [target] }
        return source
    }

    fileprivate func arrival(at place: Place) -> OutsideChange {
        OutsideChange(
            folder: place.folder, folderPath: place.folderPath, name: place.name, kind: .appeared, isFolder: isFolder, pid: pid)
    }
}
