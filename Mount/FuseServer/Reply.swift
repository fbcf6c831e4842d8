internal import CFuse
internal import Glibc
public import SystemPackage

/// The duty to answer one request, consumed exactly once. Dropped unanswered, it answers EIO: no caller ever hangs on a
/// forgotten reply.
public struct Reply<Answer>: ~Copyable, @unchecked Sendable {
    let request: fuse_req_t

    init(_ request: fuse_req_t) { self.request = request }

    deinit { fuse_reply_err(request, EIO) }

    public consuming func fail(_ error: Errno) {
        let request = self.request
        discard self
        refuse(request, error)
    }

    /// Gives up the duty to whoever calls a libfuse reply function with the request.
    consuming func take() -> fuse_req_t {
        let request = self.request
        discard self
        return request
    }
}

/// Answers a request with an error.
func refuse(_ request: fuse_req_t, _ error: Errno) { fuse_reply_err(request, error.answer) }

extension Errno {
    /// The number that the kernel is told. After ENOSYS, which a file system inside the store may answer, the kernel would never ask for
    /// such a thing again in the whole mount: no FLUSH, no OPENDIR (fs/fuse/file.c, dir.c: no_flush, no_open, no_opendir and others).
    var answer: Int32 { (self == .noFunction ? .notSupported : self).rawValue }
}

/// An operation that answers "done" and nothing else.
public enum Done: Sendable { case done }

extension Reply where Answer == Done {
    public consuming func succeed() { fuse_reply_err(take(), 0) }
}

extension Reply where Answer == OpenedFile {
    /// False if the caller was interrupted and never gets the handle: no RELEASE will follow, release it now.
    public consuming func succeed(_ file: OpenedFile) -> Bool {
        if let backing = file.mode.backing {
            return quire_reply_open_passthrough(take(), file.handle.rawValue, backing.rawValue, file.passthroughFlags) == 0
        }
        var info = fuse_file_info(file)
        return fuse_reply_open(take(), &info) == 0
    }
}

extension Reply where Answer == OpenedFolder {
    /// False if the caller was interrupted and never gets the handle: no RELEASEDIR will follow, release it now.
    public consuming func succeed(_ folder: OpenedFolder) -> Bool {
        var info = fuse_file_info()
        info.fh = folder.handle.rawValue
        info.cache_readdir = folder.cached ? 1 : 0
        info.keep_cache = folder.cached && folder.keepsListing ? 1 : 0
        return fuse_reply_open(take(), &info) == 0
    }
}

extension Reply where Answer == Entry {
    /// False if the caller was interrupted: the entry's lookup did not happen.
    public consuming func succeed(_ entry: Entry) -> Bool {
        var parameters = fuse_entry_param(entry)
        return fuse_reply_entry(take(), &parameters) == 0
    }
}

/// The answer to CREATE.
public struct CreatedFile: Sendable {
    public var entry: Entry
    public var file: OpenedFile
    public init(entry: Entry, file: OpenedFile) {
        self.entry = entry
        self.file = file
    }
}

extension Reply where Answer == CreatedFile {
    /// False as for OPEN; the entry's lookup did not happen either.
    public consuming func succeed(_ created: CreatedFile) -> Bool {
        var entry = fuse_entry_param(created.entry)
        if let backing = created.file.mode.backing {
            let file = created.file
            return quire_reply_create_passthrough(take(), &entry, file.handle.rawValue, backing.rawValue, file.passthroughFlags) == 0
        }
        var info = fuse_file_info(created.file)
        return fuse_reply_create(take(), &entry, &info) == 0
    }
}

extension fuse_entry_param {
    init(_ entry: Entry) {
        self.init()
        ino = entry.node.rawValue
        generation = entry.generation
        attr = entry.attributes.status
        attr_timeout = entry.attributes.validity.seconds
        entry_timeout = entry.validity.seconds
    }
}

extension OpenedFile {
    /// Of a mode with a backing. FOPEN_DIRECT_IO has precedence (fs/fuse/file.c, fuse_file_read_iter).
    fileprivate var passthroughFlags: UInt32 {
        var flags: UInt32 = isFlushed ? 0 : UInt32(QUIRE_FOPEN_NOFLUSH)
        if case .direct = mode { flags |= UInt32(QUIRE_FOPEN_DIRECT_IO) }
        return flags
    }
}

extension fuse_file_info {
    init(_ file: OpenedFile) {
        self.init()
        fh = file.handle.rawValue
        if file.handle == .nothing, !file.dropsContent { keep_cache = 1 }
        noflush = file.isFlushed ? 0 : 1
        switch file.mode {
        case .cached(let keeps): keep_cache = keeps ? 1 : 0
        case .direct: direct_io = 1
        case .passthrough: preconditionFailure("libfuse 3.14 has no field for a backing id: reply by quire_reply_*_passthrough")
        }
    }
}
