import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

/// One OPENDIR, until its RELEASEDIR: a folder of the store, read as the kernel asks, or a list.
final class FolderHandle: @unchecked Sendable {
    enum Source: Sendable {
        case store(Descriptor)
        /// Made when it was opened: virtual folders, of which the kernel keeps nothing.
        case list([ListedEntry])
        /// The store's own folder with the virtual ones in it. Listed anew by each reading from the start: the kernel, which keeps
        /// what it reads, lets no name in it change meanwhile.
        case root(Descriptor)
    }

    /// One entry of a list. Its offset is its place in the list, counted from 1.
    struct ListedEntry: Sendable {
        let name: EntryName
        let inode: UInt64
        let type: mode_t
        /// What it is, if the kernel may remember that.
        var item: (any VirtualItem)? = nil
    }

    let source: Source
    /// What getdents gave and READDIR has not yet taken. Guarded by `reading`.
    private var readAhead = ReadAhead()
    /// A root's list as of the last reading from the start. Guarded by `reading`.
    private var rootList: [ListedEntry] = []
    private let reading = ThreadLock()

    init(_ source: Source) { self.source = source }

    /// A root's list for a reading from `offset` on. `list` makes it.
    func rootEntries(from offset: Int64, _ list: () throws(Errno) -> [ListedEntry]) throws(Errno) -> [ListedEntry] {
        try reading.withLock { () throws(Errno) in
            if offset == 0 { rootList = try list() }
            return rootList
        }
    }

    /// Calls `body` for each entry from `offset` on until it returns false, which leaves that entry for the next time.
    func entries(from offset: Int64, of descriptor: Descriptor, _ body: (cl_dirent) -> Bool) throws(Errno) {
        try reading.withLock { () throws(Errno) in try readAhead.entries(from: offset, of: descriptor, body) }
    }

    struct ReadAhead: ~Copyable {
        /// 32 KiB: some 800 entries for one system call.
        private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 8)
        private var start = 0
        private var end = 0
        /// The offset of the next entry.
        private var offset: Int64 = 0

        deinit { bytes.deallocate() }

        /// Calls `body` for each entry from `wanted` on until it returns false, which leaves that entry for the next time.
        mutating func entries(
            from wanted: Int64, of descriptor: Descriptor, _ body: (cl_dirent) -> Bool
        ) throws(Errno) {
            if wanted != offset || wanted == 0 {
                _ = try check(cl_lseek(descriptor.number, off_t(wanted), SEEK_SET))
                (start, end, offset) = (0, 0, wanted)
            }
            while true {
                if start == end {
                    end = try check(cl_getdents(descriptor.number, bytes.baseAddress, bytes.count))
                    start = 0
                    if end == 0 { return }
                }
                var entry = cl_dirent()
                cl_dirent_at(bytes.baseAddress! + start, &entry)
                guard body(entry) else { return }
                start += Int(entry.record_length)
                offset = entry.next_offset
            }
        }
    }

    func handedToKernel() -> HandleID {
        HandleID(UInt64(UInt(bitPattern: Unmanaged.passRetained(self).toOpaque())))
    }

    static func of(_ id: HandleID) -> FolderHandle {
        Unmanaged<FolderHandle>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(id.rawValue))!).takeUnretainedValue()
    }

    static func consume(_ id: HandleID) -> FolderHandle {
        Unmanaged<FolderHandle>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(id.rawValue))!).takeRetainedValue()
    }
}
