import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// A relative symbolic link in a virtual folder to a document of the store.
final class VirtualLink: VirtualItem {
    let document: StorePath
    /// The link's own place: `.tags/work`, say. Two links to one document are two items.
    private let place: [UInt8]
    private let depth: Int
    private let modified: timespec

    var type: mode_t { S_IFLNK }
    /// One with other attributes has another key.
    var attributesValidity: CacheTime { .untilNotified }
    /// With the time, so that a link used again is a new one to the kernel.
    var key: [UInt8] { place + [0] + document.bytes + [0] + Array("\(saturatedNanoseconds(modified))".utf8) }

    /// - Parameter depth: how many folders below the root the link is.
    init(to document: StorePath, place: [UInt8], depth: Int, modified: timespec) {
        self.document = document
        self.place = place
        self.depth = depth
        self.modified = modified
    }

    static func target(of document: StorePath, fromDepth depth: Int) -> [UInt8] {
        Array(repeatElement("../".utf8, count: depth).joined()) + document.bytes
    }

    func linkTarget() throws(Errno) -> [UInt8] { Self.target(of: document, fromDepth: depth) + [0] }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        attributes(
            inode: inode, mode: 0o777, size: Self.target(of: document, fromDepth: depth).count,
            modified: modified)
    }
}
