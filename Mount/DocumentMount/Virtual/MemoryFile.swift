import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// A small file that is always the same.
final class MemoryFile: VirtualItem {
    let key: [UInt8]
    private let bytes: [UInt8]
    private let modified: timespec

    init(place: [UInt8], content: String, modified: timespec) {
        key = place
        bytes = Array(content.utf8)
        self.modified = modified
    }

    var type: mode_t { S_IFREG }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        attributes(inode: inode, mode: 0o444, size: bytes.count, modified: modified)
    }

    func content() throws(Errno) -> Descriptor { try Self.file(bytes) }

    static func file(_ bytes: [UInt8]) throws(Errno) -> Descriptor {
        let file = Descriptor(owning: try check(cl_memory_file("quire")))
        guard bytes.withUnsafeBytes({ pwrite(file.number, $0.baseAddress, $0.count, 0) }) == bytes.count else { throw .ioError }
        return file
    }
}
