import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// Has the kernel tell programs that watch inside a grant of what was done by other paths: a process of its own (`quire-replay`) does the
/// same there, and `ScopedTree` answers it as done without doing anything. See README.md in the folder Replay.
///
/// Only folders that the kernel knows by the grant can be watched. A move is told as a removal and an appearance.
final class GrantAnnouncer: Sendable {
    /// What is told at this moment.
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

    /// Knows its process's requests.
    let replayer: Replayer
    private let grants: Grants
    private let files: MountedFileSystem
    private let events: EventHub
    /// Rank 2b.
    private let current = Mutex<Announcement?>(nil)
    private struct State {
        var listener: EventHub.ListenerID?
        var position = EventLog.Position(after: 0)
    }
    /// Leaf.
    private let state = Locked(State())
    private let loop = LoopThread()
    /// After so many events the thread rests for as long as they took, so that apps find room.
    private static let batch = 50

    init(_ grants: Grants, files: MountedFileSystem, events: EventHub, log: Logger) {
        (self.grants, self.files, self.events) = (grants, files, events)
        replayer = Replayer(log: log, purpose: "watches in grants hear of nothing that is done elsewhere")
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

    /// There is a grant: what is done from now on is told. Nothing is listened to while there is none.
    func begin() {
        guard state.withLock({ $0.listener == nil }) else { return }
        let position = EventLog.Position(after: events.lastKnownSequence)
        let listener = events.listen(pacedFor: geteuid()) { [loop] in loop.wake() }
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

    private func run() {
        while !loop.isStopping {
            loop.sleep()
            while !loop.isStopping, takeEvents() {}
        }
    }

    /// Whether there may be more.
    private func takeEvents() -> Bool {
        guard let position = state.withLock({ $0.listener == nil ? nil : $0.position }) else { return false }
        let holding = grants.all
        if holding.isEmpty {
            end()
            return false
        }
        let page = events.events(after: position, limit: Self.batch) { _ in true }
        state.withLock { $0.position = page.next }
        guard !page.events.isEmpty || !page.missed.isEmpty else { return false }
        let started = cl_monotonic_ns()
        for (event, next) in zip(page.events, page.events.dropFirst().map(Optional.some) + [nil]) {
            // What was moved over something is told as that, written.
            let isReplaced = event.kind == .moved && next?.kind == .changed && next?.path == event.path
            for grant in holding where grant.number != event.view && !loop.isStopping { announce(event, isReplaced: isReplaced, in: grant) }
        }
        if !page.missed.isEmpty { for grant in holding { lookAgain(grant) } }
        if page.events.count == Self.batch { usleep(UInt32(clamping: (cl_monotonic_ns() - started) / 1_000)) }
        return true
    }

    // MARK: - One event

    private func announce(_ event: StoreEvent, isReplaced: Bool, in grant: Grant) {
        guard let place = Place(grant) else { return }
        switch event.kind {
        case .appeared: made(event.path, in: event.folder, place)
        case .deleted: gone(event.path, from: event.folder, place)
        case .moved:
            if let old = event.oldPath { gone(old, from: event.oldFolder, place) }
            if !isReplaced { made(event.path, in: event.folder, place) }
        case .changed:
            forgetContent(event.path, grant)
            touched(event.path, in: event.folder, place) { path, mode in
                // As long as it is open for writing nobody can run it.
                .write(path, isModified: true, isClosed: mode & 0o111 == 0 && mode & S_IFMT == S_IFREG)
            }
        case .attributesChanged: touched(event.path, in: event.folder, place) { path, _ in .changeAttributes(path) }
        case .versionGained, .versionLost, .saveAborted: break
        }
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

        /// Where a path of the store is seen by the grant; nil if it is not.
        func path(of path: StorePath) -> [UInt8]? {
            guard path == granted || isFolder && path.isInside(granted), let name = granted.lastName else { return nil }
            let slash = [UInt8(ascii: "/")]
            return ScopesFolder.name.bytes + slash + grant.token.bytes + slash + name.bytes + path.bytes.dropFirst(granted.bytes.count)
        }
    }

    /// The folder of a change that a program may watch by the grant. Throws ENOENT if there is none.
    private func watched(_ path: StorePath, _ folder: FileIdentity?, _ place: Place) throws(Errno) -> Node? {
        if path == place.granted { return nil }
        guard let node = folder.flatMap({ files.table.known($0) }), files.table.known(ScopedItem.identity(of: node, by: place.grant)) != nil
        else { throw .noSuchFileOrDirectory }
        return node
    }

    private func mode(of path: StorePath) -> mode_t? {
        (try? files.store.held(path)).flatMap { try? FileStatus(of: $0) }?.st.st_mode
    }

    private func made(_ path: StorePath, in folder: FileIdentity?, _ place: Place) {
        guard let shown = place.path(of: path), let mode = mode(of: path) else { return }
        replay(.make(shown, type: mode & S_IFMT), .made, path, folder, place)
    }

    private func gone(_ path: StorePath, from folder: FileIdentity?, _ place: Place) {
        guard let shown = place.path(of: path), mode(of: path) == nil else { return }
        replay(.remove(shown, type: S_IFREG), .gone, path, folder, place)
    }

    private func touched(
        _ path: StorePath, in folder: FileIdentity?, _ place: Place, _ operation: ([UInt8], mode_t) -> ReplayProcess.Operation
    ) {
        guard let shown = place.path(of: path), let mode = mode(of: path) else { return }
        replay(operation(shown, mode), .touched, path, folder, place)
    }

    private func replay(
        _ operation: ReplayProcess.Operation, _ change: Announcement.Change, _ path: StorePath, _ folder: FileIdentity?, _ place: Place
    ) {
        do throws(Errno) {
            guard let name = path.lastName else { return }
            let announcement = Announcement(grant: place.grant, folder: try watched(path, folder, place), name: name, change: change)
            current.withLock { $0 = announcement }
            _ = replayer.replay(operation)
            current.withLock { $0 = nil }
        } catch {}
    }

    /// Mappings by the grant have pages of their own.
    private func forgetContent(_ path: StorePath, _ grant: Grant) {
        guard let held = try? files.store.held(path), let node = FileIdentity(of: held).flatMap({ files.table.known($0) }),
            let seen = files.table.known(ScopedItem.identity(of: node, by: grant))
        else { return }
        files.session.current?.notifier.contentsChanged(of: seen.id)
    }

    /// What was not told: programs that watch the granted folder or document look again.
    private func lookAgain(_ grant: Grant) {
        guard let place = Place(grant) else { return }
        forgetContent(place.granted, grant)
        touched(place.granted, in: nil, place) { path, _ in .changeAttributes(path) }
    }

    // MARK: - Requests of the process

    func isCaller(_ caller: Caller) -> Bool { replayer.isCaller(caller) }

    /// What is told of a name in a folder of a grant at this moment; nil: nothing.
    func change(of name: BorrowedName, in folder: Node?, of grant: Grant) -> Announcement.Change? {
        current.withLock { current in
            guard let current, current.grant === grant, current.folder === folder, current.name.matches(name) else { return nil }
            return current.change
        }
    }
}
