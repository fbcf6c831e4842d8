internal import Foundation
internal import GRDB
internal import StorePrimitives

extension DocumentIndex {
    /// The documents that have all of the tags, newest modification first; those nested in a tag do not count. None for no
    /// tags.
    ///
    /// One tag: O(limit). Several: O(documents that have the rarest of them).
    public func documents(tagged tags: [Tag], limit: Int = .max) throws(IndexError) -> [Document] {
        try read { db in
            let table = TagTable(db: db)
            var ids: [Int64] = []
            for tag in Set(tags) {
                guard let id = try table.id(of: tag) else { return [] }
                ids.append(id)
            }
            if ids.count > 1 {
                let counted = try ids.map {
                    ($0, try db.integer("SELECT count(*) FROM document_tag WHERE tag = ?", [$0]) ?? 0)
                }
                ids = counted.sorted { $0.1 < $1.1 }.map(\.0)
            }
            guard !ids.isEmpty else { return [] }
            let others = ids.dropFirst().map { _ in
                "AND EXISTS (SELECT 1 FROM document_tag o WHERE o.tag = ? AND o.document = t.document)"
            }.joined(separator: " ")
            return try db.rows(
                """
                SELECT \(DocumentRow.columns) FROM document_tag t JOIN document d ON d.id = t.document
                WHERE t.tag = ? \(others) ORDER BY t.mtime DESC, t.document DESC LIMIT ?
                """, ids.map { $0 as Value } + [limit]
            ).compactMap { try DocumentRow($0).document }
        }
    }

    /// All tags that show, in the order of their bytes: those documents have, and those kept by hand. O(tagged documents).
    public func tags() throws(IndexError) -> [TagSummary] { try summaries(where: "1", []) }

    /// As `tags()`, only those nested in `tag`, at any depth.
    public func tags(nestedIn tag: Tag) throws(IndexError) -> [TagSummary] {
        let range = tag.nestedRange
        return try summaries(where: "name >= ? AND name < ?", [range.lower, range.upper])
    }

    private func summaries(where condition: String, _ values: [Value]) throws(IndexError) -> [TagSummary] {
        try read { db in
            try db.rows(
                """
                SELECT name, kept, documents FROM (
                    SELECT name, kept, (SELECT count(*) FROM document_tag WHERE tag = t.id) AS documents
                    FROM tag t WHERE \(condition))
                WHERE kept OR documents > 0 ORDER BY name
                """, values
            ).map { row in
                TagSummary(tag: Tag(unchecked: try row.bytes(0) ?? []), count: row[2],
                    keeper: (row[1] as Int64) > 0 ? UserID(UInt32((row[1] as Int64) - 1)) : nil)
            }
        }
    }

    /// Whether a folder of this tag shows: documents have it, it is kept, or tags nest in it. O(log n).
    public func isShown(_ tag: Tag) throws(IndexError) -> Bool {
        try read { db in
            let table = TagTable(db: db)
            return try table.isShown(tag) || table.hasNested(tag)
        }
    }

    /// Makes a tag that shows, to `user`, though no document has it. Throws `.tagExists` if it shows already.
    public func makeTag(_ tag: Tag, by user: UserID) throws(IndexError) {
        try write { db in
            let table = TagTable(db: db)
            guard try !table.isShown(tag), try !table.hasNested(tag) else { throw IndexError.tagExists(tag) }
            try table.keep(tag, by: user)
        }
    }

    /// From now on the tag shows even without documents, until it is removed. No error if it did before.
    public func keepTag(_ tag: Tag, by user: UserID) throws(IndexError) {
        try write { try TagTable(db: $0).keep(tag, by: user) }
    }

    /// Removes an empty tag. Throws `.noSuchTag`, and `.tagNotEmpty` if documents have it or tags nest in it. To be able to
    /// undo it, tell `recordTagRemovals`.
    public func removeTag(_ tag: Tag) throws(IndexError) {
        try write { db in
            let table = TagTable(db: db)
            guard try !table.hasDocuments(tag), try !table.hasNested(tag) else { throw IndexError.tagNotEmpty(tag) }
            guard try table.isShown(tag) else { throw IndexError.noSuchTag(tag) }
            try db.run("DELETE FROM tag WHERE name = ?", [tag.blob])
        }
    }

    /// Renames a tag, and those nested in it, on all their documents, which are returned with their new tags: the caller
    /// writes the attributes, and tells `.tags` of those it could not write.
    ///
    /// Throws `.noSuchTag`, `.tagInsideItself`, and `.tagNotEmpty(new)` unless `merging`: then the two become one.
    /// O(affected documents).
    public func renameTag(_ old: Tag, to new: Tag, merging: Bool = false) throws(IndexError) -> [Document] {
        try write { db in
            let table = TagTable(db: db)
            guard try table.isShown(old) || table.hasNested(old) else { throw IndexError.noSuchTag(old) }
            if old == new { return [] }
            if new.isNested(in: old) { throw IndexError.tagInsideItself(new) }
            if !merging, try table.hasDocuments(new) || table.hasNested(new) { throw IndexError.tagNotEmpty(new) }
            let range = old.nestedRange
            let values: [Value] = [old.blob, range.lower, range.upper]
            let isAffected = "(name = ? OR (name >= ? AND name < ?))"
            let kept = try db.rows("SELECT name, kept FROM tag WHERE kept AND \(isAffected)", values).map {
                (tag: Tag(unchecked: try $0.bytes(0) ?? []), keeper: UserID(UInt32(($0[1] as Int64) - 1)))
            }
            let ids = try db.integers(
                """
                SELECT DISTINCT document FROM document_tag WHERE tag IN (SELECT id FROM tag WHERE \(isAffected))
                ORDER BY document
                """, values)
            let documents = DocumentTable(db: db)
            var renamed: [Document] = []
            for id in ids {
                guard let row = try documents.row(id: id) else { continue }
                var changed = row
                changed.tags = Tag.format(Tag.parse(row.tags ?? []).map { $0.renamed(from: old, to: new) ?? $0 })
                try documents.update(changed, before: row)
                if let document = changed.document { renamed.append(document) }
            }
            try db.run("UPDATE tag SET kept = 0 WHERE \(isAffected)", values)
            for (tag, keeper) in kept {
                if let name = tag.renamed(from: old, to: new) { try table.keep(name, by: keeper) }
            }
            try table.dropUnused()
            return renamed
        }
    }
}
