import FuseServer
import Glibc
public import MountProtocol
import StorePrimitives
import SystemPackage

/// Grants, for the user who asks.
extension MountedStore {
    public func grant(_ path: DocumentPath, readOnly: Bool, seconds: Double?, for peer: Peer) throws(ServiceFailure) -> GrantedScope {
        let caller = Credentials(peer)
        guard configuration.options.virtualFolders != .off else { throw .failed("the mount has no virtual folders (mount option virtual)") }
        if let seconds, !(seconds > 0) { throw .invalidParameter("seconds") }
        let inside = try inside(path)
        guard favorites.targets.item(at: inside, caller) != nil, let readable = fileSystem.tags.access.held(inside, by: caller, R_OK) else {
            throw .notFound("\(path.wire) among the documents and folders that you may read")
        }
        do throws(Errno) {
            let held = try fileSystem.held(inside)
            // The one that the user may read, and not another that has the path a moment later.
            guard held.last?.node.identity == FileIdentity(of: readable) else { throw .staleNFSFileHandle }
            let grant = try grants.make(of: held, in: fileSystem.table, by: caller, isReadOnly: readOnly, seconds: seconds)
            if !isReadOnly { grantAnnouncer.begin() }
            return shown(grant)
        } catch .diskQuotaExceeded {
            throw .failed("you have made as many grants as you may; `quire status` has the bounds (grants)")
        } catch {
            throw .failed("\(path.wire): \(error)")
        }
    }

    public func revokeGrants(token: String?, path: DocumentPath?, for peer: Peer) throws(ServiceFailure) -> Int {
        let revoked = own(peer).filter { grant in
            if let token { return grant.token.bytes.elementsEqual(token.utf8) }
            guard let path else { return true }
            let scope = shown(grant)
            return path == scope.path || path == scope.place || path.bytes.elementsEqual(folder(of: grant).bytes)
        }
        for grant in revoked { grants.revoke(grant) }
        // Mapped contents go, too.
        let over = Set(revoked.map(\.number))
        for node in over.isEmpty ? [] : fileSystem.table.all {
            if let item = node.item as? ScopedItem, over.contains(item.grant.number) { session.notifier.contentsChanged(of: node.id) }
        }
        return revoked.count
    }

    public func grants(for peer: Peer) throws(ServiceFailure) -> [GrantedScope] { own(peer).map(shown) }

    private func own(_ peer: Peer) -> [Grant] { grants.all.filter { peer.uid == 0 || $0.owner.uid == peer.uid } }

    private func folder(of grant: Grant) -> DocumentPath {
        DocumentPath(configuration.mountPoint + [UInt8(ascii: "/")] + ScopesFolder.name.bytes + [UInt8(ascii: "/")] + grant.token.bytes)
    }

    private func shown(_ grant: Grant) -> GrantedScope {
        let link = grant.link
        return GrantedScope(
            token: "\(grant.token)", place: DocumentPath(folder(of: grant).bytes + [UInt8(ascii: "/")] + link.name.bytes),
            path: place((link.parent.path ?? .root).appending(link.name)), readOnly: grant.isReadOnly,
            seconds: grant.expiry.map { Double($0.adding(clamping: -Grant.now)) / 1e9 })
    }
}

extension MountedFileSystem {
    /// The folders on the way to a path, and the file that stands there, held. Throws ENOENT if nothing stands there.
    func held(_ path: StorePath) throws(Errno) -> [HeldNode] {
        var held: [HeldNode] = []
        for name in path.names {
            let folder = held.last?.node ?? table.root
            let entry = try name.withCString { (name) throws(Errno) in
                if isHidden(name) { throw .noSuchFileOrDirectory }
                return try lookUp(name, in: folder, try locator.folder(folder))
            }
            guard entry.node != .none else { throw .noSuchFileOrDirectory }
            held.append(HeldNode(table.node(entry.node), in: table))
        }
        return held
    }
}
