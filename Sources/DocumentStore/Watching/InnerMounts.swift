import CLinux
import Glibc
package import StorePrimitives
import SystemPackage

/// A file system mounted inside the store.
package struct InnerMount: Hashable {
    package let id: UInt64
    package let path: StorePath
}

/// Which file systems are mounted inside the store, from /proc/self/mountinfo (proc(5)).
package struct InnerMounts {
    /// Signals POLLPRI whenever anything is mounted or unmounted.
    let table: Descriptor
    private let store: SharedStore
    private(set) var mounts: [InnerMount] = []

    init(_ store: SharedStore) throws(Errno) {
        self.store = store
        table = try Descriptor(opening: "/proc/self/mountinfo", flags: O_RDONLY)
        _ = refresh()
    }

    /// Reads the table again; whether anything changed inside the store.
    mutating func refresh() -> Bool {
        guard let text = try? WholeFile.read("/proc/self/mountinfo"), let prefix = try? DescriptorPath.read(store.root)
        else { return false }
        let found = Self.parse(text, storedAt: prefix).filter(isReached)
        defer { mounts = found }
        return found != mounts
    }

    /// Whether the way from the root's descriptor leads onto this mount: one that was put on a mount covering the store, or
    /// was covered itself, does not count.
    private func isReached(_ mount: InnerMount) -> Bool {
        guard let folder = try? store.folder(mount.path), let status = try? FileStatus(of: folder)
        else { return false }
        return status.mount_id == mount.id
    }

    /// File systems that hold no documents.
    private static let leftOut: Set<String> = ["proc", "sysfs", "cgroup", "cgroup2", "devpts"]

    /// The mounts below `prefix`.
    package static func parse(_ table: [UInt8], storedAt prefix: [UInt8]) -> [InnerMount] {
        MountTable(parsing: table).entries.compactMap { entry in
            guard let id = UInt64(exactly: entry.id), let path = DescriptorPath.inside(prefix, entry.mountPoint), !path.isRoot,
                !leftOut.contains(entry.fileSystemType), MountKind(ofType: entry.fileSystemType) == .local
            else { return nil }
            return InnerMount(id: id, path: path)
        }
    }
}
