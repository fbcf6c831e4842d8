import CLinux
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// One OPENDIR, until its RELEASEDIR. What is kept to read it (the kernel's entries read ahead, a virtual folder's list) goes when
/// its end has been read.
final class FolderHandle: @unchecked Sendable {
    enum Source: Sendable {
        /// A folder of the store, read as the kernel asks. `after`: entries that follow those of the store.
        case store(Descriptor, after: [ListedEntry])
        /// A virtual folder. Its list is made when it is opened and for each reading from the start, as who opened it sees it.
        case list(any VirtualItem, Credentials)
    }

    /// One entry of a list.
    struct ListedEntry: Sendable {
        let name: EntryName
        let inode: UInt64
        let type: mode_t
        /// The virtual item, where the listing gives the kernel its attributes too.
        var item: (any VirtualItem)? = nil
        /// Where a reading continues after it. It belongs to the name: in any later list it means the same, if the name is there.
        let offset: Int64

        /// `offset`: by default one made of the name.
        init(name: EntryName, inode: UInt64, type: mode_t, item: (any VirtualItem)? = nil, offset: Int64? = nil) {
            (self.name, self.inode, self.type, self.item) = (name, inode, type, item)
            var hasher = Hasher()
            hasher.combine(name)
            self.offset = offset ?? Int64(truncatingIfNeeded: UInt(bitPattern: hasher.finalize()) >> 2) + 1
        }
    }

    /// Offsets of entries that follow those of the store. No file system has entries there: of ext4's offsets, which are hashes, the
    /// upper half is at most 0x7FFFFFFE but at the folder's end; others count, or use 32 bits.
    static let offsetsAfter: ClosedRange<Int64> = 0x7FFF_FFFF_5155_0001...0x7FFF_FFFF_5155_00FF

    let source: Source
    /// What getdents gave and READDIR has not yet taken. Guarded by `reading`.
    private var readAhead = ReadAhead()
    /// Guarded by `reading`.
    private var list: List?
    private let reading = ThreadLock()
    private let shares: UserShares
    /// Who opened it, for whom it counts.
    private let user: uid_t
    private let isCounted: Bool
    private let isListing = Atomic<Bool>(false)
    private let listedFolder = AtomicLazyReference<Node>()
    /// Bytes of `readAhead` and `list` that count for the user. Guarded by `reading`.
    private var charged = 0

    private struct List {
        let entries: [ListedEntry]
        /// Nothing of it was read yet.
        var isNew = true
        /// Where the last reading left off.
        var offset: Int64 = 0
        var place = 0
        /// Read to its end; the entries are gone.
        var isRead = false

        /// The place in the list that follows the entry of an offset; its end if there is no such entry.
        func place(of wanted: Int64) -> Int {
            if wanted == 0 { return 0 }
            if wanted == offset { return place }
            return entries.firstIndex { $0.offset == wanted }.map { $0 + 1 } ?? entries.count
        }
    }

    /// Counts for the user as long as it lives.
    init(_ source: Source, _ shares: UserShares, _ user: uid_t) {
        self.source = source
        (self.shares, self.user) = (shares, user)
        isCounted = shares.take(.openFolders, for: user)
    }

    deinit {
        if isCounted { shares.giveBack(.openFolders, for: user) }
        if charged > 0 { shares.giveBack(.listingBytes, charged, for: user) }
    }

    /// READDIRPLUS comes by this handle. The folder counts it until `endListing`: the kernel takes the entries in before it asks for more
    /// by the handle, or lets that go. Before the first entry is looked up.
    func beginListing(of folder: Node) {
        guard !isListing.load(ordering: .relaxed) else { return }
        let folder = listedFolder.storeIfNil(folder)
        if !isListing.exchange(true, ordering: .relaxed) { folder.listings.add(1, ordering: .sequentiallyConsistent) }
    }

    /// The kernel has taken in what was answered by this handle. Again: does nothing.
    func endListing() {
        guard isListing.exchange(false, ordering: .relaxed), let folder = listedFolder.load() else { return }
        folder.listings.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// What a virtual folder shows now. Throws ENOMEM if the user has begun too many listings.
    func begin(_ entries: [ListedEntry]) throws(Errno) { try reading.withLock { () throws(Errno) in try keep(entries) } }

    private func keep(_ entries: [ListedEntry]) throws(Errno) {
        list = nil
        guard charge(entries.count * Self.bytesOfEntry) else { throw .noMemory }
        list = List(entries: entries)
    }

    /// Counts so many bytes for the user, in place of what was counted. False, and none counted, if that is too much.
    private func charge(_ bytes: Int) -> Bool {
        if charged > 0 { shares.giveBack(.listingBytes, charged, for: user) }
        charged = 0
        guard bytes > 0 else { return true }
        guard shares.take(.listingBytes, bytes, for: user) else { return false }
        charged = bytes
        return true
    }

    /// With a name of usual length.
    private static let bytesOfEntry = 128

    /// Calls `body` for each entry of the list from `offset` on until it returns false, which leaves that entry for the next time.
    /// `make` makes the list: for each reading from the start, and for one that continues in what was let go.
    func listed(
        from offset: Int64, make: () throws(Errno) -> [ListedEntry], _ body: (ListedEntry) -> Bool
    ) throws(Errno) {
        try reading.withLock { () throws(Errno) in
            if let known = list, known.isRead, offset == known.offset { return }
            if list == nil || list?.isRead == true || (offset == 0 && list?.isNew == false) { try keep(try make()) }
            guard var current = list else { return }
            current.isNew = false
            var place = current.place(of: offset)
            let first = place
            while place < current.entries.count, body(current.entries[place]) { place += 1 }
            if place == current.entries.count, place == first {
                list = List(entries: [], isNew: false, offset: offset, place: 0, isRead: true)
                _ = charge(0)
                return
            }
            (current.offset, current.place) = (place == 0 ? 0 : current.entries[place - 1].offset, place)
            list = current
        }
    }

    /// Calls `body` for each of the store's entries, and then for each of `after`, from `offset` on until it returns false, which
    /// leaves that entry for the next time. Throws EOVERFLOW if the file system hands out an offset of `offsetsAfter`.
    func entries(
        from offset: Int64, of descriptor: Descriptor, after: [ListedEntry], _ body: (cl_dirent) -> Bool,
        _ afterwards: (ListedEntry) -> Bool
    ) throws(Errno) {
        var place = 0
        if Self.offsetsAfter.contains(offset) {
            place = (after.firstIndex { $0.offset == offset } ?? after.count) + 1
        } else {
            let isEnd = try reading.withLock { () throws(Errno) in
                let isEnd = try readAhead.entries(from: offset, of: descriptor, keepsOffsets: after.isEmpty ? nil : Self.offsetsAfter, body)
                // Without room for more the kernel's entries are read again from where this left off.
                if isEnd { _ = charge(0) } else if charged == 0, !charge(ReadAhead.capacity) { readAhead = ReadAhead() }
                return isEnd
            }
            guard isEnd else { return }
        }
        while place < after.count, afterwards(after[place]) { place += 1 }
    }

    struct ReadAhead: ~Copyable {
        /// Some 800 entries for one system call.
        static let capacity = 32 << 10
        /// Nil before the first reading and after the end.
        private var bytes: UnsafeMutableRawBufferPointer?
        private var start = 0
        private var end = 0
        /// The offset of the next entry.
        private var offset: Int64 = 0

        deinit { bytes?.deallocate() }

        /// Calls `body` for each entry from `wanted` on until it returns false, which leaves that entry for the next time. True
        /// when the end was reached. Throws EOVERFLOW for an offset in `free`, where there must be none.
        mutating func entries(
            from wanted: Int64, of descriptor: Descriptor, keepsOffsets free: ClosedRange<Int64>? = nil, _ body: (cl_dirent) -> Bool
        ) throws(Errno) -> Bool {
            if wanted != offset || wanted == 0 {
                _ = try check(cl_lseek(descriptor.number, off_t(wanted), SEEK_SET))
                (start, end, offset) = (0, 0, wanted)
            }
            let bytes = self.bytes ?? .allocate(byteCount: Self.capacity, alignment: 8)
            self.bytes = bytes
            while true {
                if start == end {
                    (start, end) = (0, 0)
                    end = try check(cl_getdents(descriptor.number, bytes.baseAddress, bytes.count))
                    if end == 0 {
                        bytes.deallocate()
                        self.bytes = nil
                        return true
                    }
                }
                var entry = cl_dirent()
                // Safe: the kernel filled the buffer with whole records, and each gives its own length.
                cl_dirent_at(bytes.baseAddress.unsafelyUnwrapped + start, &entry)
                if let free, free.contains(entry.next_offset) { throw Errno(rawValue: EOVERFLOW) }
                guard body(entry) else { return false }
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
