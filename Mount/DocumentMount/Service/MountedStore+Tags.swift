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
        var (free, failures): ([(asked: DocumentPath, inside: StorePath)], [PathFailure]) = ([], [])
        for path in paths {
            guard let inside = try? document(path) else {
                failures.append(PathFailure(path: path, message: "is no document of this mount"))
                continue
            }
            // Whether the peer works for the claim is known of requests alone.
            if fileSystem.coordinator.isClaimed(inside) {
                failures.append(PathFailure(path: path, message: "is claimed", claimed: true))
            } else {
                free.append((path, inside))
            }
        }
        let failed = tagFolders.change(free.map(\.inside), adding: adding, removing: removing, Credentials(peer))
        // A part of a package stands for all of it.
        let asked = failed.isEmpty ? [:] : Dictionary(grouping: free, by: \.inside)
        for (path, error) in failed {
            let message =
                switch error {
                case .notPermitted: "is a folder or a special file; tags are for documents"
                case .notSupported: "this file system keeps no tags"
                default: "\(error)"
                }
            for (asked, _) in asked[path] ?? [] { failures.append(PathFailure(path: asked, message: message)) }
        }
        return failures
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
