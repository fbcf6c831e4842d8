internal import Foundation
internal import GRDB
public import StorePrimitives

/// What the index knows of tags is not for every user's eyes: whoever asks decides which of the documents, and so of the
/// tags, may be shown.
extension DocumentIndex {
    /// The documents that have all of the tags, newest modification first; those nested in a tag do not count. None for no
    /// tags. With `name`, only those whose path ends in it, oldest id first.
    ///
    /// One tag: O(limit). Several: O(documents that have the rarest of them). With a name: O(documents of that name).
    public func documents(
        tagged tags: [Tag], named name: EntryName? = nil, limit: Int = .max
    ) throws(IndexError) -> [TagEntry] {
        try read { db in
            let table = TagTable(db: db)
            var ids: [Int64] = []
            for tag in Set(tags) {
                guard let id = try table.id(of: tag) else { return [] }
                ids.append(id)
            }
            if ids.count > 1, name == nil {
                let counted = try ids.map {
                    ($0, try db.integer("SELECT count(*) FROM document_tag WHERE tag = ?", [$0]) ?? 0)
                }
                ids = counted.sorted { $0.1 < $1.1 }.map(\.0)
            }
            guard let first = ids.first else { return [] }
            let folders = FolderTable(db: db)
            let others = ids.dropFirst().map { _ in
                "AND EXISTS (SELECT 1 FROM document_tag o WHERE o.tag = ? AND o.document = t.document)"
            }.joined(separator: " ")
            var values: [Value] = [first]
            if let name { values.append(Data(name.bytes)) }
            let rows = try db.rows(
                """
                SELECT d.id, t.mtime, d.folder, d.name FROM document_tag t JOIN document d ON d.id = t.document
                WHERE t.tag = ? \(name == nil ? "" : "AND t.name = ?") \(others)
                ORDER BY \(name == nil ? "t.mtime DESC, t.document DESC" : "t.document") LIMIT ?
                """, values + ids.dropFirst().map { $0 as Value } + [limit])
            return try TagEntry.all(rows, folders)
        }
    }

    /// Documents that have the tag or one nested in it, in no order; one that has several may come as often. O(limit).
    public func documents(inside tag: Tag, limit: Int = .max) throws(IndexError) -> [TagEntry] {
        let range = tag.nestedRange
        return try read { db in
            let folders = FolderTable(db: db)
            let rows = try db.rows(
                """
                SELECT d.id, t.mtime, d.folder, d.name FROM tag g JOIN document_tag t ON t.tag = g.id JOIN document d ON d.id = t.document
                WHERE g.name = ? OR (g.name >= ? AND g.name < ?) LIMIT ?
                """, [tag.blob, range.lower, range.upper, limit])
            return try TagEntry.all(rows, folders)
        }
    }

    /// All tags that documents have or that anyone keeps, in the order of their bytes; with `folder`, only those nested in
    /// that one, at any depth. O(tagged documents).
    public func tags(nestedIn folder: Tag? = nil) throws(IndexError) -> [TagSummary] {
        let range = folder?.nestedRange
        return try read { db in
            try db.rows(
                """
                SELECT name, documents, keepers FROM (
                    SELECT name, (SELECT count(*) FROM document_tag WHERE tag = t.id) AS documents,
                        (SELECT group_concat(uid) FROM tag_keeper WHERE tag = t.id) AS keepers
                    FROM tag t \(folder == nil ? "" : "WHERE name >= ? AND name < ?"))
                WHERE keepers IS NOT NULL OR documents > 0 ORDER BY name
                """, range.map { [$0.lower, $0.upper] } ?? []
            ).map { row in
                let creators = (try row.optional(2) as String? ?? "").split(separator: ",").compactMap { UInt32($0).map { UserID($0) } }
                return TagSummary(tag: Tag(unchecked: try row.bytes(0) ?? []), count: try row.value(1), creators: Set(creators))
            }
        }
    }

    /// Whether the tag or one nested in it is known at all, to anyone. O(log n).
    public func knows(_ tag: Tag) throws(IndexError) -> Bool {
        let range = tag.nestedRange
        return try read { db in
            try db.integer(
                "SELECT 1 FROM tag WHERE name = ? OR (name >= ? AND name < ?) LIMIT 1", [tag.blob, range.lower, range.upper]
            ) != nil
        }
    }

    /// Whether `user`, or with nil anyone, keeps a tag nested in this one or, if `orItself`, this one.
    public func isKept(nestedIn tag: Tag, orItself: Bool, by user: UserID?) throws(IndexError) -> Bool {
        let range = tag.nestedRange
        return try read { db in
            try db.integer(
                """
                SELECT 1 FROM tag t JOIN tag_keeper k ON k.tag = t.id
                WHERE ((?1 AND t.name = ?2) OR (t.name >= ?3 AND t.name < ?4)) AND (?5 IS NULL OR k.uid = ?5) LIMIT 1
                """, [orItself, tag.blob, range.lower, range.upper, user.map { Int64($0.rawValue) }]) != nil
        }
    }

    /// Whether the user may keep one more tag. O(those that are kept).
    public func mayKeepTag(_ user: UserID) throws(IndexError) -> Bool { try read { try mayKeepTag(user, $0) } }

    private func mayKeepTag(_ user: UserID, _ db: Database) throws -> Bool {
        let (own, all) = (try use(of: .keptTags, by: user, db), try use(of: .keptTags, by: nil, db))
        return BoundedResource.keptTags.bound.hasRoom(for: 1, beside: own, of: all, user: bounds.accounts.owner(of: user.rawValue))
    }

    /// From now on the tag shows to the user even without documents, until it is removed. No error if it did before.
    public func keepTag(_ tag: Tag, by user: UserID) throws(IndexError) {
        try write { try TagTable(db: $0).keep(tag, by: user) }
    }

    /// As `keepTag`, if there is room for more. Whether the user had not kept it before.
    func keep(_ tag: Tag, by user: UserID, _ db: Database) throws -> Bool {
        let kept = try db.integer(
            "SELECT 1 FROM tag_keeper JOIN tag ON tag.id = tag WHERE tag.name = ? AND uid = ?", [tag.blob, Int64(user.rawValue)])
        guard kept == nil, try mayKeepTag(user, db) else { return false }
        try TagTable(db: db).keep(tag, by: user)
        return true
    }

    /// Renames a tag, and those nested in it, as far as `share` goes. The documents that have other tags now are returned, the oldest first: the
    /// caller writes the attributes, and tells `.tags` of those it could not write. If the new tag is in use the two become
    /// one.
    ///
    /// Throws `.noSuchTag` if there is nothing of it in the share, and `.tagInsideItself`. O(affected documents): some 10 µs each if the new tag is
    /// not in use and the share is all there is, else 40.
    public func renameTag(_ old: Tag, to new: Tag, for share: TagShare) throws(IndexError) -> [DocumentID] {
        try write { db in
            let range = old.nestedRange
            let values: [Value] = [old.blob, range.lower, range.upper]
            let isAffected = "(name = ? OR (name >= ? AND name < ?))"
            var kept = try db.rows("SELECT id, name, uid FROM tag JOIN tag_keeper ON tag = id WHERE \(isAffected)", values)
                .map { (id: try $0.value(0) as Int64, tag: Tag(unchecked: try $0.bytes(1) ?? []), user: UserID(try $0.value(2))) }
            var ids = try db.integers(
                """
                SELECT DISTINCT document FROM document_tag WHERE tag IN (SELECT id FROM tag WHERE \(isAffected))
                ORDER BY document
                """, values)
            let all = (kept.count, ids.count)
            if case .of(let user, let documents) = share {
                kept.removeAll { $0.user != user }
                ids.removeAll { !documents.contains(DocumentID(rawValue: $0)) }
            }
            guard !kept.isEmpty || !ids.isEmpty else { throw IndexError.noSuchTag(old) }
            if old == new { return [] }
            if new.isNested(in: old) { throw IndexError.tagInsideItself(new) }
            if (kept.count, ids.count) == all, try !TagTable(db: db).isInUse(new) {
                try TagTable(db: db).renameAll(old, to: new)
                return ids.map { DocumentID(rawValue: $0) }
            }
            let documents = DocumentTable(db: db, room: Room(db: db, bounds: bounds))
            var renamed: [DocumentID] = []
            for id in ids {
                guard let row = try documents.row(id: id) else { continue }
                var changed = row
                changed.tags = Tag.format(Tag.parse(row.tags ?? []).map { $0.renamed(from: old, to: new) ?? $0 })
                try documents.update(changed, before: row)
                if row.path != nil { renamed.append(DocumentID(rawValue: id)) }
            }
            let table = TagTable(db: db)
            for creator in kept {
                try db.run("DELETE FROM tag_keeper WHERE tag = ? AND uid = ?", [creator.id, Int64(creator.user.rawValue)])
            }
            for creator in kept {
                if let name = creator.tag.renamed(from: old, to: new) { try table.keep(name, by: creator.user) }
            }
            try table.dropUnused()
            return renamed
        }
    }
}

extension TagEntry {
    fileprivate static func all(_ rows: [Row], _ folders: FolderTable) throws -> [TagEntry] {
        try folders.read(pathsOf: rows.map { try $0.value(2) })
        return try rows.map { try TagEntry($0, folders) }
    }

    fileprivate init(_ row: Row, _ folders: FolderTable) throws {
        self.init(
            id: DocumentID(rawValue: try row.value(0)),
            path: try folders.path(of: row.value(2)).appending(blob: row.bytes(3) ?? []),
            modified: Timestamp(nanoseconds: try row.value(1)))
    }
}
