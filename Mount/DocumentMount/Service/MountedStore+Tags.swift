import DocumentIndex
public import MountProtocol
import StorePrimitives
import SystemPackage

/// Tags, for the user who asks.
extension MountedStore {
    public func renameTag(_ old: String, to new: String, merges: Bool, for peer: Peer) throws(ServiceFailure) {
        guard let tag = Tag(old), let newTag = Tag(new) else { throw .invalidParameter("new") }
        do throws(Errno) {
            try tagFolders.renameTag(tag, to: newTag, merges: merges, Credentials(peer))
        } catch .noSuchFileOrDirectory {
            throw .notFound("tag \(old)")
        } catch .directoryNotEmpty {
            throw .failed("the tag \(new) exists; quire tag merge makes one of both")
        } catch .invalidArgument {
            throw .invalidParameter("new")
        } catch .permissionDenied {
            throw .permissionDenied("not every document tagged \(old) is yours to change; none was")
        } catch {
            throw .failed("renaming \(old) failed: \(error)")
        }
    }

    public func changeTags(
        of paths: [DocumentPath], adding added: [String], removing removed: [String], for peer: Peer
    ) throws(ServiceFailure) -> [PathFailure] {
        let (adding, removing) = (added.compactMap { Tag($0) }, removed.compactMap { Tag($0) })
        guard adding.count == added.count else { throw .invalidParameter("add") }
        guard removing.count == removed.count else { throw .invalidParameter("remove") }
        var (free, failures): ([StorePath], [PathFailure]) = ([], [])
        for path in paths {
            let inside = try document(path)
            // Whether the peer works for the claim is known of requests alone.
            if fileSystem.coordinator.isClaimed(inside) { failures.append(PathFailure(path: path, message: "is claimed", claimed: true)) } else { free.append(inside) }
        }
        return failures + tagFolders.change(free, adding: adding, removing: removing, Credentials(peer)).map { path, error in
            let message =
                switch error {
                case .notPermitted: "is a folder; tags are for documents"
                case .notSupported: "this file system keeps no tags"
                default: "\(error)"
                }
            return PathFailure(path: place(path), message: message)
        }
    }

    public func undoTagRemoval(for peer: Peer) throws(ServiceFailure) -> Int {
        let restored: Int?
        do throws(Errno) {
            restored = try tagFolders.undoRemoval(Credentials(peer))
        } catch {
            throw .failed("bringing the tags back failed: \(error)")
        }
        guard let restored else { throw .notFound("removal of tags to undo") }
        return restored
    }

    public func tags(for peer: Peer) throws(ServiceFailure) -> [TagCount] {
        tagFolders.counts(for: Credentials(peer)).map { TagCount(name: $0.name, count: $0.count) }
    }
}
