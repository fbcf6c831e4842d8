import CLinux
import Glibc
public import StorePrimitives
public import SystemPackage

/// Visits every folder of a tree, depth first, with a bounded number of open descriptors however deep the tree is.
///
/// `next()` opens a folder, `list(_:_:)` reads it and takes note of its subfolders; a folder that is not listed is not
/// descended into. File systems mounted inside are entered, but for those that a server answers for; a folder that is one of its own ancestors
/// (a bind mount loop) is not. Folders renamed, replaced or removed under way are left out. Not thread-safe: one walk, one thread.
public final class FolderWalk {
    /// A folder the walk stands in.
    public struct Visit: Sendable {
        /// Open for reading.
        public let descriptor: Descriptor
        public let identity: FileIdentity
        /// Where the walk found it.
        public let path: StorePath
        /// 0 for the folder the walk began at.
        public let depth: Int
    }

    /// What an entry is, as far as a walk cares.
    public enum EntryKind: Sendable { case folder, file, other }

    /// A folder from the start down to where the walk stands.
    private struct Frame {
        let pathLength: Int
        let identity: FileIdentity
        /// Nil when nothing is left to open in it, or while it is more than `keptOpen` levels up.
        var descriptor: Descriptor?
        /// Subfolders still to be visited.
        var pending: [EntryName]
    }

    /// How many levels keep their descriptor. More would save reopening on the way back up in trees that are both deep and
    /// wide; a daemon may have only 1,024 descriptors in all.
    private static let keptOpen = 32
    private static let bufferSize = 64 << 10

    private let root: Descriptor
    private let start: StorePath
    private let longestPath: Int
    private let served: ServedMounts?
    private var frames: [Frame] = []
    /// Of `frames`.
    private var ancestors: Set<FileIdentity> = []
    private var path: [UInt8]
    private var started = false
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: bufferSize, alignment: 8)

    /// Folders that could not be opened or read, and folders left out because they are their own ancestor.
    public private(set) var skipped = 0

    /// A walk of the folder at `start`, below `root`, which may be an O_PATH descriptor. Folders whose path has more than
    /// `longestPath` bytes are skipped. Nothing of `served` is met; nil where no such file system can be.
    public init(root: Descriptor, startingAt start: StorePath = .root, longestPath: Int = .max, leavingOut served: ServedMounts? = nil) {
        self.root = root
        self.served = served
        self.longestPath = longestPath
        self.start = start
        path = start.bytes
    }

    deinit { buffer.deallocate() }

    /// Opens the next folder; nil when all were visited. Throws only if the folder to start at cannot be opened.
    public func next() throws(Errno) -> Visit? {
        if !started {
            started = true
            let descriptor = try OpenFolder.at(start, below: root)
            return push(descriptor, identity: FileIdentity(try FileStatus(of: descriptor)))
        }
        while let top = frames.indices.last {
            path.removeSubrange(frames[top].pathLength...)
            guard let name = frames[top].pending.popLast() else {
                ancestors.remove(frames.removeLast().identity)
                continue
            }
            if let visit = enter(name, from: top) { return visit }
        }
        return nil
    }

    /// Reads the folder that `next()` opened last, calling `body` with each entry's name until it answers false. The name is
    /// valid during the call; `body` must not use the walk. A folder whose reading fails part-way counts as skipped.
    public func list(_ visit: Visit, _ body: (UnsafePointer<CChar>, EntryKind) -> Bool) {
        precondition(visit.depth == frames.count - 1, "only the folder that next() opened last can be listed")
        var entry = cl_dirent()
        while true {
            let length = cl_getdents(visit.descriptor.number, buffer, Self.bufferSize)
            guard length > 0 else {
                if length < 0, length != -Int(ENOENT) { skipped += 1 }
                return
            }
            var offset = 0
            while offset < length {
                // Safe: the kernel filled the buffer with whole records, and each gives its own length.
                cl_dirent_at(buffer + offset, &entry)
                offset += Int(entry.record_length)
                guard let name = entry.name, !Self.isDotOrDotDot(name) else { continue }
                let kind = Self.kind(of: entry, in: visit.descriptor)
                if kind == .folder { frames[frames.count - 1].pending.append(EntryName(copying: name)) }
                if !body(name, kind) { return }
            }
        }
    }

    private func push(_ descriptor: Descriptor, identity: FileIdentity) -> Visit {
        ancestors.insert(identity)
        frames.append(Frame(pathLength: path.count, identity: identity, descriptor: descriptor, pending: []))
        if frames.count > Self.keptOpen { frames[frames.count - 1 - Self.keptOpen].descriptor = nil }
        return Visit(
            descriptor: descriptor, identity: identity, path: StorePath(unchecked: path), depth: frames.count - 1)
    }

    /// Opens a subfolder of the frame at `top`, which is the last; nil if it is to be left out.
    private func enter(_ name: EntryName, from top: Int) -> Visit? {
        do throws(Errno) {
            let parent = try descriptor(ofFrame: top)
            // Before it is opened, which its server may not answer.
            if let places = served?.places, !places.isEmpty, StorePath(unchecked: path).appending(name).isAmong(places) { return nil }
            let descriptor = try OpenFolder.named(name, in: parent)
            if frames[top].pending.isEmpty { frames[top].descriptor = nil }
            let identity = FileIdentity(try FileStatus(of: descriptor))
            if ancestors.contains(identity) || path.count + 1 + name.bytes.count > longestPath {
                skipped += 1
                return nil
            }
            if !path.isEmpty { path.append(UInt8(ascii: "/")) }
            path.append(contentsOf: name.bytes)
            return push(descriptor, identity: identity)
        } catch {
            // Gone or replaced meanwhile is not skipped: there is no such folder any more.
            if error != .noSuchFileOrDirectory, error != .notDirectory, error != .tooManySymbolicLinkLevels { skipped += 1 }
            return nil
        }
    }

    /// The last frame's descriptor, opened again if it was closed on the way down. If that fails, the folder was moved or
    /// removed meanwhile and what is left of it is left out.
    private func descriptor(ofFrame top: Int) throws(Errno) -> Descriptor {
        if let open = frames[top].descriptor { return open }
        do throws(Errno) {
            let reopened = try OpenFolder.at(StorePath(unchecked: path), below: root)
            guard FileIdentity(try FileStatus(of: reopened)) == frames[top].identity else {
                throw .noSuchFileOrDirectory
            }
            frames[top].descriptor = reopened
            return reopened
        } catch {
            frames[top].pending = []
            throw error
        }
    }

    private static func isDotOrDotDot(_ name: UnsafePointer<CChar>) -> Bool {
        let dot = CChar(UInt8(ascii: "."))
        return name[0] == dot && (name[1] == 0 || name[1] == dot && name[2] == 0)
    }

    private static func kind(of entry: cl_dirent, in folder: Descriptor) -> EntryKind {
        var type = entry.type
        if type == UInt8(truncatingIfNeeded: DT_UNKNOWN) {
            guard let status = try? FileStatus(of: entry.name, in: folder) else { return .other }
            type = UInt8(truncatingIfNeeded: (status.st.st_mode & S_IFMT) >> 12)
        }
        switch type {
        case UInt8(truncatingIfNeeded: DT_DIR): return .folder
        case UInt8(truncatingIfNeeded: DT_REG): return .file
        default: return .other
        }
    }
}
