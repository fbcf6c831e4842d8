internal import Foundation
internal import GRDB
public import QueryLanguage
public import StorePrimitives

extension TextIndex {
    /// Takes in what was read, in one transaction. O(bytes): some 5 MB a second.
    public func record(_ texts: [IndexedText], at time: Timestamp) throws(IndexError) {
        try write { db in for text in texts { try record(text, at: time, db) } }
    }

    private func record(_ text: IndexedText, at time: Timestamp, _ db: Database) throws {
        let id = text.document.rawValue
        let before = try state(of: id, db)
        try forget(id, db)
        var (kind, words, reason, attempts): (TextState.Kind, [UInt8], String?, Int) = (.indexed, [], nil, 1)
        switch text.outcome {
        case .text(let bytes): words = Self.bounded(WordBreaker.words(of: bytes))
        case .nothing(let why): (kind, reason) = (.nothing, why)
        case .failed(let why):
            (kind, reason) = (.failed, why)
            if let before, before.version == text.version { attempts = before.attempts &+ 1 }
        }
        if !words.isEmpty {
            try db.run("INSERT INTO word (rowid, words) VALUES (?, ?)", [id, String(decoding: words, as: UTF8.self)])
        }
        try db.run(
            "INSERT INTO text (document, owner, size, mtime, state, attempts, length, words, reason, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                id, Int64(text.owner.rawValue), text.version.size, text.version.modified.nanoseconds, kind.rawValue, attempts, words.count,
                words.isEmpty ? nil : Data(CompressedWords.compressed(words)), reason, time.nanoseconds,
            ])
    }

    /// As many whole words as are kept.
    private static func bounded(_ words: [UInt8]) -> [UInt8] {
        guard words.count > longestText else { return words }
        let kept = words.prefix(longestText)
        return Array(kept.prefix(through: kept.lastIndex(of: UInt8(ascii: " ")) ?? kept.startIndex))
    }

    /// Forgets documents. No error for those that are not known.
    public func forget(_ documents: [DocumentID]) throws(IndexError) {
        try write { db in for document in documents { try forget(document.rawValue, db) } }
    }

    private func forget(_ id: Int64, _ db: Database) throws {
        guard let row = try db.firstRow("SELECT length, words FROM text WHERE document = ?", [id]) else { return }
        if let bytes = try row.bytes(1) {
            let words = try CompressedWords.words(bytes, length: try row.value(0))
            try db.run("INSERT INTO word (word, rowid, words) VALUES ('delete', ?, ?)", [id, String(decoding: words, as: UTF8.self)])
        }
        try db.run("DELETE FROM text WHERE document = ?", [id])
    }

    /// Forgets everything.
    public func clear() throws(IndexError) {
        try write { db in
            try db.execute(sql: "DELETE FROM text; INSERT INTO word (word) VALUES ('delete-all')")
        }
        // Without room for a copy the file stays as large as it is.
        try? pool.writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
    }

    // MARK: - Shares

    /// In bytes of words, of the user's account; with nil, of the file.
    public func use(by user: UserID?) throws(IndexError) -> Int {
        guard let user else { return try size() }
        return try read { try Room.use("bytes", by: accounts.owner(of: user.rawValue), accounts, $0) }
    }

    /// Whether more texts of the user's documents may be taken in: a text of full length would find room.
    public func hasRoom(for user: UserID) throws(IndexError) -> Bool {
        let (own, all) = (try use(by: user), try use(by: nil))
        return bounds.hasRoom(for: Self.longestText, beside: own, of: all, user: accounts.owner(of: user.rawValue))
    }

    // MARK: - Questions

    /// The documents that have the words one after another, in the order of their ids, and of which versions. None if there is nothing that
    /// can be searched for. O(documents that have the words).
    func hits(of pattern: WordPattern, _ deadline: SearchDeadline) throws -> [TextHit] {
        let words = pattern.words
        guard !words.isEmpty else { return [] }
        // Words are letters and digits: there is nothing to be escaped.
        let phrase = "\"" + words.joined(separator: " ") + "\"" + (pattern.endsInPrefix ? " *" : "")
        var hits: [TextHit] = []
        return try read { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: "SELECT w.rowid, t.size, t.mtime FROM word w JOIN text t ON t.document = w.rowid WHERE w.word MATCH ? ORDER BY w.rowid"),
                arguments: [phrase])
            while let row = try rows.next() {
                try deadline.spend(2_000)
                hits.append(TextHit(document: try row.value(0), size: try row.value(1), modified: try row.value(2)))
            }
            return hits
        }
    }

    /// As `hits`, whatever their versions.
    package func documents(containing pattern: WordPattern) throws -> [DocumentID] {
        try hits(of: pattern, SearchDeadline(within: .seconds(60))).map { DocumentID(rawValue: $0.document) }
    }

    /// Nil for a document of which nothing was read.
    public func state(of document: DocumentID) throws(IndexError) -> TextState? { try read { try state(of: document.rawValue, $0) } }

    /// What is known of the documents with ids above one, in the order of their ids.
    public func states(after id: DocumentID, limit: Int) throws(IndexError) -> [(document: DocumentID, state: TextState)] {
        try read { db in
            try db.rows("SELECT \(Self.columns), document FROM text WHERE document > ? ORDER BY document LIMIT ?", [id.rawValue, limit])
                .map { (DocumentID(rawValue: try $0.value(7)), try TextState($0)) }
        }
    }

    public func counts() throws(IndexError) -> TextCounts {
        let size = try size()
        return try read { db in
            let counts = try db.rows("SELECT state, count(*) FROM text GROUP BY state").map { (try $0.value(0) as Int64, try $0.value(1) as Int) }
            func count(_ kind: TextState.Kind) -> Int { counts.first { $0.0 == kind.rawValue }?.1 ?? 0 }
            return TextCounts(indexed: count(.indexed), nothing: count(.nothing), failed: count(.failed), bytes: size)
        }
    }

    /// Of the file, in bytes.
    public func size() throws(IndexError) -> Int {
        try read { db in
            let pages = try db.integer("PRAGMA page_count") ?? 0
            return Int(clamping: pages.multiplied(clamping: try db.integer("PRAGMA page_size") ?? 0))
        }
    }

    private static let columns = "size, mtime, state, attempts, length, reason, time"

    private func state(of id: Int64, _ db: Database) throws -> TextState? {
        try db.firstRow("SELECT \(Self.columns) FROM text WHERE document = ?", [id]).map { try TextState($0) }
    }

    /// Whether FTS5 finds its own structure whole. O(index).
    package func check() throws(IndexError) { try write { try $0.execute(sql: "INSERT INTO word (word) VALUES ('integrity-check')") } }
}

extension TextState {
    fileprivate init(_ row: Row) throws {
        version = TextVersion(size: try row.value(0), modified: Timestamp(nanoseconds: try row.value(1)))
        guard let kind = Kind(rawValue: try row.value(2)) else { throw IndexError.corrupt(reason: "a text in no known state") }
        self.kind = kind
        attempts = try row.value(3)
        length = try row.value(4)
        reason = try row.optional(5)
        time = Timestamp(nanoseconds: try row.value(6))
    }
}
