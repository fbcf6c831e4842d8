internal import CFuse
internal import Glibc
internal import StorePrimitives

/// The bytes of a request that was put aside, unread by libfuse. Owns them, as malloc(3) gave them.
package final class RequestBytes: @unchecked Sendable {
    let start: UnsafeMutableRawPointer
    let count: Int
    /// Bytes from which on the buffer is taken over, not copied.
    private static let large = 64 << 10

    package init(copying bytes: UnsafeRawBufferPointer) {
        count = bytes.count
        start = malloc(max(count, 1))
        UnsafeMutableRawBufferPointer(start: start, count: count).copyMemory(from: bytes)
    }

    private init(owning start: UnsafeMutableRawPointer, count: Int) { (self.start, self.count) = (start, count) }

    deinit { free(start) }

    /// Takes a large request's buffer: libfuse makes a new one then.
    static func taking(_ request: inout fuse_buf) -> RequestBytes {
        guard let start = request.mem, request.size >= large else {
            return RequestBytes(copying: UnsafeRawBufferPointer(start: request.mem, count: request.size))
        }
        defer { request.mem = nil }
        return RequestBytes(owning: start, count: request.size)
    }

    var buffer: fuse_buf {
        var buffer = fuse_buf()
        buffer.mem = start
        buffer.size = count
        return buffer
    }
}

extension RequestShares {
    static let interrupt: UInt32 = 36
    private static let lookup: UInt32 = 1
    /// Without a node, or the last that the kernel says of it.
    private static let nodeless: Set<UInt32> = [26, 36, 38, 41]
    private static let forget: Set<UInt32> = [2, 42]
    private static let write: UInt32 = 16
    private static let release: UInt32 = 18
    private static let releaseFolder: UInt32 = 29

    /// The user, item and file system that a request which was just read is about; nil if it has no header.
    static func holding(
        of request: fuse_buf, countsUsers: Bool, _ accounts: Accounts, _ fileSystem: any FileSystemOperations
    ) -> (Header, HeldShares)? {
        guard let start = request.mem, request.size >= MemoryLayout<quire_in_header>.size else { return nil }
        // Safe: the kernel writes whole requests, each headed by this struct, into an aligned buffer.
        let found = start.assumingMemoryBound(to: quire_in_header.self).pointee
        let header = Header(
            unique: found.unique, opcode: found.opcode, thread: pid_t(bitPattern: found.pid), user: found.uid, size: request.size)
        guard !nodeless.contains(header.opcode), found.nodeid != 0 || forget.contains(header.opcode) else { return (header, HeldShares()) }
        guard !forget.contains(header.opcode) else { return (header, HeldShares(user: HeldShares.lettingGo)) }
        let share = fileSystem.share(of: NodeID(found.nodeid))
        // Their files' last descriptors may free much, and saves end by them: none of the users who opened them has all threads for it.
        if header.opcode == release {
            let opener = file(of: request).flatMap { fileSystem.opener(of: $0) }.map { accounts.owner(of: $0) }
            return (header, HeldShares(user: HeldShares.lettingGo, item: opener.map(HeldShares.item(of:)) ?? 0, device: share.device))
        }
        guard header.opcode != releaseFolder else {
            return (header, HeldShares(user: HeldShares.lettingGo, device: share.device))
        }
        // What hangs in a folder with one name, as where a file system is mounted, is not to hold up those for others.
        var item = share.item
        if header.opcode == lookup {
            let name = UnsafeRawBufferPointer(start: start, count: request.size).dropFirst(MemoryLayout<quire_in_header>.size)
            for byte in name { item = (item ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        // What the kernel writes out by itself, as of a mapping, counts for who opened the file.
        let isKernels = found.uid == 0 && found.pid == 0
        let uid = !isKernels ? found.uid : header.opcode == write ? file(of: request).flatMap { fileSystem.opener(of: $0) } : nil
        let user = countsUsers ? uid.map { UInt64(accounts.owner(of: $0)) &+ 1 } ?? 0 : 0
        return (header, HeldShares(user: user, item: item, device: share.device))
    }

    /// The open file of a READ, WRITE or RELEASE, as each begins with it. Nil for none.
    private static func file(of request: fuse_buf) -> HandleID? {
        let header = MemoryLayout<quire_in_header>.size
        guard let start = request.mem, request.size >= header + MemoryLayout<UInt64>.size else { return nil }
        let file = HandleID((start + header).loadUnaligned(as: UInt64.self))
        return file == .nothing ? nil : file
    }

    /// The file of a WRITE; nil for other requests.
    static func written(by request: fuse_buf) -> HandleID? {
        guard let start = request.mem, request.size >= MemoryLayout<quire_in_header>.size,
            start.assumingMemoryBound(to: quire_in_header.self).pointee.opcode == write
        else { return nil }
        return file(of: request)
    }
}
