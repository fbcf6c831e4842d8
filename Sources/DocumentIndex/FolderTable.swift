internal import Foundation
internal import GRDB
internal import StorePrimitives

/// The folders that hold documents, at any depth: each has its name and its parent, so that a path is kept once, and a folder moves by
/// one row. The root is number 0, and has no row.
///
/// On the connection it was made for, inside the caller's transaction, whose end it may not outlive: it remembers what it has read.
/// A folder in which nothing is left has a row until `dropEmpty`.
final class FolderTable {
    static let root: Int64 = 0

    private let db: Database
    private var ids: [StorePath: Int64] = [:]
    private var paths: [Int64: StorePath] = [:]
    /// The last of these that was asked for: most documents are told of folder by folder.
    private var last: (path: StorePath, id: Int64)?
    /// Folders that something has left.
    private var losers: Set<Int64> = []

    /// Folders remembered.
    private static let capacity = 10_000
    /// Levels that one statement goes down.
    private static let levels = 8

    init(db: Database) { self.db = db }

    /// Nil if no document is known in it.
    func id(of folder: StorePath) throws -> Int64? {
        if let id = remembered(folder) { return id }
        var (id, length, names) = start(for: folder)
        while !names.isEmpty {
            let some = names.prefix(Self.levels)
            guard let next = try db.integer(Self.descents[some.count], [id] + some.map { $0 as Value }) else { return nil }
            names.removeFirst(some.count)
            length = some.reduce(length) { Self.length($0, with: $1) }
            id = next
            remember(id, folder.prefix(length))
        }
        return id
    }

    /// As `id(making:for:)` of the folder that holds the path.
    func id(makingHolderOf path: StorePath, for owner: UInt32) throws -> Int64 {
        if let last, path.isRight(in: last.path) { return last.id }
        let folder = path.parent
        let id = try id(making: folder, for: owner)
        last = (folder, id)
        return id
    }

    /// Makes a folder, and those above it, where there is none.
    private func id(making folder: StorePath, for owner: UInt32) throws -> Int64 {
        if let id = remembered(folder) { return id }
        var (id, length, names) = start(for: folder)
        var mayExist = true
        for name in names {
            if mayExist, let next = try db.integer(Self.descent, [id, name]) {
                id = next
            } else {
                mayExist = false
                try db.run("INSERT INTO folder (parent, name, owner) VALUES (?, ?, ?)", [id, name, Int64(owner)])
                id = db.lastInsertedRowID
            }
            length = Self.length(length, with: name)
            remember(id, folder.prefix(length))
        }
        return id
    }

    /// A folder on the way that is remembered, or the root, with the length of its path and the names that lead on from there.
    private func start(for folder: StorePath) -> (id: Int64, length: Int, names: ArraySlice<Data>) {
        func names(behind length: Int) -> ArraySlice<Data> {
            folder.bytes[min(length == 0 ? 0 : length + 1, folder.bytes.count)...].split(separator: StorePath.separator).map { Data($0) }[...]
        }
        var above = folder
        for _ in 0..<Self.levels where !above.isRoot {
            if let id = ids[above] { return (id, above.bytes.count, names(behind: above.bytes.count)) }
            above = above.parent
        }
        return (Self.root, 0, names(behind: 0))
    }

    private static func length(_ length: Int, with name: Data) -> Int { length + (length == 0 ? 0 : 1) + name.count }

    private static let descent = "SELECT id FROM folder WHERE parent = ? AND name = ?"

    /// Each goes down as many levels as its number says, from a folder by names.
    private static let descents = places.map { "SELECT \($0)" }

    /// The folder as many levels below one as the number says, by names.
    static let places = (0...levels).map { count in
        (0..<count).reduce("?") { sql, _ in "(SELECT id FROM folder WHERE parent = \(sql) AND name = ?)" }
    }

    /// Throws `.corrupt` for a folder that hangs nowhere.
    func path(of id: Int64) throws -> StorePath { try path(of: id, above: nil) }

    /// Reads the paths of many folders in one go, so that `path(of:)` has them.
    func read(pathsOf folders: [Int64]) throws {
        let unknown = Set(folders).filter { paths[$0] == nil }
        guard unknown.count > 1, unknown.count < Self.capacity else { return }
        let list = "[" + unknown.map { "\($0)" }.joined(separator: ",") + "]"
        for row in try db.rows("\(Self.ascent) a.id IN (SELECT value FROM json_each(?))", [list]) {
            _ = try path(of: row.value(2 * Self.ascended), above: row)
        }
    }

    /// `above` is the folder's row of `ascent`, if it was read.
    private func path(of id: Int64, above first: Row?) throws -> StorePath {
        if id == Self.root { return .root }
        if let path = paths[id] { return path }
        var names: [[UInt8]] = []
        var at = id
        var first = first
        while at != Self.root, paths[at] == nil {
            // No path has more names than half its bytes.
            guard names.count <= StorePath.longest, let row = try first ?? db.firstRow("\(Self.ascent) a.id = ?", [at]) else {
                throw IndexError.corrupt(reason: "folder \(id) is in none")
            }
            first = nil
            for level in 0..<Self.ascended {
                guard let name = try row.bytes(2 * level) else { break }
                names.append(name)
                at = try row.value(2 * level + 1)
                if at == Self.root || paths[at] != nil { break }
            }
        }
        let above = paths[at] ?? .root
        let path = StorePath(
            unchecked: Array(((above.isRoot ? [] : [above.bytes]) + names.reversed()).joined(separator: [StorePath.separator])))
        remember(id, path)
        return path
    }

    private static let ascended = 4
    /// Folders' names and parents, and those of the three above each as far as there are.
    private static let ascent = """
        SELECT a.name, a.parent, b.name, b.parent, c.name, c.parent, d.name, d.parent, a.id FROM folder a
        LEFT JOIN folder b ON b.id = a.parent LEFT JOIN folder c ON c.id = b.parent LEFT JOIN folder d ON d.id = c.parent
        WHERE
        """

    private func remembered(_ folder: StorePath) -> Int64? { folder.isRoot ? Self.root : ids[folder] }

    /// As `id(of:)` of the folder that holds the path.
    func id(holding path: StorePath) throws -> Int64? {
        if let last, path.isRight(in: last.path) { return last.id }
        let folder = path.parent
        guard let id = try id(of: folder) else { return nil }
        last = (folder, id)
        return id
    }

    /// The condition by which a row is in the folder that holds the path, with its values: for one statement in place of two.
    func condition(holding path: StorePath) -> (number: Int, values: [Value])? {
        if let last, path.isRight(in: last.path) { return (0, [last.id]) }
        let folder = path.parent
        if let id = remembered(folder) {
            last = (folder, id)
            return (0, [id])
        }
        let (id, _, names) = start(for: folder)
        return names.count <= Self.levels ? (names.count, [id] + names.map { $0 as Value }) : nil
    }

    /// A folder that was found with what it holds.
    func note(_ id: Int64, holding path: StorePath) {
        if let last, last.id == id { return }
        let folder = path.parent
        remember(id, folder)
        last = (folder, id)
    }

    private func remember(_ id: Int64, _ path: StorePath) {
        if ids.count >= Self.capacity || paths.count >= Self.capacity { forget() }
        ids[path] = id
        paths[id] = path
    }

    private func forget() {
        last = nil
        ids = [:]
        paths = [:]
    }
}

/// Whole folders.
extension FolderTable {
    /// Before a SELECT from `inside`, whose ids are those of the folder of the first value and all below it, each once: what is
    /// damaged may go round.
    static let inside = "WITH RECURSIVE inside (id) AS (VALUES (?) UNION SELECT f.id FROM inside i JOIN folder f ON f.parent = i.id) "

    /// As `inside`, with the length of each path. The second value is the length of the first.
    static let insideWithLengths = """
        WITH RECURSIVE inside (id, length) AS (VALUES (?, ?) UNION SELECT f.id, i.length + 1 + length(f.name) FROM inside i
            JOIN folder f ON f.parent = i.id WHERE i.length <= \(2 * StorePath.longest))
        """

    /// Something has left the folder: `dropEmpty` looks at it.
    func noteLoss(from folder: Int64) { if folder != Self.root { losers.insert(folder) } }

    /// Drops a folder and all below it, in which no document may be any more.
    func drop(_ folder: StorePath) throws {
        guard !folder.isRoot, let id = try id(of: folder) else { return }
        if let parent = try parent(of: id) { noteLoss(from: parent) }
        try db.run("DELETE FROM folder WHERE id IN (\(Self.inside) SELECT id FROM inside)", [id])
        forget()
    }

    /// Gives a folder its place at `new`, where none may be. No error if it is not known.
    func move(_ old: StorePath, to new: StorePath) throws {
        guard let id = try id(of: old), let row = try db.firstRow("SELECT parent, owner FROM folder WHERE id = ?", [id]) else { return }
        let owner: Int64 = try row.value(1)
        let parent = try self.id(makingHolderOf: new, for: UInt32(clamping: owner))
        try db.run("UPDATE folder SET parent = ?, name = ? WHERE id = ?", [parent, new.nameBlob, id])
        noteLoss(from: try row.value(0))
        forget()
    }

    /// Forgets folders in which nothing is left. To be called at the end of a transaction.
    func dropEmpty() throws {
        var waiting = Array(losers)
        losers = []
        while let id = waiting.popLast() {
            let isEmpty = try db.integer(
                """
                SELECT NOT EXISTS (SELECT 1 FROM document WHERE folder = ?1) AND NOT EXISTS (SELECT 1 FROM folder WHERE parent = ?1)
                """, [id])
            guard isEmpty == 1, let parent = try parent(of: id) else { continue }
            try db.run("DELETE FROM folder WHERE id = ?", [id])
            if parent != Self.root { waiting.append(parent) }
            forget()
        }
    }

    private func parent(of id: Int64) throws -> Int64? { try db.integer("SELECT parent FROM folder WHERE id = ?", [id]) }

    /// Whether each folder hangs in another or in the root, and each document in a folder.
    static func isWhole(_ db: Database) throws -> Bool {
        let reached = try db.integer(inside + "SELECT count(*) - 1 FROM inside", [root])
        guard try db.integer("SELECT count(*) FROM folder") == reached else { return false }
        return try db.integer("SELECT 1 FROM document WHERE folder <> 0 AND folder NOT IN (SELECT id FROM folder) LIMIT 1") == nil
    }
}

extension StorePath {
    fileprivate static let separator = UInt8(ascii: "/")

    /// The last name, as it is kept.
    var nameBlob: Data { Data(bytes[(bytes.lastIndex(of: Self.separator).map { $0 + 1 } ?? 0)...]) }

    fileprivate func prefix(_ length: Int) -> StorePath { StorePath(unchecked: Array(bytes[..<length])) }

    /// Whether this is a path of a name more than the folder's.
    fileprivate func isRight(in folder: StorePath) -> Bool {
        let length = folder.bytes.count
        if length == 0 { return !isRoot && !hasFolder }
        return bytes.count > length + 1 && bytes[length] == Self.separator && bytes.starts(with: folder.bytes)
            && !bytes[(length + 1)...].contains(Self.separator)
    }

    /// The path of what has this name in this folder.
    func appending(blob name: [UInt8]) -> StorePath { StorePath(unchecked: isRoot ? name : bytes + [Self.separator] + name) }
}
