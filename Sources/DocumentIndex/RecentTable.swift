internal import GRDB

/// The uses of documents by each user, on the connection it was made for, inside the caller's transaction.
struct RecentTable {
    let db: Database

    /// Uses kept beside the newest, for when it is retracted.
    private static let keptBefore = 8

    /// A use of the document. Told late, behind a newer one, it only counts if that is retracted.
    func note(_ document: Int64, by user: UserID, at time: Int64, written: Bool) throws {
        let uid = Int64(user.rawValue)
        let row = try db.firstRow("SELECT used, written FROM recent WHERE uid = ? AND document = ?", [uid, document])
        guard let row else {
            try db.run(
                "INSERT INTO recent (uid, document, used, written) VALUES (?, ?, ?, ?)", [uid, document, time, written])
            return
        }
        let used: Int64 = try row.value(0)
        let wasWritten: Bool = try row.value(1)
        if time < used {
            try keepBefore(document, uid: uid, time: time, written: written)
        } else {
            // Writing is never retracted, so what was before it is of no more use.
            if time > used, !written { try keepBefore(document, uid: uid, time: used, written: wasWritten) }
            try db.run(
                "UPDATE recent SET used = ?, written = ? WHERE uid = ? AND document = ?",
                [time, written || (time == used && wasWritten), uid, document])
        }
    }

    private func keepBefore(_ document: Int64, uid: Int64, time: Int64, written: Bool) throws {
        try db.run(
            """
            INSERT INTO recent_before (uid, document, used, written) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET written = max(written, excluded.written)
            """, [uid, document, time, written])
        try db.run(
            """
            DELETE FROM recent_before WHERE uid = ?1 AND document = ?2 AND used NOT IN (
                SELECT used FROM recent_before WHERE uid = ?1 AND document = ?2 ORDER BY used DESC LIMIT ?3)
            """, [uid, document, Self.keptBefore])
    }

    /// Takes back the reading of exactly this time. Writing stays.
    func retract(_ document: Int64, by user: UserID, at time: Int64) throws {
        let uid = Int64(user.rawValue)
        try db.run(
            "DELETE FROM recent_before WHERE uid = ? AND document = ? AND used = ? AND NOT written", [uid, document, time])
        let isNewest = try db.integer(
            "SELECT 1 FROM recent WHERE uid = ? AND document = ? AND used = ? AND NOT written", [uid, document, time])
        guard isNewest != nil else { return }
        let before = try db.firstRow(
            "SELECT used, written FROM recent_before WHERE uid = ? AND document = ? ORDER BY used DESC LIMIT 1",
            [uid, document])
        guard let before else { return try drop(document, by: user) }
        let used: Int64 = try before.value(0)
        let written: Bool = try before.value(1)
        try db.run("DELETE FROM recent_before WHERE uid = ? AND document = ? AND used = ?", [uid, document, used])
        try db.run(
            "UPDATE recent SET used = ?, written = ? WHERE uid = ? AND document = ?", [used, written, uid, document])
    }

    /// Uses until now are not to come back, by whatever way they are told of.
    func forget(_ document: Int64, by user: UserID) throws {
        let uid = Int64(user.rawValue)
        try db.run(
            "INSERT OR REPLACE INTO recent_forgotten (uid, document, at) VALUES (?, ?, CAST(strftime('%s', 'now') AS INTEGER) * 1000000000)",
            [uid, document])
        try drop(document, by: user)
    }

    private func drop(_ document: Int64, by user: UserID) throws {
        try db.run("DELETE FROM recent WHERE uid = ? AND document = ?", [Int64(user.rawValue), document])
    }

    /// Gives the newest uses of `other` to `document`.
    func merge(_ other: Int64, into document: Int64) throws {
        for row in try db.rows("SELECT uid, used, written FROM recent WHERE document = ?", [other]) {
            try note(document, by: UserID(rawValue: row.value(0)), at: row.value(1), written: row.value(2))
        }
    }
}
