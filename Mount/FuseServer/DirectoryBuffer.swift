internal import CFuse
internal import Glibc

/// The buffer of one READDIR or READDIRPLUS answer, filled entry by entry until it is full.
public struct DirectoryBuffer: ~Copyable {
    private let request: fuse_req_t
    private let bytes: UnsafeMutablePointer<CChar>
    private let capacity: Int
    private(set) var used = 0

    init(request: fuse_req_t, capacity: Int) {
        self.request = request
        self.capacity = capacity
        bytes = .allocate(capacity: capacity)
    }

    deinit { bytes.deallocate() }

    public var isEmpty: Bool { used == 0 }

    /// Adds a plain entry. `type` is the file type of st_mode; `next` is the offset that continues after it. False if it does
    /// not fit: the entry was not added.
    public mutating func add(name: UnsafePointer<CChar>, inode: UInt64, type: UInt32, next: Int64) -> Bool {
        var status = stat()
        status.st_ino = ino_t(inode)
        status.st_mode = type
        let size = fuse_add_direntry(request, bytes + used, capacity - used, name, &status, off_t(next))
        return commit(size)
    }

    /// Adds an entry with its attributes, which counts as a lookup of its node unless the node is `.none`.
    public mutating func add(name: UnsafePointer<CChar>, entry: Entry, next: Int64) -> Bool {
        var parameters = fuse_entry_param(entry)
        let size = fuse_add_direntry_plus(request, bytes + used, capacity - used, name, &parameters, off_t(next))
        return commit(size)
    }

    /// Whether a READDIRPLUS entry with a name of this length would fit (fuse_direntplus: 152 bytes and the name, in eights).
    public func fits(nameLength: Int) -> Bool { (152 + nameLength + 7) & ~7 <= capacity - used }

    private mutating func commit(_ size: Int) -> Bool {
        guard size <= capacity - used else { return false }
        used += size
        return true
    }

    /// Sends what was added: nothing means the end of the folder.
    func send() { fuse_reply_buf(request, bytes, used) }
}
