public import Foundation
import MountProtocol
import Synchronization

/// Coordinates reading and writing documents with other threads and other processes, as `NSFileCoordinator`.
///
/// ```swift
/// let coordinator = FileCoordinator()
/// let text = try coordinator.coordinate(readingItemAt: url) { try String(contentsOf: $0, encoding: .utf8) }
/// try coordinator.coordinate(writingItemAt: url) { try text.uppercased().write(to: $0, atomically: false, encoding: .utf8) }
/// ```
///
/// Before the accessor runs, those who present the item are asked to save or to let go (see ``FilePresenter``), and accesses
/// that conflict are waited for: in a Quire mount those of all processes, programs that know nothing of coordination among
/// them; elsewhere those of this process, which the log says once.
///
/// **Each access** can be made in three ways: blocking with a closure; in `async` functions with `await`, where the accessor
/// runs where the caller runs; or, for any number of items, on an operation queue. An accessor that throws has what it saved
/// in a mount dropped as far as the mount can, and its error passed on.
///
/// **Waiting** has a bound, see ``timeout``. It ends early by ``cancel()``, and in `async` functions with the task.
///
/// **Accesses within accesses.** Those of one coordinator, and of coordinators of one ``purposeIdentifier``, never wait for
/// each other. One that others include (the same item read or written while it is written, an item of a folder) asks nobody.
/// Others may meet a deadlock, which is found and thrown where it can be, and otherwise ends with the time limit.
///
/// **Cost** in a mount: two messages to the daemon and back, some tenths of a millisecond, and the questions to presenters;
/// elsewhere and for included accesses some 20 µs. A coordinator costs nothing to make: make one for each piece of work.
///
/// **Threads.** All methods may be called on any thread. Those that are not `async` block it, and so are not for the main
/// thread of a program with a user interface if presenters answer there.
public final class FileCoordinator: Sendable {
    private struct State {
        var purpose = UUID().uuidString
        var timeout: Duration?
        var isCancelled = false
        var waits: [ObjectIdentifier: AccessWait] = [:]
        /// The accesses granted.
        var accesses: [FileAccess] = []
        /// Pictures of what is written.
        var thumbnails: [AbsolutePath: Data] = [:]
        /// What `item(at:didMoveTo:)` has told of.
        var moves: Set<AbsolutePath> = []
    }

    /// The presenter on whose behalf this coordinator accesses items: neither asked nor told of what goes through it.
    let filePresenter: (any FilePresenter)?
    /// A leaf lock.
    private let state = Mutex(State())

    /// - Parameter filePresenter: the presenter on whose behalf items are accessed, which is neither asked nor told of that.
    public init(filePresenter: (any FilePresenter)? = nil) { self.filePresenter = filePresenter }

    /// Who the accesses belong to: those of one purpose and user never wait for each other, whichever processes they are in.
    /// Set it on several coordinators that do one piece of work. 255 bytes at most; a UUID unless set, as on Apple's systems.
    public var purposeIdentifier: String {
        get { state.withLock { $0.purpose } }
        set {
            precondition(!newValue.isEmpty && newValue.utf8.count <= 255, "a purpose has 1 to 255 bytes: \(newValue)")
            state.withLock { $0.purpose = newValue }
        }
    }

    /// How long an access is waited for; then ``FileCoordinationError/timedOut(_:)`` says who is in the way. Nil: as long as
    /// the mount's `coordination-timeout` says, outside of mounts ten seconds. A day at most.
    public var timeout: Duration? {
        get { state.withLock { $0.timeout } }
        set { state.withLock { $0.timeout = newValue } }
    }

    /// Ends the waits of this coordinator, and has it grant nothing from now on: these calls throw
    /// ``FileCoordinationError/cancelled``. An accessor that runs goes on. Returns at once, on any thread. A wait within
    /// another access in a mount goes on until its end and is given up then, as the two share a connection.
    public func cancel() {
        let waits = state.withLock { state in
            state.isCancelled = true
            return Array(state.waits.values)
        }
        for wait in waits { wait.cancel() }
    }

    // MARK: - Presenters

    /// Has a presenter be asked and told from now on, in a mount by other processes too. It is kept until it is removed.
    ///
    /// Returns when the mount's daemon knows of it, in less than a millisecond; when the daemon does not answer within two
    /// seconds it is told later. What a user may not read is not presented, which the log says.
    public static func addFilePresenter(_ filePresenter: any FilePresenter) {
        guard let url = filePresenter.presentedItemURL, let path = try? AbsolutePath(url, resolvesLink: true) else {
            return PresenterRegistry.shared.addIdle(filePresenter)
        }
        guard PresenterRegistry.shared.member(for: filePresenter) == nil else { return }
        _ = PresenterRegistry.shared.add(RegisteredPresenter(filePresenter, at: path))
    }

    /// Ends `addFilePresenter`. Messages on their way may still be sent.
    public static func removeFilePresenter(_ filePresenter: any FilePresenter) {
        PresenterRegistry.shared.removeIdle(filePresenter)
        guard let member = PresenterRegistry.shared.member(for: filePresenter) else { return }
        PresenterRegistry.shared.remove(member)
    }

    /// The presenters of this process that were added and not removed, in that order.
    public static var filePresenters: [any FilePresenter] { PresenterRegistry.shared.presenters }

    /// Says whether a presenter shows what is not in its document yet. While it does, programs that know nothing of
    /// coordination wait when they open the document for reading, until the presenter has saved: `cat` prints what was typed
    /// a moment ago.
    ///
    /// `NSFileCoordinator` has nothing of the kind, as only coordinated readers have presenters save there. A call and not a
    /// property of the presenter, for the daemon has to know before somebody opens: asking each presenter then would cost
    /// every open a wait. Does not wait and costs next to nothing if nothing changes: call it at each keystroke.
    public static func setHasUnsavedChanges(_ hasUnsavedChanges: Bool, for filePresenter: any FilePresenter) {
        guard let member = PresenterRegistry.shared.member(for: filePresenter) else { return }
        guard member.note(unsavedChanges: hasUnsavedChanges) else { return }
        PresenterRegistry.shared.mount(of: member)?.noteUnsavedChanges(of: member)
    }

    // MARK: - What is under way

    /// A wait that `cancel` ends, until `end`.
    func begin() throws(FileCoordinationError) -> AccessWait {
        let wait = AccessWait()
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.waits[ObjectIdentifier(wait)] = wait }
            return state.isCancelled
        }
        if isCancelled { throw .cancelled }
        return wait
    }

    func end(_ wait: AccessWait) { state.withLock { $0.waits[ObjectIdentifier(wait)] = nil } }

    func keep(_ access: FileAccess) { state.withLock { $0.accesses.append(access) } }
    func forget(_ access: FileAccess) { state.withLock { $0.accesses.removeAll { $0 === access } } }

    /// Accesses of this coordinator that together include all these items, each joined; nil if they do not.
    func accesses(including items: [AccessItem]) -> [FileAccess]? {
        let accesses = state.withLock { $0.accesses }
        var found: [FileAccess] = []
        for item in items {
            guard let access = accesses.first(where: { access in access.items.contains { $0.includes(item) } }) else { return nil }
            if !found.contains(where: { $0 === access }) { found.append(access) }
        }
        for (index, access) in found.enumerated() where !access.join() {
            for joined in found[..<index] { try? joined.leave() }
            return nil
        }
        return found
    }

    // MARK: - Thumbnails

    /// Hands over a picture of an item that an accessor of this coordinator writes. In a mount the item's thumbnails are made of
    /// it, in all sizes, when what was written is published, and no program has to draw that version; in other folders, and if the
    /// accessor throws, nothing happens. To be called within the accessor.
    ///
    /// - Parameters:
    ///   - image: an image file, PNG or JPEG, say. 512 pixels a side look good in file managers. 512 KiB at most for all items of an
    ///     access; larger ones are left out, and the thumbnail is drawn of the document.
    ///   - url: the item.
    public func setThumbnail(_ image: Data, forItemAt url: URL) {
        guard image.count <= DocumentPicture.mostBytes, let path = try? AbsolutePath(url, resolvesLink: true) else { return }
        state.withLock { $0.thumbnails[path] = image }
    }

    /// The pictures of what an access has written in a mount.
    func takeThumbnails(of access: FileAccess, in mount: QuireMount) -> [DocumentPicture] {
        let found = state.withLock { state in
            let paths = state.thumbnails.keys.filter { access.writes($0) && QuireMount.holding($0) == mount }
            return paths.map { ($0, state.thumbnails.removeValue(forKey: $0)!) }
        }
        var bytes = 0
        return found.prefix { _, image in
            bytes += image.count
            return bytes <= DocumentPicture.mostBytes
        }.map { DocumentPicture(path: $0.wire, bytes: Array($1)) }
    }

    func note(moveFrom old: AbsolutePath, to new: AbsolutePath) { state.withLock { $0.moves.formUnion([old, new]) } }

    /// Those of some paths that were moved, or moved to.
    func takeMoves(of paths: [AbsolutePath]) -> Set<AbsolutePath> {
        state.withLock { state in
            let found = state.moves.intersection(paths)
            state.moves.subtract(found)
            return found
        }
    }
}
