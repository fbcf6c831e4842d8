import CLinux
import DocumentIndex
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// The tags of documents: in each file's `user.xdg.tags` attribute, which desktops share (freedesktop.org, common extended
/// attributes), or, on a store without extended attributes, in the index alone.
final class TagStore: Sendable {
    static let attributeName = "user.xdg.tags"

    let indexer: Indexer
    let access: AccessChecker
    private var reader: StoreReader { indexer.reader }

    init(indexer: Indexer, access: AccessChecker) {
        self.indexer = indexer
        self.access = access
    }

    var liveInIndex: Bool { !reader.hasAttributes }

    /// Changes a document's tags by `change`, which gets them in their order. The caller must be allowed to write the
    /// document. Throws .notPermitted for what is no document, .notSupported for one that the index
    /// leaves out (`SharedStore`), .permissionDenied, or setxattr(2)'s errno.
    func change(_ path: StorePath, _ caller: Credentials, _ change: ([Tag]) -> [Tag]) throws(Errno) {
        if let failure = self.change([path], caller, change).first { throw failure.error }
    }

    /// As above, of many documents. Returns those for which that failed.
    func change(_ paths: [StorePath], _ caller: Credentials, _ change: ([Tag]) -> [Tag]) -> [(path: StorePath, error: Errno)] {
        var failures: [(path: StorePath, error: Errno)] = []
        var rest = paths[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.mostHeld)
            rest = rest.dropFirst(part.count)
            // The file that the caller may write is the one that is changed: another may have the path a moment later.
            for (path, file) in zip(part, access.held(part, by: caller, W_OK)) {
                do throws(Errno) {
                    switch file {
                    case .success(let file): try self.change(file, at: path, caller, change)
                    case .failure(.permissionDenied): throw refusal(of: path, caller)
                    case .failure(let error): throw error
                    }
                } catch {
                    failures.append((path, error))
                }
            }
        }
        return failures
    }

    /// Descriptors at once.
    private static let mostHeld = 64

    private func refusal(of path: StorePath, _ caller: Credentials) -> Errno {
        do throws(Errno) { _ = try reader.store.held(path) } catch .improperLink { return .notSupported } catch {}
        return access.may(caller, path, F_OK) ? .permissionDenied : .noSuchFileOrDirectory
    }

    private func change(_ file: Descriptor, at path: StorePath, _ caller: Credentials, _ change: ([Tag]) -> [Tag]) throws(Errno) {
        let status = try FileStatus(of: file)
        guard status.isRegular else { throw .notPermitted }
        if liveInIndex {
            let identity = try known(file, at: path)
            let old = indexed(identity, path)
            let new = change(old)
            guard new != old else { return }
            try setIndexed(new, identity, path)
            return tell(path, caller)
        }
        let raw = try value(of: file)
        let old = Tag.parse(raw)
        let new = change(old)
        guard new != old else { return }
        try setValue(Tag.format(new, keeping: raw), of: file)
        // Looked at as a whole, before anybody asks the index: the document may be one that it has missed.
        indexer.noteChange(of: path)
        tell(path, caller)
    }

    private func tell(_ path: StorePath, _ caller: Credentials) {
        indexer.events.tell(.attributesChanged, path, by: .user(caller.uid))
    }

    func add(_ tags: [Tag], to path: StorePath, _ caller: Credentials) throws(Errno) {
        try change(path, caller) { $0 + tags.filter { [old = $0] in !old.contains($0) } }
    }

    /// Takes tags from a document, and notes it for the undo.
    func remove(_ tags: [Tag], from document: Document, _ caller: Credentials) throws(Errno) {
        try change(document.path, caller) { $0.filter { !tags.contains($0) } }
        noteRemoval(tags.map { (document.id, $0) }, removedTags: [], caller)
    }

    func noteRemoval(_ removals: [(document: DocumentID, tag: Tag)], removedTags: [Tag], _ caller: Credentials) {
        // Best effort: the removal itself was done.
        try? indexer.index.recordTagRemovals(
            removals, removedTags: removedTags, by: UserID(caller.uid), at: Timestamp(nanoseconds: Clock.now))
    }

    // MARK: On a store without attributes

    /// The attribute's value of a file that was at the path a moment ago. Throws .noData where there are no tags.
    func indexedValue(of file: Descriptor, at path: StorePath) throws(Errno) -> [UInt8] {
        let tags = indexed(try known(file, at: path), path)
        guard !tags.isEmpty else { throw .noData }
        return Tag.format(tags)
    }

    /// Throws .noData where there is nothing to remove, .noSpace for more tags than the index keeps of one document.
    func setIndexedValue(_ value: [UInt8]?, of file: Descriptor, at path: StorePath) throws(Errno) {
        let identity = try known(file, at: path)
        if value == nil, indexed(identity, path).isEmpty { throw .noData }
        try setIndexed(value.map { Tag.parse($0) } ?? [], identity, path)
    }

    private func setIndexed(_ tags: [Tag], _ identity: DocumentIdentity, _ path: StorePath) throws(Errno) {
        guard tags.count <= Tag.mostOfDocument else { throw .noSpace }
        indexer.apply([.tagsOfFile(identity, at: path, tags)])
    }

    /// Tags are those of the file and not of what has the path a moment later: others may swap names in between.
    private func known(_ file: Descriptor, at path: StorePath) throws(Errno) -> DocumentIdentity {
        let identity = try reader.identity(of: file)
        indexer.catchUp()
        // One that the index has missed.
        if (try? indexer.index.document(of: identity, at: path)) == nil, case .document(let facts) = reader.status(at: path),
            facts.identity.isSameFile(as: identity) {
            indexer.apply([.present(facts)])
        }
        return identity
    }

    private func indexed(_ identity: DocumentIdentity, _ path: StorePath) -> [Tag] {
        (try? indexer.index.document(of: identity, at: path))?.tags ?? []
    }

    // MARK: The attribute

    private func value(of file: Descriptor) throws(Errno) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        do throws(Errno) {
            let length = try withProcPath(of: file) { (path) throws(Errno) in
                try check(cl_getxattr(path, Self.attributeName, &buffer, buffer.count))
            }
            return Array(buffer.prefix(length))
        } catch .noData {
            return []
        }
    }

    private func setValue(_ value: [UInt8], of file: Descriptor) throws(Errno) {
        try withProcPath(of: file) { (path) throws(Errno) in
            if value.isEmpty {
                do throws(Errno) { _ = try check(cl_removexattr(path, Self.attributeName)) } catch .noData {}
            } else {
                _ = try check(cl_setxattr(path, Self.attributeName, value, value.count, 0))
            }
        }
    }
}
