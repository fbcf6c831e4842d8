import CLinux
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// What has to be known of a file system to publish on it.
package struct FileSystemTraits: Sendable {
    /// What has to be done with a version's data before it is renamed over the document, so that after a power cut the name
    /// stands for the old or the new version, and for a whole one.
    enum Ordering: Sendable {
        /// The file system is gone with the power.
        case nothing
        /// The data is written out and waited for; the journal does the rest. Costs no commit.
        case writeOut
        case sync
    }

    let ordering: Ordering
    let hasProjects: Bool
    /// A change after a status was asked for always carries another status change time than that one (multigrain timestamps,
    /// Linux 6.13). Elsewhere these times are as coarse as the kernel's tick.
    let hasFineTimes: Bool
    /// The blocks of a removed file are free after the next commit, for quotas too (btrfs).
    let freesByCommit: Bool

    private static let ext4 = 0xEF53, xfs = 0x5846_5342, f2fs = 0xF2F5_2010, tmpfs = 0x0102_1994, btrfs = 0x9123_683E,
        ramfs = 0x8584_58F6

    init(type: Int, device: dev_t) {
        hasProjects = [Self.ext4, Self.xfs, Self.f2fs].contains(type)
        freesByCommit = type == Self.btrfs
        hasFineTimes = [Self.ext4, Self.xfs, Self.btrfs, Self.tmpfs].contains(type) && Self.kernel >= (6, 13)
        switch type {
        case Self.tmpfs, Self.ramfs: ordering = .nothing
        case Self.ext4 where Self.hasJournal(device): ordering = .writeOut
        default: ordering = .sync
        }
    }

    /// ext4's own rule for a rename over a file (auto_da_alloc, data=ordered) is not enough: it starts the write but does not
    /// make the commit wait for it (with dioread_nolock, the default, a power cut left zeros), and it does nothing for blocks
    /// that were there before, by fallocate(2) or because the file was written out once and then written again. Once the data
    /// is written, a journal's commits are in order.
    ///
    /// mountinfo leaves out what is the default and does not tell of a missing journal; this list has every option in force.
    private static func hasJournal(_ device: dev_t) -> Bool {
        let link = "/sys/dev/block/\(cl_dev_major(device)):\(cl_dev_minor(device))"
        var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = target.withUnsafeMutableBytes {
            // Safe: bytes and characters have one layout.
            cl_readlinkat(AT_FDCWD, link, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        guard length > 0, let name = target[..<length].split(separator: UInt8(ascii: "/")).last,
            let options = try? WholeFile.read("/proc/fs/ext4/\(String(decoding: name, as: UTF8.self))/options")
        else { return false }
        return hasJournal(options)
    }

    private static let kernel: (Int, Int) = {
        let release = (try? WholeFile.read("/proc/sys/kernel/osrelease")) ?? []
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let numbers = release.split { !digits.contains($0) }.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        return numbers.count > 1 ? (numbers[0], numbers[1]) : (0, 0)
    }()

    package static func hasJournal(_ options: [UInt8]) -> Bool {
        let options = options.split(separator: UInt8(ascii: "\n"))
        return options.contains { $0.starts(with: "data=".utf8) } && options.contains { $0.elementsEqual("barrier".utf8) }
    }
}

/// The file systems seen so far: the store's, and those mounted in it.
final class FileSystems: Sendable {
    private struct Key: Hashable {
        let device: dev_t
        let mount: UInt64
    }

    private struct Known {
        let type: Int
        let id: UInt64
        let traits: FileSystemTraits
        var available: UInt64
        var hasInodes: Bool
        var time: Int64
    }

    /// A leaf.
    private let known = Mutex<[Key: Known]>([:])

    /// How long a plenty of room is believed in.
    private static let believed: Int64 = 100_000_000

    /// The traits of the file system a file is on, and whether there is room for `bytes` more and another inode. No system call
    /// if it was asked in the last 100 ms and had a hundred times that.
    func traits(of file: Descriptor, _ status: cl_status, bytes: UInt64) throws(Errno) -> (FileSystemTraits, hasRoom: Bool) {
        let key = Key(device: status.st.st_dev, mount: status.mount_id)
        let now = cl_realtime_coarse_ns()
        let last = known.withLock { $0[key] }
        if let last, last.hasInodes, last.available / 100 > bytes, (0..<Self.believed).contains(now &- last.time) {
            return (last.traits, true)
        }
        var system = cl_file_system()
        _ = try check(cl_file_system(file.number, &system))
        // Another one may be mounted by now.
        let isSame = last?.type == system.type && last?.id == system.id
        let traits = (isSame ? last?.traits : nil) ?? FileSystemTraits(type: system.type, device: key.device)
        let found = Known(
            type: system.type, id: system.id, traits: traits, available: system.available,
            hasInodes: system.has_inodes != 0, time: now)
        known.withLock { $0[key] = found }
        return (traits, found.hasInodes && found.available >= bytes)
    }
}

extension FileSystemTraits.Ordering {
    /// Has a file's content on disk before a name can lead to it, where that needs to be done.
    func writeOut(_ file: Descriptor) throws(Errno) {
        switch self {
        case .nothing: return
        case .writeOut: _ = try check(cl_write_out(file.number))
        case .sync: _ = try check(cl_fsync(file.number, 1))
        }
    }
}
