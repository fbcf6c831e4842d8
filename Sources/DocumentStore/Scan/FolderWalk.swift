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
    public enum EntryKind: Sendable {
        case folder
        /// A folder that the walk does not enter.
        case package
        case file, other
    }

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

    private let store: SharedStore
    private let start: StorePath
    private let longestPath: Int
    private let packages: Packages?
    private var frames: [Frame] = []
    /// Of `frames`.
    private var ancestors: Set<FileIdentity> = []
    private var path: [UInt8]
    private var started = false
    private let buffer = UnsafeMutableRawPointer.allocate(byteCount: FolderListing.bufferSize, alignment: 8)

    /// Folders that could not be opened or read, and folders left out because they are their own ancestor.
    public private(set) var skipped = 0

    /// A walk of the folder at `start`. Folders whose path has more than `longestPath` bytes are skipped. Packages in it are entered if
    /// `packages` is nil.
    public init(_ store: SharedStore, startingAt start: StorePath = .root, longestPath: Int = .max, packages: Packages? = nil) {
        self.store = store
        self.longestPath = longestPath
        self.packages = packages
        self.start = start
        path = start.bytes
    }

    deinit { buffer.deallocate() }

    /// Opens the next folder; nil when all were visited. Throws only if the folder to start at cannot be opened.
    public func next() throws(Errno) -> Visit? {
        if !started {
            started = true
            let descriptor = try store.folder(start)
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
        do throws(Errno) {
            try FolderListing.read(visit.descriptor, buffer) { name, kind in
                guard kind == .folder else { return body(name, kind) }
                let folder = EntryName(copying: name)
                if packages?.isPackage(folder) == true { return body(name, .package) }
                frames[frames.count - 1].pending.append(folder)
                return body(name, .folder)
            }
        } catch {
            skipped += 1
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
            let descriptor = try SharedStore.folder(name, in: parent)
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
            // Gone or replaced meanwhile is not skipped: there is no such folder any more. Nor is what no walk goes into.
            let expected: Set<Errno> = [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .improperLink]
            if !expected.contains(error) { skipped += 1 }
            return nil
        }
    }

    /// The last frame's descriptor, opened again if it was closed on the way down. If that fails, the folder was moved or
    /// removed meanwhile and what is left of it is left out.
    private func descriptor(ofFrame top: Int) throws(Errno) -> Descriptor {
        if let open = frames[top].descriptor { return open }
        do throws(Errno) {
            let reopened = try store.folder(StorePath(unchecked: path))
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
}
