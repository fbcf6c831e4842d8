import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import Synchronization
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
    private let asides = Mutex<[Aside]>([])
    private static let kept = 32
    private static let span: Int64 = 15_000_000_000

    init(journal: ChangeJournal) { self.journal = journal }

    /// A file was made under a name.
    func made(
        _ node: Node, in parent: Node, _ name: UnsafePointer<CChar>, by caller: Caller, _ descriptor: Descriptor,
        isWritten: Bool
    ) {
        let maker = Maker(uid: caller.uid, time: Clock.now)
        node.state.withLock { $0.made = maker }
        guard let aside = takeAside(in: parent, name, maker), let path = aside.path else {
            // A file open for writing is told of when it is closed.
            return isWritten ? () : journal.present(in: parent, name: name)
        }
        if let source = aside.currentFile { Self.copyAttributes(from: source, to: .descriptor(descriptor)) }
        journal.madeAnew(in: parent, name: name, takingOverFrom: path)
    }

    /// A file is about to be renamed to a name. Says what the file takes over, and hands the attributes over.
    /// Within `names.changing`.
    func beforeRename(
        of node: Node, over target: (folder: Descriptor, name: UnsafePointer<CChar>, owner: uid_t)?, in parent: Node,
        _ name: UnsafePointer<CChar>, by caller: Caller, from source: (folder: Descriptor, name: UnsafePointer<CChar>)
    ) -> Takeover {
        let now = Maker(uid: caller.uid, time: Clock.now)
        guard let made = node.state.withLock({ $0.made }), Self.isOneSave(made, now) else { return .none }
        if let target {
            guard Self.mayTake(now, from: target.owner) else { return .none }
            Self.copyAttributes(from: .entry(target.folder, target.name), to: .entry(source.folder, source.name))
            return .target
        }
        guard let aside = takeAside(in: parent, name, now), let path = aside.path else { return .none }
        if let old = aside.currentFile { Self.copyAttributes(from: old, to: .entry(source.folder, source.name)) }
        return .aside(path)
    }

    /// A document was renamed away from a name. A file made moments ago is a save's own temporary file: no document.
    func movedAside(_ node: Node, from parent: Node, _ name: UnsafePointer<CChar>, owner: uid_t, by caller: Caller) {
        let now = Maker(uid: caller.uid, time: Clock.now)
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

    /// A file to read attributes from or give them to.
    enum File {
        case descriptor(Descriptor)
        case entry(Descriptor, UnsafePointer<CChar>)
        case named(Descriptor, EntryName)

        /// A descriptor's path is a link of /proc to be followed; a name that turned into a link is not.
        var isFollowed: Bool { if case .descriptor = self { true } else { false } }

        func withPath<Result>(_ body: (UnsafePointer<CChar>) throws(Errno) -> Result) throws(Errno) -> Result {
            switch self {
            case .descriptor(let descriptor): try withProcPath(of: descriptor, body)
            case .entry(let folder, let name): try withProcPath(of: folder, name: name, body)
            case .named(let folder, let name):
                try name.withCString { (name) throws(Errno) in try withProcPath(of: folder, name: name, body) }
            }
        }
    }

    /// Copies the user.* attributes that `target` lacks. Best effort: a save never fails for an attribute.
    private static func copyAttributes(from source: File, to target: File) {
        try? source.withPath { (sourcePath) throws(Errno) in
            let list = source.isFollowed ? cl_listxattr : cl_llistxattr
            let size = list(sourcePath, nil, 0)
            guard size > 0 else { return }
            var names = [CChar](repeating: 0, count: size)
            let length = try check(list(sourcePath, &names, size))
            try target.withPath { (targetPath) throws(Errno) in
                for name in names.prefix(length).split(separator: 0) where name.starts(with: "user.".utf8.map(CChar.init)) {
                    copyAttribute(
                        Array(name) + [0], sourcePath, followed: source.isFollowed, targetPath, followed: target.isFollowed)
                }
            }
        }
    }

    private static func copyAttribute(
        _ name: [CChar], _ source: UnsafePointer<CChar>, followed isSourceFollowed: Bool, _ target: UnsafePointer<CChar>,
        followed isTargetFollowed: Bool
    ) {
        let get = isSourceFollowed ? cl_getxattr : cl_lgetxattr
        let set = isTargetFollowed ? cl_setxattr : cl_lsetxattr
        let size = get(source, name, nil, 0)
        guard size >= 0 else { return }
        var value = [UInt8](repeating: 0, count: size)
        let length = get(source, name, &value, size)
        guard length >= 0 else { return }
        _ = set(target, name, value, length, 1)  // XATTR_CREATE: what the new file has stays
    }
}

extension Node {
    /// The node's file by its current name, for reading attributes within `names.changing`.
    fileprivate var currentFile: Tunnel.File? {
        let (pinned, link) = state.withLock { ($0.pinned, $0.link) }
        if let pinned { return .descriptor(pinned) }
        guard let link, let folder = link.parent.state.withLock({ $0.folder }) else { return nil }
        return .named(folder, link.name)
    }
}
