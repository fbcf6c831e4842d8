import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func read(_ caller: Caller, handle: HandleID, at offset: off_t, count: Int, reply: consuming Reply<FileData>) {
        let handle = FileHandle.of(handle)
        pagesRefreshed(by: handle)
        reply.succeed(from: handle.descriptor.number, at: Int64(offset), count: count)
    }

    func write(_ caller: Caller, handle: HandleID, at offset: off_t, _ data: borrowing WrittenData) throws(Errno) -> Int {
        let handle = FileHandle.of(handle)
        if handle.isFlushed.load(ordering: .relaxed) { handle.isFlushed.store(false, ordering: .relaxed) }
        guard let version = handle.version else {
            saves.willWriteLive(handle)
            return try write(data, to: handle.descriptor, of: handle, caller, offset)
        }
        return try saves.writing(handle, version, by: caller, at: offset, count: data.count) { (file) throws(Errno) in
            try write(data, to: file, of: handle, caller, offset)
        }
    }

    private func write(
        _ data: borrowing WrittenData, to file: Descriptor, of handle: FileHandle, _ caller: Caller, _ offset: off_t
    ) throws(Errno) -> Int {
        let write = { (data: borrowing WrittenData) throws(Errno) in try data.write(to: file.number, at: Int64(offset)) }
        guard handle.hadSetIDBits else {
            return try privileges.using(as: caller) { () throws(Errno) in try write(data) }
        }
        // The kernel does not know that the bits go with it.
        defer { session.current?.notifier.attributesChangedNow(of: table.id(of: handle.node)) }
        return try privileges.writingSetID(as: caller) { () throws(Errno) in try write(data) }
    }

    func flush(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64) throws(Errno) {
        if handle == .nothing { return }
        locks.flushed(table.node(node), handle: handle, owner: lockOwner)
        let handle = FileHandle.of(handle)
        guard handle.isWritable else { return }
        journal.events.expect(caller)
        try saves.flushed(handle, by: caller)
    }

    func synchronize(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno) {
        let handle = FileHandle.of(handle)
        try saves.synchronizing(handle)
        let descriptor = handle.descriptor
        _ = try check(cl_fsync(descriptor.number, dataOnly ? 1 : 0))
    }

    func allocate(_ caller: Caller, handle: HandleID, mode: Int32, offset: off_t, length: off_t) throws(Errno) {
        let handle = FileHandle.of(handle)
        // The kernel does not know that the bits go with it.
        defer { if handle.hadSetIDBits { session.current?.notifier.attributesChangedNow(of: table.id(of: handle.node)) } }
        try saves.extending(handle, to: Int64(offset).adding(clamping: Int64(length)))
        try privileges.writingSetID(as: caller) { () throws(Errno) in
            try saves.changing(handle) { (file) throws(Errno) in
                _ = try check(cl_fallocate(file.number, mode, offset, length))
            }
        }
    }

    func seek(_ caller: Caller, handle: HandleID, offset: off_t, whence: Int32) throws(Errno) -> off_t {
        let descriptor = FileHandle.of(handle).descriptor
        return try check(cl_lseek(descriptor.number, offset, whence))
    }

    func copyRange(
        _ caller: Caller, from: HandleID, at offset: off_t, to: HandleID, at newOffset: off_t, count: Int, flags: UInt32
    ) throws(Errno) -> Int {
        let (source, target) = (FileHandle.of(from).descriptor, FileHandle.of(to))
        let copy = { [privileges] (file: Descriptor) throws(Errno) in
            try privileges.writingSetID(as: caller) { () throws(Errno) in
                try check(cl_copy_file_range(source.number, offset, file.number, newOffset, count, flags))
            }
        }
        guard let version = target.version else {
            saves.willWriteLive(target)
            return try copy(target.descriptor)
        }
        return try saves.writing(target, version, by: caller, at: newOffset, count: count, copy)
    }
}
