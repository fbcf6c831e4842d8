import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func read(_ caller: Caller, handle: HandleID, at offset: off_t, count: Int, reply: consuming Reply<FileData>) {
        reply.succeed(from: FileHandle.of(handle).descriptor.number, at: Int64(offset), count: count)
    }

    func write(_ caller: Caller, handle: HandleID, at offset: off_t, _ data: borrowing WrittenData) throws(Errno) -> Int {
        let handle = FileHandle.of(handle)
        let write = { (data: borrowing WrittenData) throws(Errno) in
            try data.write(to: handle.descriptor.number, at: Int64(offset))
        }
        return handle.hadSetIDBits
            ? try privileges.writingSetID(as: caller) { () throws(Errno) in try write(data) }
            : try privileges.using(as: caller) { () throws(Errno) in try write(data) }
    }

    func flush(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64) throws(Errno) {
        locks.flushed(table.node(node), handle: handle, owner: lockOwner)
    }

    func synchronize(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno) {
        _ = try check(cl_fsync(FileHandle.of(handle).descriptor.number, dataOnly ? 1 : 0))
    }

    func allocate(_ caller: Caller, handle: HandleID, mode: Int32, offset: off_t, length: off_t) throws(Errno) {
        try privileges.using(as: caller) { () throws(Errno) in
            _ = try check(cl_fallocate(FileHandle.of(handle).descriptor.number, mode, offset, length))
        }
    }

    func seek(_ caller: Caller, handle: HandleID, offset: off_t, whence: Int32) throws(Errno) -> off_t {
        try check(cl_lseek(FileHandle.of(handle).descriptor.number, offset, whence))
    }

    func copyRange(
        _ caller: Caller, from: HandleID, at offset: off_t, to: HandleID, at newOffset: off_t, count: Int, flags: UInt32
    ) throws(Errno) -> Int {
        let (source, target) = (FileHandle.of(from).descriptor, FileHandle.of(to).descriptor)
        return try privileges.using(as: caller) { () throws(Errno) in
            try check(cl_copy_file_range(source.number, offset, target.number, newOffset, count, flags))
        }
    }
}
