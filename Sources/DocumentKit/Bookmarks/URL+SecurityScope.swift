public import Foundation
import Glibc
import Synchronization

/// Access by bookmarks, as app code from Apple's systems asks for it.
///
/// There a sandbox keeps files from an app until the app asks for them. On Linux a sandbox has what was bound into it when it was made
/// (`quire grant`), and there is nothing to be asked for: these calls keep count, so that what is begun and never ended is noticed on this
/// system, too.
extension URL {
    /// Begins to use a document; to be ended by ``stopAccessingSecurityScopedResource()``, as often as it was begun. One system call.
    /// - Returns: whether the document is there and the process may read it. If not, nothing has begun.
    public func startAccessingSecurityScopedResource() -> Bool {
        guard isFileURL, withUnsafeFileSystemRepresentation({ $0.map { access($0, R_OK) == 0 } ?? false }) else { return false }
        SecurityScopes.begin(path(percentEncoded: false))
        return true
    }

    /// Ends one use. No error if none had begun.
    public func stopAccessingSecurityScopedResource() { SecurityScopes.end(path(percentEncoded: false)) }
}

/// The uses that have begun and not ended.
package enum SecurityScopes {
    /// An app that has so many has lost count of them.
    package static let most = 1_000

    private struct State {
        var uses: [String: Int] = [:]
        var count = 0
        var hasTold = false
    }
    private static let state = Mutex(State())

    /// How many uses have begun and not ended.
    package static var count: Int { state.withLock { $0.count } }

    static func begin(_ path: String) {
        let isFirstTooMany = state.withLock { state in
            state.count += 1
            // More are counted, and their paths are not kept.
            if state.uses.count < most || state.uses[path] != nil { state.uses[path, default: 0] += 1 }
            guard state.count > most, !state.hasTold else { return false }
            state.hasTold = true
            return true
        }
        guard isFirstTooMany else { return }
        log.warning(
            """
            \(most) uses of documents were begun by startAccessingSecurityScopedResource and not ended, the last one of \(path): each is to be \
            ended by stopAccessingSecurityScopedResource
            """)
    }

    static func end(_ path: String) {
        state.withLock { state in
            guard let uses = state.uses[path] else {
                // One of those of which no path was kept.
                if state.count > state.uses.values.reduce(0, +) { state.count -= 1 }
                return
            }
            state.uses[path] = uses > 1 ? uses - 1 : nil
            state.count -= 1
        }
    }
}
