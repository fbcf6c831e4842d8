import CLinux
import Glibc
public import StorePrimitives
import Synchronization

/// The file systems mounted inside a store that a server answers for: FUSE, and those of other machines. A user may have mounted one, and may
/// have it never answer, as may a machine that is away. So nothing that users share looks into them: they are no part of the index, of
/// snapshots and of claims, and documents there are written in place. Requests on them wait on threads of their own (`RequestShares`).
///
/// What is mounted in the mount itself, later, is never met: the kernel does not ask the daemon about it.
public final class ServedMounts: Sendable {
    private struct State {
        /// `major:minor`.
        var devices: Set<UInt64> = []
        var places: [StorePath] = []
    }

    /// The table of mounts, whose changes poll(2) tells (proc(5), mountinfo). It tells each once, so the lock is held until the table is read:
    /// a thread that polls then would be told of nothing, and go by the mounts of before. Taken before `state`.
    private let table: Mutex<Descriptor?>
    /// Nil if its path is not to be had: then none are known.
    private let store: [UInt8]?
    private let count = Atomic<Int>(0)
    /// On the monotonic clock, in nanoseconds.
    private let lastRefresh = Atomic<Int64>(0)
    /// Leaf.
    private let state = Mutex(State())

    /// As mount(8) names them. Not `fuseblk`: only root mounts a disk.
    private static let types: Set<String> = [
        "fuse", "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "coda", "gfs2", "ocfs2", "lustre", "gpfs", "beegfs", "vboxsf",
        "autofs",
    ]

    /// - Parameter store: its folder, which may be an O_PATH descriptor.
    public init(inside store: Descriptor) {
        table = Mutex(try? Descriptor(opening: "/proc/self/mountinfo", flags: O_RDONLY))
        self.store = try? DescriptorPath.read(store)
        read()
    }

    /// Whether there were any ten milliseconds ago: for requests of which there are many, as this takes two atomic loads.
    public var areSome: Bool {
        if cl_monotonic_ns() - lastRefresh.load(ordering: .relaxed) > 10_000_000 { refresh() }
        return count.load(ordering: .relaxed) > 0
    }

    /// Their mount points. One poll(2).
    public var places: [StorePath] {
        refresh()
        return state.withLock { $0.places }
    }

    /// Whether the path is one's mount point, or inside. One poll(2); linear in the number of such mounts.
    public func contain(_ path: StorePath) -> Bool { path.isAmong(places) }

    /// Whether a file of this device (statx(2)) is on one.
    public func contain(device: UInt64) -> Bool {
        refresh()
        let key = Self.key(cl_dev_major(dev_t(device)), cl_dev_minor(dev_t(device)))
        return state.withLock { $0.devices.contains(key) }
    }

    private static func key(_ major: UInt32, _ minor: UInt32) -> UInt64 { UInt64(major) << 32 | UInt64(minor) }

    private func refresh() {
        table.withLock { table in
            guard let table else { return }
            lastRefresh.store(cl_monotonic_ns(), ordering: .relaxed)
            var poll = pollfd(fd: table.number, events: Int16(truncatingIfNeeded: POLLPRI), revents: 0)
            if Glibc.poll(&poll, 1, 0) > 0 { read() }
        }
    }

    private func read() {
        guard let store else { return }
        let entries = MountTable.current().entries
        let byID = Dictionary(entries.map { ($0.id, $0) }) { one, _ in one }
        /// Mounted in Quire's mount, perhaps of this store.
        func isInQuire(_ entry: MountTable.Entry) -> Bool {
            var current = entry
            for _ in entries {
                guard let parent = byID[current.parentID], parent.id != current.id else { return false }
                if parent.isQuire { return true }
                current = parent
            }
            return false
        }
        var found = State()
        for entry in entries where Self.types.contains(entry.fileSystemType) || entry.fileSystemType.hasPrefix("fuse.") {
            guard let place = DescriptorPath.inside(store, entry.mountPoint), !place.isRoot, !entry.isQuire, !isInQuire(entry) else { continue }
            found.devices.insert(Self.key(entry.major, entry.minor))
            found.places.append(place)
        }
        count.store(found.places.count, ordering: .relaxed)
        state.withLock { $0 = found }
    }
}

extension StorePath {
    /// Whether it is one of some places, or inside.
    public func isAmong(_ places: [StorePath]) -> Bool { places.contains { self == $0 || isInside($0) } }
}
