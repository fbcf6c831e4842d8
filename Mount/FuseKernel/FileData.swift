internal import CFuse
internal import CLinux
internal import Glibc
public import SystemPackage

/// The answer to READ.
public enum FileData {}

extension Reply where Answer == FileData {
    /// Answers with what `descriptor` holds at `offset`: read straight into a ring's place, else spliced where the kernel can.
    /// Short at the end of the file.
    public consuming func succeed(from descriptor: Int32, at offset: Int64, count: Int) {
        if let place = RingRequest.current {
            let length = pread(descriptor, place.payload, min(count, place.capacity), off_t(offset))
            guard length >= 0 else { return fail(Errno(rawValue: errno)) }
            fuse_reply_buf(take(), place.payload.assumingMemoryBound(to: CChar.self), length)
            return
        }
        if quire_reply_from_fd(take(), descriptor, count, off_t(offset)) < 0 { cl_note_lost_answer() }
    }

    /// Answers with bytes in memory.
    public consuming func succeed(bytes: UnsafeRawBufferPointer) {
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        fuse_reply_buf(take(), start, bytes.count)
    }
}

/// What WRITE carries: in memory or still in a pipe. Written once.
public struct WrittenData: ~Copyable {
    let buffer: UnsafeMutablePointer<fuse_bufvec>

    public var count: Int { fuse_buf_size(buffer) }

    /// Writes all of it to `descriptor` at `offset`; returns how much was written.
    public borrowing func write(to descriptor: Int32, at offset: Int64) throws(Errno) -> Int {
        let written = quire_write_to_fd(buffer, descriptor, off_t(offset))
        if written < 0 { throw Errno(rawValue: CInt(clamping: -written)) }
        return written
    }

    /// Calls `body` with the bytes, which may be written more than once: taken out of the pipe, if they are there.
    public borrowing func withBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        if let bytes = quire_data_in_memory(buffer) { return try body(UnsafeRawBufferPointer(start: bytes, count: count)) }
        let copy = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 1)
        defer { copy.deallocate() }
        let length = quire_copy_data(buffer, copy)
        if length < 0 { throw Errno(rawValue: CInt(clamping: -length)) }
        return try body(UnsafeRawBufferPointer(start: copy, count: length))
    }
}
