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
    private let root: Descriptor
    private(set) var mounts: [InnerMount] = []

    init(root: Descriptor) throws(Errno) {
        self.root = root
        table = try Descriptor(opening: "/proc/self/mountinfo", flags: O_RDONLY)
        _ = refresh()
    }

    /// Reads the table again; whether anything changed inside the store.
    mutating func refresh() -> Bool {
        guard let text = try? WholeFile.read("/proc/self/mountinfo"), let prefix = try? DescriptorPath.read(root)
        else { return false }
        let found = Self.parse(text, storedAt: prefix).filter(isReached)
        defer { mounts = found }
        return found != mounts
    }

    /// Whether the way from the root's descriptor leads onto this mount: one that was put on a mount covering the store, or
    /// was covered itself, does not count.
    private func isReached(_ mount: InnerMount) -> Bool {
        guard let folder = try? OpenFolder.at(mount.path, below: root), let status = try? FileStatus(of: folder)
        else { return false }
        return status.mount_id == mount.id
    }

    /// File systems that hold no documents, or whose server may be gone: they are not even opened.
    private static let leftOut: Set<String> = [
        "proc", "sysfs", "cgroup", "cgroup2", "autofs", "devpts", "nfs", "nfs4", "cifs",
    ]

    /// The mounts below `prefix`. A line is: id, parent, device, root, mount point, options, optional fields, `-`, type, ...
    package static func parse(_ table: [UInt8], storedAt prefix: [UInt8]) -> [InnerMount] {
        var found: [InnerMount] = []
        for line in table.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "))
            guard fields.count > 6, let id = UInt64(String(decoding: fields[0], as: UTF8.self)),
                let path = DescriptorPath.inside(prefix, unescaped(fields[4])), !path.isRoot,
                let dash = fields[6...].firstIndex(where: { $0.elementsEqual("-".utf8) }), dash + 1 < fields.count
            else { continue }
            let type = String(decoding: fields[dash + 1], as: UTF8.self)
            if leftOut.contains(type) || type.hasPrefix("fuse") { continue }
            found.append(InnerMount(id: id, path: path))
        }
        return found
    }

    /// Space, tab, newline and backslash stand in the table as a backslash and three octal digits.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                result.append(code)
                rest = rest.dropFirst(3)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}
