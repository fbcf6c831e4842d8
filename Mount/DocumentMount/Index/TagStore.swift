import CLinux
import DocumentIndex
import DocumentStore
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
    var packages: Packages { reader.packages }

    init(indexer: Indexer, access: AccessChecker) {
        self.indexer = indexer
        self.access = access
    }

    /// Whether what stands at a path is a document: a regular file, or a package.
    private func isDocument(_ status: cl_status, at path: StorePath) -> Bool {
        status.isRegular || status.isFolder && packages.isPackage(path)
    }

    var liveInIndex: Bool { !reader.hasAttributes }

    /// Changes a document's tags by `change`, which gets them in their order. The caller must be allowed to write the
    /// document. Throws .notPermitted for what is no document, .notSupported for one that the index
    /// leaves out (`SharedStore`), .permissionDenied, or setxattr(2)'s errno.
    func change(_ path: StorePath, _ caller: Credentials, _ change: @escaping @Sendable ([Tag]) -> [Tag]) throws(Errno) {
        if let failure = self.change([path], caller, change).first { throw failure.error }
    }

    typealias Failure = (path: StorePath, error: Errno)

    /// As above, of many documents. Returns those for which that failed. From thousands on a thread more takes half of them.
    /// - Parameter isIndexed: the index has the new tags already.
    func change(
        _ paths: [StorePath], _ caller: Credentials, isIndexed: Bool = false, _ change: @escaping @Sendable ([Tag]) -> [Tag]
    ) -> [Failure] {
        // A package has the tags, and its parts have none.
        paths.map(packages.whole).inHalves(on: "quire-tags") { [self] in changeInTurn($0, caller, isIndexed: isIndexed, change) }
    }

    private func changeInTurn(_ documents: ArraySlice<StorePath>, _ caller: Credentials, isIndexed: Bool, _ change: ([Tag]) -> [Tag]) -> [Failure] {
        var failures: [Failure] = []
        var rest = documents
        while !rest.isEmpty {
            let part = rest.prefix(Self.mostHeld)
            rest = rest.dropFirst(part.count)
            // The file that the caller may write is the one that is changed: another may have the path a moment later.
            for (path, file) in zip(part, access.held(part, by: caller, W_OK)) {
                do throws(Errno) {
                    switch file {
                    case .success(let file): try self.change(file, at: path, caller, isIndexed: isIndexed, change)
                    case .failure(.permissionDenied): throw refusal(of: path, caller)
                    case .failure(let error): throw error
                    }
                } catch {
                    // The index is to have what the file has.
                    if isIndexed { indexer.noteChange(of: path) }
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

    private func change(
        _ file: Descriptor, at path: StorePath, _ caller: Credentials, isIndexed: Bool, _ change: ([Tag]) -> [Tag]
    ) throws(Errno) {
        let status = try FileStatus(of: file)
        guard isDocument(status, at: path) else { throw .notPermitted }
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
        if !isIndexed { indexer.noteTags(old + new, of: path) }
        tell(path, caller)
    }

    private func tell(_ path: StorePath, _ caller: Credentials) {
        indexer.events.tell(.attributesChanged, path, by: .user(caller.uid))
    }

    func add(_ tags: [Tag], to path: StorePath, _ caller: Credentials) throws(Errno) {
        if let failure = add(tags, to: [path], caller).first { throw failure.error }
    }

    func add(_ tags: [Tag], to paths: [StorePath], _ caller: Credentials) -> [Failure] {
        change(paths, caller) { $0 + tags.filter { [old = $0] in !old.contains($0) } }
    }

    /// Takes tags from a document that has all of them, and that the caller may read and write. Whether that was done; never where the index
    /// has the tags.
    func take(_ taken: [Tag], from path: StorePath, _ caller: Credentials) -> Bool {
        guard !liveInIndex, let file = access.held(path, by: caller, R_OK | W_OK) else { return false }
        var hasAll = false
        do throws(Errno) {
            try change(file, at: path, caller, isIndexed: false) { tags in
                hasAll = taken.allSatisfy(tags.contains)
                return hasAll ? tags.filter { !taken.contains($0) } : tags
            }
        } catch { return false }
        return hasAll
    }

    /// When the document at a path was modified, if it has all of the tags and the caller may read it; else nil. Asks the file, of which
    /// the index may have yet to be told, or the index where that has the tags.
    func modified(of path: StorePath, tagged wanted: [Tag], _ caller: Credentials) -> Timestamp? {
        if liveInIndex {
            indexer.catchUp()
            guard let document = try? indexer.index.document(at: path), wanted.allSatisfy(document.tags.contains), access.may(caller, path, R_OK)
            else { return nil }
            return document.modified
        }
        guard let file = access.held(path, by: caller, R_OK), let status = try? FileStatus(of: file), isDocument(status, at: path),
            let tags = (try? value(of: file)).map({ Tag.parse($0) }), wanted.allSatisfy(tags.contains)
        else { return nil }
        // The parts of a package are newer.
        if status.isFolder, let known = try? indexer.index.document(at: path) { return known.modified }
        return Timestamp(nanoseconds: saturatedNanoseconds(status.st.st_mtim))
    }

    // MARK: On a store without attributes

    /// The attribute's value of a file that was at the path a moment ago. Throws .noData where there are no tags.
    func indexedValue(of file: Descriptor, at path: StorePath) throws(Errno) -> [UInt8] {
        guard !packages.isPart(path) else { throw .noData }
        let tags = indexed(try known(file, at: path), path)
        guard !tags.isEmpty else { throw .noData }
        return Tag.format(tags)
    }

    /// Throws .noData where there is nothing to remove, .noSpace for more tags than the index keeps of one document.
    func setIndexedValue(_ value: [UInt8]?, of file: Descriptor, at path: StorePath) throws(Errno) {
        guard !packages.isPart(path) else { throw .notSupported }
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
        do throws(Errno) {
            return try withProcPath(of: file) { (path) throws(Errno) in
                do throws(Errno) { return try value(path, atMost: 1_024) } catch .outOfRange { return try value(path, atMost: 65_536) }
            }
        } catch .noData {
            return []
        }
    }

    private func value(_ path: UnsafePointer<CChar>, atMost size: Int) throws(Errno) -> [UInt8] {
        try withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { (buffer) throws(Errno) in
            Array(buffer.prefix(try check(cl_getxattr(path, Self.attributeName, buffer.baseAddress, size))))
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
