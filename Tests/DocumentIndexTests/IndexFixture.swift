import DocumentIndex
import struct DocumentIndex.Tag
import Foundation
import StorePrimitives
import TestSupport
import Testing

/// A state folder that goes away with the test, and short ways to say what happened in the store.
final class StateFolder {
    private let folder: TemporaryFolder
    var path: String { folder.path }

    init() throws { folder = try TemporaryFolder() }

    var file: String { path + "/" + DocumentIndex.fileName }

    /// The names in the folder that begin with the text.
    func names(beginning text: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasPrefix(text) }.sorted()
    }
}

func path(_ text: String) -> StorePath { StorePath(text)! }

func tag(_ text: String) -> Tag { Tag(text)! }

func facts(
    _ text: String, inode: UInt64, birth: Int64 = 1, handle: [UInt8] = [], links: UInt64 = 1, size: Int64 = 10,
    modified: Int64 = 100, tags: [String]? = nil
) -> ScannedDocument {
    ScannedDocument(
        path: path(text), identity: DocumentIdentity(inode: inode, birth: birth, handle: handle), linkCount: links,
        size: size,
        modified: Timestamp(seconds: modified), tags: tags?.map(tag))
}

let anna = UserID(1000)
let ben = UserID(1001)

func at(_ seconds: Int64) -> Timestamp { Timestamp(seconds: seconds) }

extension DocumentIndex {
    func id(_ text: String) throws -> DocumentID? { try document(at: path(text))?.id }

    func tagNames(_ text: String) throws -> [String]? { try document(at: path(text))?.tags.map(\.text) }

    func tagged(_ names: String..., limit: Int = .max) throws -> [String] {
        try documents(tagged: names.map(tag), limit: limit).map(\.path.description)
    }

    func recentPaths(of user: UserID = anna, limit: Int = 100) throws -> [String] {
        try recents(of: user, limit: limit).map(\.path.description)
    }

    /// Runs a whole pass that sees exactly these documents.
    @discardableResult
    func scanAll(_ seen: [ScannedDocument], in folder: StorePath = .root) throws -> ScanResult {
        let pass = try beginScan(in: folder)
        try apply(seen.map { .present($0) }, during: pass, asOf: moment())
        return try finishScan(pass)
    }
}
