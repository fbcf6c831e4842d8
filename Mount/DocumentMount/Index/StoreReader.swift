import CLinux
import DocumentIndex
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage

/// Looks at documents of the store by path.
struct StoreReader: Sendable {
    let store: SharedStore
    /// Whether tags are kept in the files' attributes; else the index alone has them.
    let hasAttributes: Bool
    let packages: Packages

    enum StatResult {
        case document(ScannedDocument)
        /// Something that is no document of the index.
        case other
        case nothing
    }

    func status(at path: StorePath) -> StatResult {
        guard let name = path.lastName else { return .other }
        do throws(Errno) {
            guard let facts = try facts(of: name, at: path) else { return .other }
            return .document(ScannedDocument(facts, hasAttributes: hasAttributes))
        } catch {
            return error == .improperLink ? .other : .nothing
        }
    }

    /// A package with the size and time of all in it; nil if none is there that can be read. O(files in it).
    func measured(_ path: StorePath, goesOn: () -> Bool) -> ScannedDocument? {
        guard let name = path.lastName, let facts = try? facts(of: name, at: path), facts.isPackage else { return nil }
        return facts.measured(in: store, countsAll: packages.countsAll, goesOn: goesOn).map { ScannedDocument($0, hasAttributes: hasAttributes) }
    }

    /// Nil for what is no document.
    private func facts(of name: EntryName, at path: StorePath) throws(Errno) -> FileFacts? {
        let folder = try store.open(path.parent, flags: CL_O_PATH | O_DIRECTORY)
        return try FileFacts.read(in: folder, name: name, path: path, isPackage: packages.isPackage(name))
    }

    /// Whether a package stands at a path.
    func isPackage(_ path: StorePath) -> Bool {
        guard packages.isPackage(path), let held = try? store.held(path) else { return false }
        return (try? FileStatus(of: held))?.isFolder == true
    }

    /// Which file it is, as the index knows it. An O_PATH descriptor will do.
    func identity(of file: Descriptor) throws(Errno) -> DocumentIdentity {
        let status = try FileStatus(of: file)
        var handle = [UInt8](repeating: 0, count: Int(CL_HANDLE_MAX))
        var length = 0
        var mountID: Int32 = 0
        if cl_name_to_handle(file.number, "", CL_AT_EMPTY_PATH, &handle, &length, &mountID) < 0 { length = 0 }
        return DocumentIdentity(FileIdentity(status), handle: Array(handle[..<length]))
    }
}

extension ScannedDocument {
    init(_ facts: FileFacts, hasAttributes: Bool) {
        self.init(
            path: facts.path, identity: DocumentIdentity(facts.identity, handle: facts.handle), linkCount: facts.linkCount,
            owner: UserID(facts.owner), size: facts.size, modified: Timestamp(nanoseconds: facts.modified), isPackage: facts.isPackage, isMeasured: facts.isMeasured,
            tags: hasAttributes ? facts.tagsValue.map { Tag.parse($0) } ?? [] : nil)
    }
}
