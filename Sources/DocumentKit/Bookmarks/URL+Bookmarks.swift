public import Foundation
import MountClient
import MountProtocol

/// Bookmarks of documents: what an app keeps in place of a path, as on Apple's systems. A bookmark finds its document wherever that has been
/// moved, also while the store was not mounted.
extension URL {
    /// A bookmark of a document in a Quire mount. Signed by its store; it holds the path in plain bytes, and gives nobody any right. Calls the
    /// mount's daemon, and waits.
    /// - Throws: `failed` for what is no document in a mount that the user may read, `disconnected` without a daemon.
    public func bookmarkData() throws(FileCoordinationError) -> Data {
        let path = try AbsolutePath(self, resolvesLink: true)
        guard let mount = QuireMount.holding(path) else { throw .failed("\(path): is in no Quire mount") }
        let connection = try mount.connect()
        do throws(ServiceCallError) { return Data(try connection.call(BookmarkInterface.create, .init(path.wire)).bookmark.utf8) } catch {
            throw FileCoordinationError(error, in: mount)
        }
    }

    /// Where the document of a bookmark is now. Calls the daemons of the mounts there are, until one knows the bookmark, and waits.
    /// - Parameters:
    ///   - data: what ``bookmarkData()`` has returned.
    ///   - isStale: set if the document itself is gone, and the URL is that of one with the same content and time, or else the same path: make a
    ///     new bookmark.
    /// - Throws: `failed` if the document is gone, or the bookmark is none of a store that is mounted.
    public init(resolvingBookmarkData data: Data, bookmarkDataIsStale isStale: inout Bool) throws(FileCoordinationError) {
        let token = BookmarkInterface.Token(String(decoding: data, as: UTF8.self))
        var failure = FileCoordinationError.failed("this is no bookmark of a store that is mounted")
        for mount in QuireMount.all {
            let resolved: ResolvedBookmark
            do throws(FileCoordinationError) {
                let connection = try mount.connect()
                do throws(ServiceCallError) { resolved = try connection.call(BookmarkInterface.resolve, token) } catch {
                    throw FileCoordinationError(error, in: mount)
                }
            } catch {
                // Another user's mount, or one that is away: the bookmark may be another one's.
                if case .disconnected = error { failure = error }
                continue
            }
            if resolved.state == .forged { continue }
            guard let path = resolved.path else { throw .failed("the document of the bookmark is gone, or may not be read") }
            isStale = resolved.state == .stale
            self = AbsolutePath(path).url
            return
        }
        throw failure
    }
}
