import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// `.scopes`: a folder for each grant, under names that nobody can guess. It lists none.
final class ScopesFolder: VirtualItem {
    static let name = EntryName(".scopes")
    let grants: Grants
    private let started = timespec(since1970: Clock.now)

    init(_ grants: Grants) { self.grants = grants }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Array(Self.name.bytes) }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat { attributes(inode: inode, mode: 0o555, links: 2, modified: started) }

    func child(_ name: EntryName, _ caller: Credentials) throws(Errno) -> any VirtualItem {
        guard let grant = grants.grant(name), caller.uid == grant.owner.uid || caller.uid == 0 else { throw .noSuchFileOrDirectory }
        return ScopeFolder(grant)
    }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] { [] }
}

/// `.scopes/TOKEN`: the folder that has what was granted, under its name, and nothing else but what programs make beside a document.
final class ScopeFolder: VirtualItem {
    let grant: Grant
    private let started = timespec(since1970: Clock.now)

    init(_ grant: Grant) { self.grant = grant }

    var type: mode_t { S_IFDIR }
    var key: [UInt8] { Array(ScopesFolder.name.bytes) + [UInt8(ascii: "/")] + grant.token.bytes }

    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat {
        let mode: mode_t = grant.target.isRegular && !grant.isReadOnly ? 0o700 : 0o500
        var status = attributes(inode: inode, mode: mode, links: 2, modified: started)
        (status.st_uid, status.st_gid) = (grant.owner.uid, grant.owner.gid)
        return status
    }

    func checkIsCurrent() throws(Errno) { if grant.isOver { throw .staleNFSFileHandle } }

    func children(_ caller: Credentials) throws(Errno) -> [(EntryName, any VirtualItem)] {
        try checkIsCurrent()
        let item = ScopedItem(listedIn: grant)
        return ((grant.files.isMovedAside ? [] : [grant.link.name]) + grant.files.names).map { ($0, item) }
    }
}

/// A file or folder of the store as it is seen by a grant: the kernel has an inode of its own for it. An OPEN names an inode alone,
/// which so tells by which grant it comes; and a folder can stand in one place only.
final class ScopedItem: VirtualItem {
    let grant: Grant
    let target: Node
    /// For an item that the kernel knows.
    private let held: HeldNode?

    init(_ grant: Grant, _ held: HeldNode) { (self.grant, target, self.held) = (grant, held.node, held) }

    /// For a listing.
    init(listedIn grant: Grant) { (self.grant, target, held) = (grant, grant.target, nil) }

    var type: mode_t { target.type }
    var key: [UInt8] { Array("\(grant.number)/\(target.generation)".utf8) }

    /// `ScopedTree` answers all requests for it.
    func attributes(_ caller: Credentials, inode: UInt64) throws(Errno) -> stat { throw .staleNFSFileHandle }

    /// Of the kernel's node.
    var nodeIdentity: FileIdentity { Self.identity(of: target, by: grant) }

    /// On a device that no file has.
    static func identity(of target: Node, by grant: Grant) -> FileIdentity {
        FileIdentity(device: .max, inode: target.generation | 1 << 61, birth: Int64(grant.number) + 1)
    }
}
