internal import CFuse
internal import CLinux
internal import Glibc
import SystemPackage

/// The answer to READ.
public enum FileData {}

extension Reply where Answer == FileData {
    /// Answers with what `descriptor` holds at `offset`: read into memory.
    /// Short at the end of the file, and only there: the kernel takes a short answer for the end. An error if any of it cannot be read, upon
    /// which the kernel asks page by page.
    public consuming func succeed(from descriptor: Int32, at offset: Int64, count: Int) {
        quire_reply_from_fd(take(), descriptor, count, off_t(offset))
    }

    /// Answers with bytes in memory.
    public consuming func succeed(bytes: UnsafeRawBufferPointer) {
        let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        fuse_reply_buf(take(), start, bytes.count)
    }
}
