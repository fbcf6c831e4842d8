import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func read(_ caller: Caller, handle: HandleID, at offset: off_t, count: Int, reply: consuming Reply<FileData>) {
        let handle = FileHandle.of(handle)
        pagesRefreshed(by: handle)
        handle.node.noteReading()
        let descriptor = handle.descriptor
        reply.succeed(from: descriptor.number, at: Int64(offset), count: count)
    }

    func write(
        _ caller: Caller, handle: HandleID, at offset: off_t, flags: Int32, _ data: UnsafeRawBufferPointer
    ) throws(Errno) -> Int {
        let handle = FileHandle.of(handle)
        if handle.isFlushed.load(ordering: .relaxed) { handle.isFlushed.store(false, ordering: .relaxed) }
        // The end need not be where the kernel takes it to be: another program may have written beneath the mount, or by another node.
        // A write by O_DIRECT, past the kernel's pages, can come in several requests, in any order.
        if flags & (O_APPEND | CL_O_DIRECT) == O_APPEND {
            return try append(data, by: handle, caller, expectedAt: Int64(offset))
        }
        guard let version = handle.version else {
            saves.willWriteLive(handle)
            return try write(data, to: handle.descriptor, of: handle, caller, Int64(offset))
        }
        return try saves.writing(handle, version, by: caller, count: data.count) { (file) throws(Errno) in
            let count = try write(data, to: file, of: handle, caller, Int64(offset))
            return (count, Self.range(at: Int64(offset), count))
        }
    }

    private func append(
        _ bytes: UnsafeRawBufferPointer, by handle: FileHandle, _ caller: Caller, expectedAt offset: Int64
    ) throws(Errno) -> Int {
        guard let version = handle.version else {
            saves.willWriteLive(handle)
            return try append(bytes, to: handle.descriptor, of: handle, caller, expectedAt: offset).count
        }
        return try saves.writing(handle, version, by: caller, count: bytes.count) { (file) throws(Errno) in
            try append(bytes, to: file, of: handle, caller, expectedAt: offset)
        }
    }

    /// Returns how much was written, and where, with what others appended meanwhile.
    private func append(
        _ bytes: UnsafeRawBufferPointer, to file: Descriptor, of handle: FileHandle, _ caller: Caller, expectedAt offset: Int64
    ) throws(Errno) -> (count: Int, range: Range<Int64>) {
        let before = try Self.size(of: file)
        let count = try writing(to: handle, caller) { () throws(Errno) in try check(cl_append(file.number, bytes.baseAddress, bytes.count)) }
        let after = try Self.size(of: file)
        if before != offset || after != offset.adding(clamping: Int64(count)) {
            // The kernel has these bytes in other pages, or takes the file for longer or shorter.
            if handle.isCached {
                session.current?.notifier.contentsChanged(ofFile: handle.node, table)
            } else {
                session.current?.notifier.attributesChangedNow(of: table.id(of: handle.node))
            }
        }
        return (count, Self.range(at: min(before, after), max(count, Int(clamping: after.adding(clamping: -before)))))
    }

    private static func size(of file: Descriptor) throws(Errno) -> Int64 {
        let status = try FileStatus(of: file)
        return max(0, Int64(status.st.st_size))
    }

    private static func range(at offset: Int64, _ count: Int) -> Range<Int64> { offset..<offset.adding(clamping: Int64(count)) }

    private func write(
        _ data: UnsafeRawBufferPointer, to file: Descriptor, of handle: FileHandle, _ caller: Caller, _ offset: Int64
    ) throws(Errno) -> Int {
        try writing(to: handle, caller) { () throws(Errno) in try check(cl_pwrite(file.number, data.baseAddress, data.count, off_t(clamping: offset))) }
    }

    private func writing(to handle: FileHandle, _ caller: Caller, _ write: () throws(Errno) -> Int) throws(Errno) -> Int {
        guard handle.hadSetIDBits else { return try privileges.using(as: caller, write) }
        // The kernel does not know that the bits go with it.
        defer { session.current?.notifier.attributesChangedNow(of: table.id(of: handle.node)) }
        return try privileges.writingSetID(as: caller, write)
    }

    func flush(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64) throws(Errno) {
        if handle == .nothing { return }
        locks.flushed(table.node(node), handle: handle, owner: lockOwner)
        let handle = FileHandle.of(handle)
        guard handle.isWritable else { return }
        journal.events.expect(caller)
        try saves.flushed(handle, by: caller)
        // By the time of RELEASE another file may have the name. Processes that the opener has started may close it often.
        if journal.events.isHeard, caller.thread == handle.caller.thread { noteWritingAtClose(handle) }
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
        return try saves.writing(target, version, by: caller, count: count) { (file) throws(Errno) in
            let count = try copy(file)
            return (count, Self.range(at: Int64(newOffset), count))
        }
    }
}
