import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// Has the kernel send inotify events to programs in a grant for changes made by other paths: a process of its own (`quire-replay`) repeats
/// the change in the grant, and `ScopedTree` answers it as done without doing anything. See README.md in this folder.
///
/// The kernel has inotify watches only on folders that it knows by the grant. Owners of grants take turns.
final class GrantAnnouncer: Sendable {
    /// The change that the process repeats at this moment.
    struct Announcement {
        enum Change {
            case made
            case gone
            case touched
        }
        let grant: Grant
        /// Nil: the grant's own folder.
        let folder: Node?
        let name: EntryName
        let change: Change
    }

    private struct Job {
        let grant: Grant
        let event: StoreEvent
    }

    /// Of the thread alone.
    private struct Work {
        var jobs = TurnQueue<Job>()
        /// How many jobs wait, by the account of the grants' owners.
        var counts: [uid_t: Int] = [:]
        /// Grants in which something was not repeated, by number.
        var missed: [UInt32: Grant] = [:]
    }

    /// Knows its process's requests.
    let replayer: Replayer
    private let grants: Grants
    private let files: MountedFileSystem
    private let events: EventHub
    private let accounts: Accounts
    /// Rank 2b.
    private let current = Mutex<Announcement?>(nil)
    private struct State {
        var listener: EventHub.ListenerID?
        var position = EventLog.Position(after: 0)
    }
    /// Leaf.
    private let state = Locked(State())
    private let loop = LoopThread()
    /// After so many changes the thread rests for as long as they took, a fifth of a second at most, so that apps find room.
    private static let batch = 50
    private static let longestRest: Int64 = 200_000_000
    private static let (page, mostPages) = (256, 16)
    /// An account with more jobs than this misses events.
    private static let mostJobsOfAccount = 4_000

    init(_ grants: Grants, files: MountedFileSystem, events: EventHub, accounts: Accounts, log: Logger) {
        (self.grants, self.files, self.events, self.accounts) = (grants, files, events, accounts)
        replayer = Replayer(log: log, purpose: "watches in grants hear of no changes made by other paths")
    }

    func start(at place: MountPlace, _ startReplay: @escaping MountConfiguration.StartReplay) {
        replayer.start(at: place, startReplay)
        loop.start("quire-grants") { [unowned self] in run() }
    }

    func stop() {
        replayer.stop()
        loop.stop()
        replayer.collect()
    }

    /// To be called when a grant was made: its watches hear of what is done from now on. Without grants nothing is listened to.
    func begin() {
        guard state.withLock({ $0.listener == nil }) else { return }
        let listener = events.listen(pacedFor: geteuid()) { [loop] in loop.wake() }
        // Also has the hub take the events that nobody was told of: it wakes listeners for the first one that waits.
        let position = EventLog.Position(after: events.lastSequence)
        let isFirst = state.withLock { state in
            guard state.listener == nil else { return false }
            (state.listener, state.position) = (listener, position)
            return true
        }
        if !isFirst { events.endListening(listener) }
    }

    private func end() {
        if let listener = state.withLock({ $0.listener.take() }) { events.endListening(listener) }
        // One was made meanwhile.
        if !grants.all.isEmpty { begin() }
    }

    // MARK: - The thread

    private func run() {
        var work = Work()
        while !loop.isStopping {
            if work.jobs.isEmpty { if work.missed.isEmpty { loop.sleep() } else { loop.sleep(seconds: 1) } }
            takeEvents(&work)
            let started = cl_monotonic_ns()
            var count = 0
            while count < Self.batch, !loop.isStopping, let job = work.jobs.popFirst() {
                count += 1
                work.counts[account(of: job.grant), default: 1] -= 1
                if !announce(job.event, in: job.grant) { work.missed[job.grant.number] = job.grant }
            }
            if work.jobs.isEmpty { for grant in work.missed.values where lookAgain(grant) { work.missed[grant.number] = nil } }
            if count == Self.batch { rest(cl_monotonic_ns() - started) }
        }
    }

    private func rest(_ time: Int64) {
        let end = cl_monotonic_ns() + min(time, Self.longestRest)
        while !loop.isStopping, cl_monotonic_ns() < end { loop.sleep(until: end) }
    }

    private func account(of grant: Grant) -> uid_t { accounts.owner(of: grant.owner.uid) }

    /// Takes some pages of events, so that an account that makes changes without a pause does not delay the changes of the others.
    private func takeEvents(_ work: inout Work) {
        for _ in 0..<Self.mostPages where !loop.isStopping {
            guard let position = state.withLock({ $0.listener == nil ? nil : $0.position }) else { return }
            let holding = grants.all
            if holding.isEmpty {
                work = Work()
                return end()
            }
            let page = events.events(after: position, limit: Self.page) { _ in true }
            state.withLock { $0.position = page.next }
            if page.events.isEmpty, page.missed.isEmpty { return }
            let changes = page.events.map { event in
                (event: event, path: present(event.path, in: event.folder), old: event.oldPath.map { present($0, in: event.oldFolder) })
            }
            for grant in holding {
                guard let place = Place(grant) else { continue }
                if page.missed.contains(where: place.concerns) { work.missed[grant.number] = grant }
                for (event, path, old) in changes where event.view != grant.number && (place.shows(path) || old.map(place.shows) ?? false) {
                    add(Job(grant: grant, event: event), &work)
                }
            }
        }
        // The rest in the next round.
        loop.wake()
    }

    private func add(_ job: Job, _ work: inout Work) {
        let account = account(of: job.grant)
        guard work.counts[account, default: 0] < Self.mostJobsOfAccount else {
            work.missed[job.grant.number] = job.grant
            return
        }
        work.counts[account, default: 0] += 1
        work.jobs.append(job, of: account)
    }

    // MARK: - One event

    /// Whether programs heard of it, where any can.
    private func announce(_ event: StoreEvent, in grant: Grant) -> Bool {
        guard let place = Place(grant) else { return true }
        let path = present(event.path, in: event.folder)
        switch event.kind {
        case .appeared: return made(path, in: event.folder, place)
        case .deleted: return gone(path, from: event.folder, place)
        case .moved:
            // A file that replaced another one is told of as that, changed.
            if event.replaces { return event.oldPath.map { gone(present($0, in: event.oldFolder), from: event.oldFolder, place) } ?? true }
            if path == place.granted, let old = event.oldPath?.lastName, old != path.lastName {
                let isToldOfOld = repeated(.remove(place.top + old.bytes, type: S_IFREG), .gone, old, in: nil, place)
                return made(path, in: nil, place) && isToldOfOld
            }
            let isToldOfOld = event.oldPath.map { gone(present($0, in: event.oldFolder), from: event.oldFolder, place) } ?? true
            return made(path, in: event.folder, place) && isToldOfOld
        case .changed:
            return touched(path, in: event.folder, place) { path, mode in
                // As long as it is open for writing nobody can run it.
                .write(path, isModified: true, isClosed: mode & 0o111 == 0 && mode & S_IFMT == S_IFREG)
            }
        case .attributesChanged: return touched(path, in: event.folder, place) { path, _ in .changeAttributes(path) }
        case .versionGained, .versionLost, .saveAborted: return true
        }
    }

    /// The path as it is now: the folder may have been moved since.
    private func present(_ path: StorePath, in folder: FileIdentity?) -> StorePath {
        guard let name = path.lastName, let now = folder.flatMap({ files.table.known($0) })?.path else { return path }
        return now.appending(name)
    }

    /// Where a grant is seen, and what it is of.
    private struct Place {
        let grant: Grant
        let granted: StorePath
        let isFolder: Bool

        init?(_ grant: Grant) {
            let link = grant.link
            guard let parent = link.parent.path else { return nil }
            (self.grant, granted, isFolder) = (grant, parent.appending(link.name), grant.target.isFolder)
        }

        /// The grant's folder, and a slash.
        var top: [UInt8] {
            let slash = [UInt8(ascii: "/")]
            return ScopesFolder.name.bytes + slash + grant.token.bytes + slash
        }

        func shows(_ path: StorePath) -> Bool { path == granted || isFolder && path.isInside(granted) }

        /// Where a path of the store is seen by the grant; nil if it is not.
        func path(of path: StorePath) -> [UInt8]? {
            guard shows(path), let name = granted.lastName else { return nil }
            return top + name.bytes + path.bytes.dropFirst(granted.bytes.count)
        }

        /// Whether what happened at a place or in it may have been seen by the grant.
        func concerns(_ place: StorePath) -> Bool { place.isRoot || granted.isInside(place) || shows(place) }
    }

    private func mode(of path: StorePath) -> mode_t? { status(of: path)?.st.st_mode }

    private func status(of path: StorePath) -> cl_status? { (try? files.store.held(path)).flatMap { try? FileStatus(of: $0) } }

    private func made(_ path: StorePath, in folder: FileIdentity?, _ place: Place) -> Bool {
        guard let shown = place.path(of: path), let name = path.lastName, let status = status(of: path) else { return true }
        // Programs that have found it already keep its name.
        if let node = files.table.known(FileIdentity(status)), files.table.known(ScopedItem.identity(of: node, by: place.grant)) != nil {
            return touched(path, in: folder, place) { path, _ in .changeAttributes(path) }
        }
        guard let folder = watched(path, folder, place) else { return true }
        return repeated(.make(shown, type: status.st.st_mode & S_IFMT), .made, name, in: folder.node, place)
    }

    private func gone(_ path: StorePath, from folder: FileIdentity?, _ place: Place) -> Bool {
        guard let shown = place.path(of: path), let name = path.lastName, mode(of: path) == nil, let folder = watched(path, folder, place)
        else { return true }
        return repeated(.remove(shown, type: S_IFREG), .gone, name, in: folder.node, place)
    }

    private func touched(
        _ path: StorePath, in folder: FileIdentity?, _ place: Place, _ operation: ([UInt8], mode_t) -> ReplayProcess.Operation
    ) -> Bool {
        guard let shown = place.path(of: path), let name = path.lastName, let mode = mode(of: path), let folder = watched(path, folder, place)
        else { return true }
        return repeated(operation(shown, mode), .touched, name, in: folder.node, place)
    }

    private struct WatchedFolder {
        /// Nil: the grant's own folder.
        let node: Node?
    }

    /// The folder of a change if a program may watch it by the grant; else nil.
    private func watched(_ path: StorePath, _ folder: FileIdentity?, _ place: Place) -> WatchedFolder? {
        if path == place.granted { return WatchedFolder(node: nil) }
        guard let node = folder.flatMap({ files.table.known($0) }),
            let seen = files.table.known(ScopedItem.identity(of: node, by: place.grant)), !seen.isOnlyReplayed.load(ordering: .relaxed)
        else { return nil }
        return WatchedFolder(node: node)
    }

    /// False if there is no process to do it.
    private func repeated(
        _ operation: ReplayProcess.Operation, _ change: Announcement.Change, _ name: EntryName, in folder: Node?, _ place: Place
    ) -> Bool {
        current.withLock { $0 = Announcement(grant: place.grant, folder: folder, name: name, change: change) }
        defer { current.withLock { $0 = nil } }
        return replayer.replay(operation) != nil
    }

    /// Programs that watch the granted folder or document are to look again. Whether they were told, or nobody can be.
    private func lookAgain(_ grant: Grant) -> Bool {
        guard !grant.isOver, let place = Place(grant) else { return true }
        return touched(place.granted, in: nil, place) { path, _ in .changeAttributes(path) }
    }

    // MARK: - Requests of the process

    func isCaller(_ caller: Caller) -> Bool { replayer.isCaller(caller) }

    /// The change to a name in a folder of a grant that the process repeats at this moment; nil: none.
    func change(of name: BorrowedName, in folder: Node?, of grant: Grant) -> Announcement.Change? {
        current.withLock { current in
            guard let current, current.grant === grant, current.folder === folder, current.name.matches(name) else { return nil }
            return current.change
        }
    }
}
