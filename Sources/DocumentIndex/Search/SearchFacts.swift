internal import Foundation
internal import GRDB
internal import QueryLanguage
internal import StorePrimitives

/// The rows of the index that a query needs beside the segments, read at once: the evaluation holds no connection, which others wait for.
struct SearchFacts {
    /// The documents that have each of the query's tags, or one in it, in the order of their ids.
    private(set) var tagged: [String: [Int64]] = [:]
    /// Those that have any tag, if the query asks for them.
    private(set) var anyTagged: [Int64] = []
    /// The documents that the user who searches has marked, if the query asks for them.
    private(set) var favorites: [Int64] = []
    /// The documents that each of the query's users wrote last.
    private(set) var written: [String: [Int64]] = [:]
    /// The ids of each of the query's folders and of all below it.
    private(set) var folders: [String: Set<Int64>] = [:]
    /// The paths of folders, if the query asks for paths.
    private(set) var paths = FolderPaths()
    /// Where each of the query's words is in texts.
    private(set) var texts: [WordPattern: [TextHit]] = [:]

    init(of query: Query, _ users: SearchUsers, _ db: Database) throws {
        for term in query.expression.terms {
            switch term {
            case .tag(let name) where tagged[name] == nil: tagged[name] = try Self.documents(tagged: name, db)
            case .anyTag where anyTagged.isEmpty:
                anyTagged = try db.integers("SELECT DISTINCT document FROM document_tag ORDER BY document")
            case .favorite where favorites.isEmpty:
                if let user = users.asker {
                    favorites = try db.integers("SELECT document FROM favorite WHERE uid = ? AND document IS NOT NULL", [Int64(user.rawValue)])
                }
            case .writer(let name) where written[name] == nil:
                if let user = users.named[name] {
                    written[name] = try db.integers("SELECT id FROM document WHERE writer = ?", [Int64(user.rawValue)])
                }
            case .folder(let path) where folders[path] == nil: folders[path] = try Set(Self.folders(inside: path, db))
            case .path where paths.isEmpty: paths = try FolderPaths(db)
            default: break
            }
        }
    }

    mutating func add(_ hits: [TextHit], of words: WordPattern) { texts[words] = hits }

    private static func documents(tagged name: String, _ db: Database) throws -> [Int64] {
        guard let tag = Tag(name) else { return [] }
        let range = tag.nestedRange
        return try db.integers(
            "SELECT document FROM document_tag WHERE tag IN (SELECT id FROM tag WHERE name = ? OR (name >= ? AND name < ?)) ORDER BY document",
            [tag.blob, range.lower, range.upper])
    }

    private static func folders(inside path: String, _ db: Database) throws -> [Int64] {
        guard let path = StorePath(path), let id = try FolderTable(db: db).id(of: path) else { return [] }
        return try db.integers(FolderTable.inside + "SELECT id FROM inside", [id])
    }
}

/// The folded paths of folders, with a slash at the end; made when they are asked for.
struct FolderPaths {
    private var places: [Int64: (parent: Int64, name: [UInt8])] = [:]
    private var made: [Int64: [UInt8]] = [FolderTable.root: []]

    var isEmpty: Bool { places.isEmpty }

    init() {}

    /// O(folders): some 100 ms for 100,000.
    init(_ db: Database) throws {
        let rows = try Row.fetchCursor(db, sql: "SELECT id, parent, name FROM folder")
        while let row = try rows.next() {
            places[try row.value(0)] = (try row.value(1), Folding.fold(try row.bytes(2) ?? []) + [UInt8(ascii: "/")])
        }
    }

    /// Empty for the root, and for a folder that hangs nowhere.
    mutating func path(of folder: Int64) -> [UInt8] {
        if let path = made[folder] { return path }
        var (names, at): ([[UInt8]], Int64) = ([], folder)
        // No path has more names than half its bytes.
        while made[at] == nil, names.count < StorePath.longest, let place = places[at] {
            names.append(place.name)
            at = place.parent
        }
        let path = (made[at] ?? []) + names.reversed().joined()
        made[folder] = path
        return path
    }
}
