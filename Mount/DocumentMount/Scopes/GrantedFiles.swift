import StorePrimitives
import SystemPackage

/// The files that programs have made beside a granted document, as editors do when they save: they are seen by the grant alone, and stand
/// under hidden names in the document's own folder, so that a rename puts one in the document's place.
final class GrantedFiles: Sendable {
    struct File {
        let folder: Node
        let hidden: EntryName
    }
    private struct State {
        var files: [EntryName: File] = [:]
        /// A program has moved the document aside: it has a copy of it, and finds nothing under the document's name.
        var isMovedAside = false
    }
    /// Leaf.
    private let state = Locked(State())
    /// A program that saves has a few.
    private static let most = 64

    func file(_ name: EntryName) -> File? { state.withLock { $0.files[name] } }

    var names: [EntryName] { state.withLock { Array($0.files.keys) } }

    var isMovedAside: Bool { state.withLock { $0.isMovedAside } }

    func note(isMovedAside: Bool) { state.withLock { $0.isMovedAside = isMovedAside } }

    /// Throws EDQUOT where there are too many.
    func checkRoom() throws(Errno) { if state.withLock({ $0.files.count }) >= Self.most { throw .diskQuotaExceeded } }

    /// - Returns: what had the name.
    @discardableResult
    func set(_ name: EntryName, _ file: File?) -> File? {
        state.withLock { state in
            let before = state.files[name]
            state.files[name] = file
            return before
        }
    }

    func take(_ isMeant: (File) -> Bool = { _ in true }) -> [File] {
        state.withLock { state in
            let taken = state.files.filter { isMeant($0.value) }
            for name in taken.keys { state.files[name] = nil }
            return Array(taken.values)
        }
    }
}
