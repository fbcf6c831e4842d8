import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Changes made in the store by others: has them replayed on the mount, and so the kernel forget what it holds of them, and the
/// index look.
///
/// Called on the watcher's thread. What the watcher tells is a hint: the state decides. With inotify it tells of the mount's
/// own changes too, which the kernel knows already.
final class OutsideChangeHandler: Sendable {
    private let fileSystem: MountedFileSystem
    private let indexer: Indexer
    private let journal: ChangeJournal
    /// Microseconds.
    private static let timeToNote: UInt32 = 5_000

    init(fileSystem: MountedFileSystem, indexer: Indexer) {
        self.fileSystem = fileSystem
        self.indexer = indexer
        journal = fileSystem.journal
    }

    func handle(_ changes: [OutsideChange]) {
        guard let notifier = fileSystem.session.current?.notifier else { return }
        // It may be told of what the mount is doing at this moment, and has not noted yet.
        if changes.first?.mayBeOwn == true { usleep(Self.timeToNote) }
        for change in changes {
            if let name = change.name, name.withCString(HiddenName.isHidden) {
                if case .moved(let place) = change.kind { versionPlaced(place, notifier) }
                continue
            }
            // A version that a claim's replaces, and that goes next.
            if case .moved(let place) = change.kind, place.name.withCString(HiddenName.isHidden) { continue }
            switch change.kind {
            case .appeared: nameChanged(change, notifier, isThere: true)
            case .disappeared:
                if let name = change.name, fileSystem.ownRemovals.take(name, in: change.folder) { continue }
                nameChanged(change, notifier, isThere: false)
            case .moved(let place): moved(change, to: place, notifier)
            case .contentChanged, .attributesChanged: contentChanged(change, notifier)
            case .overflow:
                fileSystem.ownRemovals.forgetAll()
                forgetAll(notifier)
                journal.overflow()
            }
        }
    }

    /// A version was put under a document's name: by the mount itself, which knows, or what is left of an earlier daemon.
    private func versionPlaced(_ place: OutsideChange.Place, _ notifier: Notifier) {
        guard known(place.name, in: place.folder, notifier) == nil else { return }
        if let parent = fileSystem.table.known(place.folder) {
            let id = fileSystem.table.id(of: parent)
            notifier.nameChanged(place.name, in: parent, fileSystem.table)
            notifier.contentsChanged(of: id)
        }
        journal.present(place.path)
    }

    private func nameChanged(_ change: OutsideChange, _ notifier: Notifier, isThere: Bool) {
        guard let name = change.name else { return }
        let known = known(name, in: change.folder, notifier)
        // The mount takes the name away itself, as every save by rename does with the name it was written under: the kernel knows, and
        // of what others have put there since the watcher tells next.
        let isTakenAway = change.mayBeOwn && known == nil && fileSystem.ownRemovals.isExpected(name, in: change.folder)
        // What the mount has made is known, or was taken away by it again.
        let isOwn = isTakenAway || change.mayBeOwn && (known?.wasLatelyNamed ?? isOneOfSeveral(name, in: change.folder))
        if !isOwn || known == nil && !isTakenAway {
            fileSystem.replay.take(change, isForgotten: known != nil, replays: !isOwn)
        }
        guard known == nil || !change.mayBeOwn else { return }
        journal.changedOutside(
            isThere ? .appeared : .deleted, change.path, in: change.folder, by: change.actor, isIndexed: !(isThere && change.isFolder),
            isEvent: !(isThere && change.mayBeOwn && journal.events.hasLatelyTold(of: change.path)))
        if isThere, change.isFolder { indexer.scanner.scan(change.path) }
    }

    /// Whether the mount has made a name that the kernel knows a file by beside another one, or taken it away again.
    private func isOneOfSeveral(_ name: EntryName, in folder: FileIdentity) -> Bool {
        guard let parent = fileSystem.table.known(folder) else { return false }
        return fileSystem.table.linkedNode(in: parent, name: name)?.wasLatelyNamed ?? false
    }

    private func moved(_ change: OutsideChange, to place: OutsideChange.Place, _ notifier: Notifier) {
        guard let name = change.name else { return }
        let isOwn = fileSystem.ownRemovals.take(name, in: change.folder)
        let sourceIsKnown = isOwn || known(name, in: change.folder, notifier) != nil
        let targetIsKnown = known(place.name, in: place.folder, notifier) != nil
        follow(to: place)
        // The mount has told the index of its own moves; both names may have changed again since.
        guard !isOwn, !(sourceIsKnown && targetIsKnown && change.mayBeOwn) else { return }
        fileSystem.replay.take(change, isForgotten: sourceIsKnown && targetIsKnown)
        fileSystem.coordinator.moved(from: change.path, to: place.path)
        let isEvent = !(change.mayBeOwn && journal.events.hasLatelyTold(of: change.path, .moved))
        journal.movedOutside(
            from: (change.path, change.folder), to: (place.path, place.folder), isFolder: change.isFolder, by: change.actor, isEvent: isEvent)
    }

    /// A node that was moved is found under its new name from now on.
    private func follow(to place: OutsideChange.Place) {
        guard let parent = fileSystem.table.known(place.folder), let folder = try? fileSystem.locator.folder(parent)
        else { return }
        place.name.withCString { name in
            let moment = parent.nameChanges.now
            guard let status = try? FileStatus(of: name, in: folder),
                let node = fileSystem.table.known(FileIdentity(status)), !node.isRoot
            else { return }
            // The mount's own moves are told here too, some of them late.
            node.seen(in: parent, name: name, hasOtherNames: status.st.st_nlink > 1 && !node.isFolder, since: moment)
        }
    }

    /// What a name stands for, if that is what the kernel was last told, as after a change of the mount's own; nil if the kernel
    /// is to ask again.
    private func known(_ name: EntryName, in folder: FileIdentity, _ notifier: Notifier) -> Node? {
        guard let parent = fileSystem.table.known(folder) else { return nil }
        if let node = nodeAsTold(name, in: parent, notifier) { return node }
        if let node = fileSystem.table.linkedNode(in: parent, name: name) {
            notifier.attributesChangedNow(of: fileSystem.table.id(of: node))
        }
        return nil
    }

    private func nodeAsTold(_ name: EntryName, in parent: Node, _ notifier: Notifier) -> Node? {
        guard let descriptor = parent.state.withLock({ $0.folder }) else { return nil }
        guard let status = try? FileStatus(of: name, in: descriptor), let node = fileSystem.table.known(FileIdentity(status)), let link = node.currentLink
        else { return nil }
        guard link.parent === parent, link.name == name else { return nil }
        // The kernel merges the making of a file with the first writing to it: an app may have looked in between.
        if node.isRegular { forgetAttributes(of: node, unlessTold: Node.Seen(status.st), mayBeWriters: true, notifier) }
        return node
    }

    /// Has the kernel ask again for the attributes of a file that is not as it was told, and with them goes the content kept.
    /// `mayBeWriters`: an app's own writing, which passthrough has the kernel do in the app's name, may be why it changed.
    @discardableResult
    private func forgetAttributes(
        of node: Node, unlessTold seen: Node.Seen, mayBeWriters: Bool, _ notifier: Notifier
    ) -> (isWritten: Bool, isTold: Bool, isContentTold: Bool) {
        let found = node.state.withLock { state in
            (
                isWritten: mayBeWriters && (state.writers > 0 || state.written.hasContent(of: seen)),
                isTold: state.told == seen, isContentTold: state.told.hasContent(of: seen)
            )
        }
        if !found.isWritten, !found.isTold { notifier.attributesChangedNow(of: fileSystem.table.id(of: node)) }
        return found
    }

    private func contentChanged(_ change: OutsideChange, _ notifier: Notifier) {
        guard let name = change.name else { return folderChanged(change, notifier) }
        var (isOwn, isThere, isContentTold) = (false, true, false)
        var isWrittenHere = false
        if let parent = fileSystem.table.known(change.folder), let folder = try? fileSystem.locator.folder(parent) {
            let status = try? FileStatus(of: name, in: folder)
            isThere = status != nil
            if let status, let node = fileSystem.table.known(FileIdentity(status)) {
                let found = forgetAttributes(
                    of: node, unlessTold: Node.Seen(status.st), mayBeWriters: change.kind == .contentChanged, notifier)
                isOwn = found.isWritten || found.isTold && change.mayBeOwn
                isContentTold = found.isContentTold
                let isSaved = change.mayBeOwn && node.saved.load()?.isActive.load(ordering: .relaxed) == true
                isWrittenHere = found.isWritten || isSaved
            }
        }
        // What is not there any more is told of by who took it away.
        guard isThere else { return }
        if change.kind == .contentChanged, !isWrittenHere,
            !(change.mayBeOwn && isContentTold && journal.events.hasLatelyTold(of: change.path))
        {
            fileSystem.replay.take(change, isForgotten: true)
        }
        guard !isOwn else { return }
        let kind: StoreEvent.Kind = change.kind == .contentChanged ? .changed : .attributesChanged
        // The mount opens a document for writing and leaves that to a working copy; a rename or link(2) changes a file's time of
        // change, of which the kernel was not told.
        let mayBeKnown =
            kind == .changed
            ? isContentTold || journal.events.hasLatelyTold(of: change.path, .saveAborted)
            : journal.events.hasLatelyTold(of: change.path)
        let isEvent = !(change.mayBeOwn && mayBeKnown)
        if isEvent, change.kind == .attributesChanged { fileSystem.replay.take(change, isForgotten: true) }
        journal.changedOutside(
            kind, change.path, in: change.name == nil ? nil : change.folder, by: change.actor, isIndexed: !change.isFolder, isEvent: isEvent)
    }

    /// The attributes of a folder that tells of itself.
    private func folderChanged(_ change: OutsideChange, _ notifier: Notifier) {
        if let node = fileSystem.table.known(change.folder) {
            notifier.contentsChanged(of: fileSystem.table.id(of: node))
            guard !(change.mayBeOwn && isAsTold(node)) else { return }
        }
        // The tags of a package are its own.
        if fileSystem.packages.isPackage(change.path) { journal.present(change.path) }
        fileSystem.replay.take(change, isForgotten: true)
    }

    private func isAsTold(_ folder: Node) -> Bool {
        guard let status = fileSystem.locator.statusAtHand(of: folder) else { return true }
        return folder.state.withLock { $0.told == Node.Seen(status.st) }
    }

    /// Too much changed to be told: the kernel asks for everything again.
    private func forgetAll(_ notifier: Notifier) {
        for node in fileSystem.table.all where node.item == nil {
            if let link = node.currentLink {
                notifier.nameChanged(link.name, in: link.parent, fileSystem.table)
            }
            if node.isRegular {
                notifier.contentsChanged(ofFile: node, fileSystem.table)
            } else {
                notifier.contentsChanged(of: fileSystem.table.id(of: node))
            }
        }
    }
}

extension OutsideChange {
    /// inotify does not tell who did it. That the kernel knows of it already is then the only sign that it was the mount; else
    /// it only says that an app has looked before the watcher told.
    fileprivate var mayBeOwn: Bool { pid == nil }

    fileprivate var actor: EventHub.Actor { pid.map { .process($0) } ?? .outside }
}
