import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

/// Saves by rename lose what hangs on the inode: tags, comments, the document's identity. An editor writes a new file and
/// renames it over the document, or moves the document aside and makes its name anew. In both cases the new file takes over
/// the user.* attributes it lacks, and the index keeps the document's id (NTFS calls this tunnelling).
///
/// "The same editor" is the same user within 15 seconds: a shell's `command >new && mv new document` is a save too, by two
/// processes.
final class Tunnel: Sendable {
    /// Who made a file, and when.
    struct Maker: Sendable {
        let uid: uid_t
        let time: Int64
        /// On the monotonic clock; see `Node.made`.
        let moment: Int64

        /// The caller, now.
        init(_ caller: Caller) { (uid, time, moment) = (caller.uid, Clock.now, cl_monotonic_ns()) }

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

    private struct Aside {
        let node: Node
        let parent: Node
        let name: EntryName
        let maker: Maker
        /// Whose the document is: nobody else gets what hangs on it.
        let owner: uid_t
    }

    private let journal: ChangeJournal
    /// The last few documents moved away from their names. Rank 5.
    private let asides = Guarded<[Aside]>([])
    private static let kept = 32
    fileprivate static let span: Int64 = 15_000_000_000

    init(journal: ChangeJournal) { self.journal = journal }

    /// A file was made under a name. Returns where the document is whose place it takes.
    func made(
        _ node: Node, in parent: Node, _ name: UnsafePointer<CChar>, by caller: Caller, _ descriptor: Descriptor,
        isWritten: Bool
    ) -> StorePath? {
        let maker = Maker(caller)
        node.state.withLock { $0.made = maker }
        guard let aside = takeAside(in: parent, name, maker), let path = aside.path else {
            // A file open for writing is told of when it is closed.
            journal.made(in: parent, name: name, by: caller, isIndexed: !isWritten)
            return nil
        }
        if let source = aside.openedByName { Self.copyAttributes(from: source, to: descriptor) }
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
        guard let made = node.state.withLock({ $0.made }), Self.isOneSave(made, now) else { return .none }
        if let target {
            guard Self.mayTake(now, from: target.status.st.st_uid) else { return .none }
            if target.hasAttributes, let old = target.opened, let new = source.opened { Self.copyAttributes(from: old, to: new) }
            return .target
        }
        guard let aside = takeAside(in: parent, name, now), let path = aside.path else { return .none }
        if let old = aside.openedByName, let new = source.opened { Self.copyAttributes(from: old, to: new) }
        return .aside(path)
    }

    /// A document was renamed away from a name. A file made moments ago is a save's own temporary file: no document.
    func movedAside(_ node: Node, from parent: Node, _ name: UnsafePointer<CChar>, owner: uid_t, by caller: Caller) {
        let now = Maker(caller)
        if let made = node.state.withLock({ $0.made }), Self.isOneSave(made, now) { return }
        let aside = Aside(node: node, parent: parent, name: EntryName(copying: name), maker: now, owner: owner)
        asides.withLock { asides in
            if asides.count == Self.kept { asides.removeFirst() }
            asides.append(aside)
        }
    }

    private func takeAside(in parent: Node, _ name: UnsafePointer<CChar>, _ now: Maker) -> Node? {
        asides.withLock { asides in
            guard let newest = asides.last else { return nil }
            if now.time - newest.maker.time > Self.span {
                asides.removeAll()
                return nil
            }
            guard
                let index = asides.lastIndex(where: {
                    $0.parent === parent && $0.name.matches(name) && Self.isOneSave($0.maker, now)
                        && Self.mayTake(now, from: $0.owner)
                })
            else { return nil }
            return asides.remove(at: index).node
        }
    }

    /// A document's attributes and identity go to its owner only: they may tell what others may not read.
    private static func mayTake(_ saver: Maker, from owner: uid_t) -> Bool { saver.uid == owner || saver.uid == 0 }

    private static func isOneSave(_ made: Maker, _ now: Maker) -> Bool {
        made.uid == now.uid && now.time - made.time <= span
    }

    /// Copies the user.* attributes that `target` lacks. Best effort: a save never fails for an attribute.
    static func copyAttributes(from source: Descriptor, to target: Descriptor) {
        try? withProcPath(of: source) { (sourcePath) throws(Errno) in
            let size = cl_listxattr(sourcePath, nil, 0)
            guard (1...Self.longestAttribute).contains(size) else { return }
            var names = [CChar](repeating: 0, count: size)
            let length = try check(cl_listxattr(sourcePath, &names, size))
            try withProcPath(of: target) { (targetPath) throws(Errno) in
                for name in names.prefix(length).split(separator: 0) where name.starts(with: "user.".utf8.map(CChar.init)) {
                    copyAttribute(Array(name) + [0], sourcePath, targetPath)
                }
            }
        }
    }

    /// XATTR_LIST_MAX and XATTR_SIZE_MAX. To a question for the size alone the kernel hands on whatever a file system's server says.
    private static let longestAttribute = 64 << 10

    private static func copyAttribute(
        _ name: [CChar], _ source: UnsafePointer<CChar>, _ target: UnsafePointer<CChar>
    ) {
        let size = cl_getxattr(source, name, nil, 0)
        guard (0...Self.longestAttribute).contains(size) else { return }
        var value = [UInt8](repeating: 0, count: size)
        let length = cl_getxattr(source, name, &value, size)
        guard length >= 0 else { return }
        _ = cl_setxattr(target, name, value, length, 1)  // XATTR_CREATE: what the new file has stays
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

extension Node {
    /// The node's file by its current name, for reading attributes within `names.changing`.
    fileprivate var openedByName: Descriptor? {
        let (pinned, link) = state.withLock { ($0.pinned, $0.link) }
        if let pinned { return pinned }
        guard let link, let folder = link.parent.state.withLock({ $0.folder }) else { return nil }
        return link.name.withCString { Tunnel.opened($0, in: folder, as: identity) }
    }
}
