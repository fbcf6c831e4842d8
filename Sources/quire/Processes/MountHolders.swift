import CLinux
import Glibc
import StorePrimitives

/// A process that keeps a mount busy, and by what.
package struct MountHolder: Hashable {
    package let pid: Int32
    package let command: String
    /// Each such as `working directory /docs/a` or `mapped file /docs/b`.
    package let uses: [String]

    package init(pid: Int32, command: String, uses: [String]) {
        self.pid = pid
        self.command = command
        self.uses = uses
    }
}

/// Finds who keeps a mount busy by reading links and tables under /proc. Nothing here asks the mount itself, so that it
/// works on one whose daemon hangs. Processes of other users show only to root.
package enum MountHolders {
    package static func of(_ mount: MountTable.Entry) -> [MountHolder] {
        processes().compactMap { pid in
            let uses = uses(by: pid, of: mount)
            return uses.isEmpty ? nil : MountHolder(pid: pid, command: command(of: pid), uses: uses)
        }
    }

    /// Nil if it is gone.
    package static func parent(of pid: Int32) -> Int32? {
        let lines = FileSystem.contents("/proc/\(pid)/status")?.split(separator: UInt8(ascii: "\n")) ?? []
        let line = lines.first { $0.starts(with: "PPid:".utf8) }
        return line.flatMap { Int32(String(decoding: $0.dropFirst(5).filter { $0 != UInt8(ascii: "\t") }, as: UTF8.self)) }
    }

    /// Who else has a mount that was unmounted here: the first process of each mount namespace, such as of containers that were
    /// started meanwhile. Other users' mount tables may be read, their namespaces not: equal tables are taken for one.
    package static func elsewhere(_ mount: MountTable.Entry) -> [MountHolder] {
        var seen: Set<[UInt8]> = []
        return processes().compactMap { pid in
            guard let text = FileSystem.contents("/proc/\(pid)/mountinfo"), seen.insert(text).inserted else { return nil }
            let entries = MountTable(parsing: text).entries
            let places = entries.filter { ($0.major, $0.minor) == (mount.major, mount.minor) }.map { shown($0.mountPoint) }
            return places.isEmpty ? nil : MountHolder(pid: pid, command: command(of: pid), uses: places)
        }
    }

    private static func processes() -> [Int32] {
        let names = FileSystem.entries(Array("/proc".utf8)) ?? []
        return names.compactMap { Int32(String(decoding: $0, as: UTF8.self)) }.sorted().filter { $0 != getpid() }
    }

    /// The name of a process; `?` when it is gone.
    static func command(of pid: Int32) -> String {
        guard let name = FileSystem.contents("/proc/\(pid)/comm") else { return "?" }
        return String(decoding: name.filter { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private static func uses(by pid: Int32, of mount: MountTable.Entry) -> [String] {
        var uses: [String] = []
        for (link, what) in [("cwd", "working directory"), ("root", "root directory"), ("exe", "running program")] {
            let link = "/proc/\(pid)/\(link)"
            if let path = within(mount, FileSystem.linkTarget(link)), isOn(mount, link) {
                uses.append("\(what) \(shown(path))")
            }
        }
        for name in FileSystem.entries(Array("/proc/\(pid)/fd".utf8)) ?? [] {
            let number = String(decoding: name, as: UTF8.self)
            // The text may name a file beneath a mount that covers its own folder; the mount id tells which it is.
            guard let path = within(mount, FileSystem.linkTarget("/proc/\(pid)/fd/\(number)")),
                mountID(in: FileSystem.contents("/proc/\(pid)/fdinfo/\(number)")) == mount.id
            else { continue }
            uses.append("open file \(shown(path))")
        }
        var mapped: Set<[UInt8]> = []
        for line in FileSystem.contents("/proc/\(pid)/maps")?.split(separator: UInt8(ascii: "\n")) ?? [] {
            if let path = mappedFile(line, of: mount), mapped.insert(path).inserted {
                uses.append("mapped file \(shown(path))")
            }
        }
        return uses
    }

    /// The path, if its text lies under the mount point.
    private static func within(_ mount: MountTable.Entry, _ path: [UInt8]?) -> [UInt8]? {
        guard let path, CanonicalPath.isWithin(path, mount.mountPoint) else { return nil }
        return path
    }

    /// Whether what a link in /proc leads to is on this mount. An O_PATH open of such a link asks no file system.
    private static func isOn(_ mount: MountTable.Entry, _ link: String) -> Bool {
        let descriptor = cl_openat(AT_FDCWD, link, CL_O_PATH, 0)
        guard descriptor >= 0 else { return false }
        defer { cl_close(descriptor) }
        return mountID(in: FileSystem.contents("/proc/self/fdinfo/\(descriptor)")) == mount.id
    }

    /// The `mnt_id:` of a fdinfo table.
    private static func mountID(in table: [UInt8]?) -> Int? {
        guard let table else { return nil }
        for line in table.split(separator: UInt8(ascii: "\n")) where line.starts(with: "mnt_id:".utf8) {
            return Int(String(decoding: line.dropFirst(7), as: UTF8.self).filter(\.isNumber))
        }
        return nil
    }

    /// The file of a line such as `7f00-7f01 r--p 00000000 fd:01 1234    /docs/a`, if it is on the mount's device.
    private static func mappedFile(_ line: ArraySlice<UInt8>, of mount: MountTable.Entry) -> [UInt8]? {
        let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
        guard fields.count == 6 else { return nil }
        let device = String(decoding: fields[3], as: UTF8.self).split(separator: ":").compactMap { UInt32($0, radix: 16) }
        guard device == [mount.major, mount.minor] else { return nil }
        return within(mount, Array(fields[5].drop { $0 == UInt8(ascii: " ") }))
    }
}
