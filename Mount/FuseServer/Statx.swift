internal import CFuse
internal import CLinux
internal import Glibc
internal import StorePrimitives
import SystemPackage

/// STATX, which libfuse 3.14 does not know: the kernel asks it when an app wants a file's birth time. Answered here, without
/// libfuse.
extension FuseSession {
    private static let opcode: UInt32 = 52
    /// Whether the request was a STATX, which is then answered.
    func answersStatx(_ buffer: fuse_buf) -> Bool {
        guard buffer.flags.rawValue & FUSE_BUF_IS_FD.rawValue == 0, let start = buffer.mem,
            buffer.size >= MemoryLayout<quire_in_header>.size + MemoryLayout<quire_statx_in>.size
        else { return false }
        // Safe: the kernel writes whole requests, each headed by this struct, into an aligned buffer.
        let header = start.assumingMemoryBound(to: quire_in_header.self).pointee
        guard header.opcode == Self.opcode else { return false }
        let caller = Caller(uid: header.uid, gid: header.gid, thread: pid_t(bitPattern: header.pid), umask: 0)
        fileSystem.begins(caller)
        do throws(Errno) {
            let (attributes, birth) = try fileSystem.attributesWithBirth(caller, of: NodeID(header.nodeid))
            var answer = quire_statx_out(attributes, birth: birth)
            send(header.unique, error: 0, &answer, MemoryLayout<quire_statx_out>.size)
        } catch {
            send(header.unique, error: -error.answer, nil, 0)
        }
        return true
    }

    private func send(_ unique: UInt64, error: Int32, _ body: UnsafeMutableRawPointer?, _ size: Int) {
        let headerSize = MemoryLayout<quire_out_header>.size
        var header = quire_out_header(len: UInt32(clamping: headerSize + size), error: error, unique: unique)
        withUnsafeMutableBytes(of: &header) { header in
            var vector = [
                iovec(iov_base: header.baseAddress, iov_len: headerSize), iovec(iov_base: body, iov_len: size),
            ]
            // ENOENT: the caller was interrupted and asks no more.
            _ = channel.send(device, &vector, count: size > 0 ? 2 : 1)
        }
    }
}

extension quire_statx_out {
    init(_ attributes: Attributes, birth: Int64) {
        self.init()
        let status = attributes.status
        attr_valid = UInt64(attributes.validity.seconds)
        stat.mask = 0x7ff | (birth != 0 ? 0x800 : 0)  // STATX_BASIC_STATS, STATX_BTIME (statx(2))
        // A file system in the store may answer anything.
        stat.blksize = UInt32(clamping: status.st_blksize)
        stat.nlink = UInt32(clamping: status.st_nlink)
        (stat.uid, stat.gid, stat.mode) = (status.st_uid, status.st_gid, UInt16(truncatingIfNeeded: status.st_mode))
        (stat.ino, stat.size) = (UInt64(status.st_ino), UInt64(clamping: status.st_size))
        stat.blocks = UInt64(truncatingIfNeeded: status.st_blocks)
        stat.atime = quire_sx_time(status.st_atim)
        stat.mtime = quire_sx_time(status.st_mtim)
        stat.ctime = quire_sx_time(status.st_ctim)
        let (seconds, rest) = splitNanoseconds(birth)
        (stat.btime.tv_sec, stat.btime.tv_nsec) = (seconds, UInt32(clamping: rest))
        stat.rdev_major = cl_dev_major(status.st_rdev)
        stat.rdev_minor = cl_dev_minor(status.st_rdev)
    }
}

extension quire_sx_time {
    fileprivate init(_ time: timespec) {
        self.init(tv_sec: Int64(time.tv_sec), tv_nsec: UInt32(clamping: time.tv_nsec), reserved: 0)
    }
}
