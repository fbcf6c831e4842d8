import CLinux
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// Saves by rename lose what hangs on the inode: tags, comments, the document's identity. An editor writes a new file and
/// renames it over the document, or moves the document aside and makes its name anew. In both cases the new file takes over
/// the user.* attributes it lacks, and the index keeps the document's id (NTFS calls this file name tunneling). A program that
/// writes a new file, removes the document and renames the new one to its name has the new file take over the attributes alone.
///
/// "The same editor" is the same user within 15 seconds: a shell's `command >new && mv new document` is a save too, by two processes.
/// Writing a large file may take longer, so the time counts from the last close; but not for a name whose document was moved aside: a
/// log may take that after hours.
final class FileNameTunnel: Sendable {
    /// The user who made a file, or took a document's name away, and the time on the monotonic clock.
    struct Creator: Sendable {
        let uid: uid_t
        /// See `Node.made`.
        let moment: Int64
        /// When the file was made, or closed by the program that makes it.
        private(set) var lastClose: Int64

        /// The caller, now.
        init(_ caller: Caller) {
            (uid, moment) = (caller.uid, cl_monotonic_ns())
            lastClose = moment
        }

        /// A handle for writing was closed. It is the one that made the file, or the program has opened the file once more.
        mutating func closed(by handle: FileHandle) {
            if handle.isNew || handle.caller.uid == uid && isRecent { lastClose = cl_monotonic_ns() }
        }

        /// Whether a save that the file could be a part of may still be under way.
        var isRecent: Bool { cl_monotonic_ns() - lastClose <= FileNameTunnel.span }

        /// Whether this and what happens now may be one save.
        fileprivate func isOneSave(with now: Creator, since time: Int64) -> Bool { uid == now.uid && now.moment - time <= FileNameTunnel.span }
    }

    enum Takeover: Sendable {
        case none
        /// From the document that the rename replaces.
        case target
        /// From the document that was moved aside, now at this path.
        case aside(StorePath)
    }

    /// A document that has lost its name.
    private struct Departure {
        enum Way {
            case movedAside(Node)
            case removed(InheritedAttributes)
        }

        let way: Way
        let parent: Node
        let name: EntryName
        /// The user who took the name away.
        let by: Creator
        /// The document's owner: nobody else gets what hangs on it.
        let owner: uid_t

        func isOf(_ name: EntryName, in folder: Node) -> Bool { parent === folder && self.name == name }
    }

    private let journal: ChangeJournal
    /// The last few documents that have lost their names, one of each name. Rank 5.
    private let departures = Locked<[Departure]>([])
    private let areDepartures = Atomic<Bool>(false)
    private let accounts: Accounts
    private static let kept = 32
    fileprivate static let span: Int64 = 15_000_000_000

    init(journal: ChangeJournal, accounts: Accounts) { (self.journal, self.accounts) = (journal, accounts) }

    /// A file was made under a name. Returns where the document is whose place it takes.
    func made(
        _ node: Node, in parent: Node, _ name: UnsafePointer<CChar>, by caller: Caller, _ descriptor: Descriptor,
        isWritten: Bool
    ) -> StorePath? {
        let creator = Creator(caller)
        node.state.withLock { $0.made = creator }
        // A document that was removed and one that is written under its name are two.
        guard case .movedAside(let aside)? = takeDeparture(from: parent, name, by: creator)?.way, let path = aside.path else {
            // A file open for writing is told of when it is closed.
            journal.made(in: parent, name: name, by: caller, isIndexed: !isWritten)
            return nil
        }
        if let source = aside.openedByName { InheritedAttributes.copy(from: source, to: descriptor) }
        journal.madeAnew(in: parent, name: name, takingOverFrom: path, by: caller)
        return path
    }

    /// A name and the file that was just seen under it. Valid within the request, like its name.
    struct Place {
        let folder: Descriptor
        let name: UnsafePointer<CChar>
        let status: cl_status

        /// An O_PATH descriptor of the file that was seen; nil if another was put there from outside since.
        fileprivate var opened: Descriptor? { FileNameTunnel.opened(name, in: folder, as: FileIdentity(status)) }

        /// One system call, where nearly every document has none.
        fileprivate var hasAttributes: Bool { cl_attribute_list_size(folder.number, name) > 0 }
    }

    /// A file is about to be renamed to a name. Says what the file takes over, and hands the attributes over.
    /// Within `Locator.changingNames`.
    func beforeRename(
        of node: Node, at source: Place, over target: Place?, in parent: Node, _ name: UnsafePointer<CChar>, by caller: Caller
    ) -> Takeover {
        let now = Creator(caller)
        let (made, isOpen, isClosed) = node.state.withLock { state in
            // The kernel tells of the end of a handle (RELEASE) after close(2) has returned.
            let making = state.handles.filter { $0.isNew && $0.isWritable }
            return (state.made, !making.isEmpty, making.allSatisfy { $0.isFlushed.load(ordering: .relaxed) })
        }
        let departure = target == nil ? takeDeparture(from: parent, name, by: now) : nil
        guard let made, made.isOneSave(with: now, since: isOpen ? now.moment : made.lastClose) else { return .none }
        if let target {
            guard Self.mayTake(now, from: target.status.st.st_uid) else { return .none }
            if target.hasAttributes, let old = target.opened, let new = source.opened { InheritedAttributes.copy(from: old, to: new) }
            return .target
        }
        switch departure?.way {
        case .movedAside(let aside)?:
            guard made.isOneSave(with: now, since: made.moment), let path = aside.path else { return .none }
            if let old = aside.openedByName, let new = source.opened { InheritedAttributes.copy(from: old, to: new) }
            return .aside(path)
        case .removed(let attributes)?:
            // The new file was there before the document went. Root gives a user's attributes to no file of another's.
            guard let departure, isClosed, made.moment <= departure.by.moment, source.status.st.st_uid == departure.owner,
                let new = source.opened
            else { return .none }
            attributes.add(to: new)
            return .none
        case nil: return .none
        }
    }

    /// A package and another folder have changed places (RENAME_EXCHANGE): the other one is its new version, and takes over the attributes.
    /// Within `Locator.changingNames`. Both are folders, as they stand now.
    func exchanged(package: Place, for version: Place, by caller: Caller) {
        guard package.status.st.st_uid == version.status.st.st_uid,
            Self.mayTake(Creator(caller), from: package.status.st.st_uid), package.hasAttributes, let old = package.opened, let new = version.opened
        else { return }
        InheritedAttributes.copy(from: old, to: new)
    }

    /// A document was renamed away from a name. A file made moments ago is a save's own temporary file: no document.
    func movedAside(_ node: Node, from parent: Node, _ name: UnsafePointer<CChar>, owner: uid_t, by caller: Caller) {
        let now = Creator(caller)
        if let made = node.state.withLock({ $0.made }), made.isOneSave(with: now, since: made.moment) { return }
        note(Departure(way: .movedAside(node), parent: parent, name: EntryName(copying: name), by: now, owner: owner))
    }

    /// A name was removed. `attributes`: nil if it was no document's, or that had none.
    func removed(
        _ attributes: InheritedAttributes?, from parent: Node, _ name: UnsafePointer<CChar>, owner: uid_t, by caller: Caller
    ) {
        guard let attributes else {
            if areDepartures.load(ordering: .relaxed) { _ = takeDeparture(from: parent, name, by: Creator(caller)) }
            return
        }
        note(
            Departure(
                way: .removed(attributes), parent: parent, name: EntryName(copying: name), by: Creator(caller), owner: owner))
    }

    /// Makes room by the oldest departure of the account that has the most: no user makes others' saves lose their attributes.
    private func note(_ departure: Departure) {
        departures.withLock { departures in
            departures.removeAll { departure.by.moment - $0.by.moment > Self.span || $0.isOf(departure.name, in: departure.parent) }
            if departures.count >= Self.kept {
                var counts: [uid_t: Int] = [:]
                for other in departures { counts[accounts.owner(of: other.by.uid), default: 0] += 1 }
                let heaviest = counts.max { $0.value < $1.value }?.key
                if let index = departures.firstIndex(where: { accounts.owner(of: $0.by.uid) == heaviest }) {
                    departures.remove(at: index)
                }
            }
            departures.append(departure)
            areDepartures.store(true, ordering: .relaxed)
        }
    }

    /// The last document that had a name, which something else has from now on. Nil if the caller cannot be saving it.
    private func takeDeparture(from parent: Node, _ name: UnsafePointer<CChar>, by now: Creator) -> Departure? {
        guard areDepartures.load(ordering: .relaxed) else { return nil }
        return departures.withLock { departures in
            departures.removeAll { now.moment - $0.by.moment > Self.span }
            defer { areDepartures.store(!departures.isEmpty, ordering: .relaxed) }
            let index = departures.lastIndex { $0.parent === parent && $0.name.matches(name) }
            guard let departure = index.map({ departures.remove(at: $0) }), departure.by.uid == now.uid,
                Self.mayTake(now, from: departure.owner)
            else { return nil }
            return departure
        }
    }

    /// A document's attributes and identity go to its owner only: they may tell what others may not read.
    private static func mayTake(_ saver: Creator, from owner: uid_t) -> Bool { saver.uid == owner || saver.uid == 0 }

    fileprivate static func opened(
        _ name: UnsafePointer<CChar>, in folder: Descriptor, as identity: FileIdentity
    ) -> Descriptor? {
        guard let file = try? Descriptor.named(name, in: folder, flags: CL_O_PATH | O_NOFOLLOW) else { return nil }
        guard let status = try? FileStatus(of: file), FileIdentity(status) == identity else { return nil }
        return file
    }
}

extension Node {
    /// The node's file by its current name, for reading attributes within `Locator.changingNames`.
    fileprivate var openedByName: Descriptor? {
        let (pinned, link) = state.withLock { ($0.pinned, $0.link) }
        if let pinned { return pinned }
        guard let link, let folder = link.parent.state.withLock({ $0.folder }) else { return nil }
        return link.name.withCString { FileNameTunnel.opened($0, in: folder, as: identity) }
    }
}
