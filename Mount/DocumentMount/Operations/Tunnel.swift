import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

/// Saves by rename lose what hangs on the inode: tags, comments, the document's identity. An editor writes a new file and
/// renames it over the document, or moves the document aside and makes its name anew. In both cases the new file takes over
/// the user.* attributes it lacks, and the index keeps the document's id (NTFS calls this tunnelling). A program that writes a
/// new file, removes the document and renames the new one to its name has the new file take over the attributes alone.
///
/// "The same editor" is the same user within 15 seconds after the new file was closed: a shell's `command >new && mv new document`
/// is a save too, by two processes.
final class Tunnel: Sendable {
    /// Who made a file, and when.
    struct Maker: Sendable {
        let uid: uid_t
        /// When the file was made, and from then on when the handle that made it was closed.
        private(set) var time: Int64
        /// On the monotonic clock; see `Node.made`.
        let moment: Int64

        /// The caller, now.
        init(_ caller: Caller) { (uid, time, moment) = (caller.uid, Clock.now, cl_monotonic_ns()) }

        /// The program that made the file has written it.
        mutating func finished() { time = Clock.now }

        /// Whether a save that the file could be a part of may still be under way.
        var isRecent: Bool { Clock.now - time <= Tunnel.span }
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
            case removed(UserAttributes)

            var isMove: Bool { if case .movedAside = self { true } else { false } }
        }

        let way: Way
        let parent: Node
        let name: EntryName
        /// Whoever took the name away, and when.
        let maker: Maker
        /// Whose the document is: nobody else gets what hangs on it.
        let owner: uid_t
    }

    private let journal: ChangeJournal
    /// The last few. Rank 5.
    private let departures = Guarded<[Departure]>([])
    private let accounts: Accounts
    private static let kept = 32
    fileprivate static let span: Int64 = 15_000_000_000

    init(journal: ChangeJournal, accounts: Accounts) { (self.journal, self.accounts) = (journal, accounts) }

    /// A file was made under a name. Returns where the document is whose place it takes.
    func made(
        _ node: Node, in parent: Node, _ name: UnsafePointer<CChar>, by caller: Caller, _ descriptor: Descriptor,
        isWritten: Bool
    ) -> StorePath? {
        let maker = Maker(caller)
        node.state.withLock { $0.made = maker }
        guard case .movedAside(let aside)? = departed(from: parent, name, maker, isRemoved: false), let path = aside.path else {
            // A file open for writing is told of when it is closed.
            journal.made(in: parent, name: name, by: caller, isIndexed: !isWritten)
            return nil
        }
        if let source = aside.openedByName { UserAttributes.copy(from: source, to: descriptor) }
        journal.madeAnew(in: parent, name: name, takingOverFrom: path, by: caller)
        return path
    }

    /// A name and the file that was just seen under it. Valid within the request, like its name.
    struct Place {
        let folder: Descriptor
        let name: UnsafePointer<CChar>
        let status: cl_status

        /// An O_PATH descriptor of the file that was seen; nil if another was put there from outside since.
        fileprivate var opened: Descriptor? { Tunnel.opened(name, in: folder, as: FileIdentity(status)) }

        /// One system call, where nearly every document has none.
        fileprivate var hasAttributes: Bool {
            (try? withProcPath(of: folder, name: name) { (path) throws(Errno) in cl_llistxattr(path, nil, 0) > 0 }) ?? false
        }
    }

    /// A file is about to be renamed to a name. Says what the file takes over, and hands the attributes over.
    /// Within `names.changing`.
    func beforeRename(
        of node: Node, at source: Place, over target: Place?, in parent: Node, _ name: UnsafePointer<CChar>, by caller: Caller
    ) -> Takeover {
        let now = Maker(caller)
        guard let made = node.state.withLock({ $0.maker }), Self.isOneSave(made, now) else { return .none }
        if let target {
            guard Self.mayTake(now, from: target.status.st.st_uid) else { return .none }
            if target.hasAttributes, let old = target.opened, let new = source.opened { UserAttributes.copy(from: old, to: new) }
            return .target
        }
        switch departed(from: parent, name, now, isRemoved: true) {
        case .movedAside(let aside)?:
            guard let path = aside.path else { return .none }
            if let old = aside.openedByName, let new = source.opened { UserAttributes.copy(from: old, to: new) }
            return .aside(path)
        case .removed(let attributes)?:
            if let new = source.opened { attributes.add(to: new) }
            return .none
        case nil: return .none
        }
    }

    /// A document was renamed away from a name. A file made moments ago is a save's own temporary file: no document.
    func movedAside(_ node: Node, from parent: Node, _ name: UnsafePointer<CChar>, owner: uid_t, by caller: Caller) {
        let now = Maker(caller)
        if let made = node.state.withLock({ $0.maker }), Self.isOneSave(made, now) { return }
        note(Departure(way: .movedAside(node), parent: parent, name: EntryName(copying: name), maker: now, owner: owner))
    }

    /// A document was removed that had attributes.
    func removed(
        _ attributes: UserAttributes, from parent: Node, _ name: UnsafePointer<CChar>, owner: uid_t, by caller: Caller
    ) {
        note(
            Departure(
                way: .removed(attributes), parent: parent, name: EntryName(copying: name), maker: Maker(caller), owner: owner))
    }

    /// Makes room by the oldest departure of the account that has the most: no user makes others' saves lose their attributes.
    private func note(_ departure: Departure) {
        departures.withLock { departures in
            departures.removeAll { departure.maker.time - $0.maker.time > Self.span }
            if departures.count >= Self.kept {
                var counts: [uid_t: Int] = [:]
                for other in departures { counts[accounts.owner(of: other.maker.uid), default: 0] += 1 }
                let heaviest = counts.max { $0.value < $1.value }?.key
                if let index = departures.firstIndex(where: { accounts.owner(of: $0.maker.uid) == heaviest }) {
                    departures.remove(at: index)
                }
            }
            departures.append(departure)
        }
    }

    /// The last document that had a name, if the caller may be saving it. `isRemoved`: also one that was removed.
    private func departed(
        from parent: Node, _ name: UnsafePointer<CChar>, _ now: Maker, isRemoved: Bool
    ) -> Departure.Way? {
        departures.withLock { departures in
            guard let newest = departures.last else { return nil }
            if now.time - newest.maker.time > Self.span {
                departures.removeAll()
                return nil
            }
            let last = departures.lastIndex {
                $0.parent === parent && $0.name.matches(name) && Self.isOneSave($0.maker, now) && Self.mayTake(now, from: $0.owner)
                    && (isRemoved || $0.way.isMove)
            }
            return last.map { departures.remove(at: $0).way }
        }
    }

    /// A document's attributes and identity go to its owner only: they may tell what others may not read.
    private static func mayTake(_ saver: Maker, from owner: uid_t) -> Bool { saver.uid == owner || saver.uid == 0 }

    private static func isOneSave(_ made: Maker, _ now: Maker) -> Bool {
        made.uid == now.uid && now.time - made.time <= span
    }

    fileprivate static func opened(
        _ name: UnsafePointer<CChar>, in folder: Descriptor, as identity: FileIdentity
    ) -> Descriptor? {
        guard let file = try? Descriptor(opening: name, in: folder, flags: CL_O_PATH | O_NOFOLLOW) else { return nil }
        var status = cl_status()
        guard cl_statx_fd(file.number, &status) == 0, FileIdentity(status) == identity else { return nil }
        return file
    }
}

extension Node.State {
    /// Who made the file; as of now while the handle that made it is open.
    fileprivate var maker: Tunnel.Maker? {
        var maker = made
        if maker != nil, handles.contains(where: { $0.isNew && $0.isWritable }) { maker?.finished() }
        return maker
    }
}

extension Node {
    /// The node's file by its current name, for reading attributes within `names.changing`.
    fileprivate var openedByName: Descriptor? {
        let (pinned, link) = state.withLock { ($0.pinned, $0.link) }
        if let pinned { return pinned }
        guard let link, let folder = link.parent.state.withLock({ $0.folder }) else { return nil }
        return link.name.withCString { Tunnel.opened($0, in: folder, as: identity) }
    }
}
