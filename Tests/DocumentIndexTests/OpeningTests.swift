import DocumentIndex
import struct DocumentIndex.Tag
import Foundation
import StorePrimitives
import Testing

@Suite struct OpeningTests {
    let folder = try! StateFolder()

    private func overwrite(at offset: UInt64, with bytes: [UInt8]) throws {
        let file = try #require(FileHandle(forUpdatingAtPath: folder.file))
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    @Test func anIndexIsCreatedAndThenOpened() throws {
        let first = try DocumentIndex(folder: folder.path)
        #expect(first.outcome == .created)
        try first.apply([.present(facts("a", inode: 1, tags: ["x"])), .used(path("a"), by: anna, at: at(1), written: true)])
        try first.close()
        let second = try DocumentIndex(folder: folder.path)
        #expect(second.outcome == .opened)
        #expect(try second.recentPaths() == ["a"])
        #expect(try second.tagged("x") == ["a"])
    }

    @Test func theFileIsTheOwnersOnly() throws {
        let index = try DocumentIndex(folder: folder.path)
        try index.apply([.present(facts("a", inode: 1))])
        for name in try folder.names(beginning: DocumentIndex.fileName) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + name)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }

    @Test func whatWasAppliedSurvivesWithoutClosing() throws {
        let index = try DocumentIndex(folder: folder.path)
        try index.apply([.present(facts("a", inode: 1))])
        // As a killed daemon leaves it: the log was not written back.
        let copy = try StateFolder()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: folder.file + suffix, toPath: copy.file + suffix)
        }
        let other = try DocumentIndex(folder: copy.path)
        #expect(other.outcome == .opened)
        #expect(try other.id("a") != nil)
    }

    @Test func aNewerVersionIsRefusedAndLeftAlone() throws {
        try DocumentIndex(folder: folder.path).close()
        // The version is at byte 60, big endian.
        try overwrite(at: 60, with: [0, 0, 0, 99])
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.file))
        #expect(throws: IndexError.newerVersion(found: 99, supported: 6)) { try DocumentIndex(folder: folder.path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file)) == before)
        #expect(try folder.names(beginning: "index.sqlite.corrupt") == [])
    }

    /// Has the database's own program run statements on the index. Returns what it printed.
    @discardableResult
    private func run(_ sql: String) throws -> String {
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        program.arguments = ["sqlite3", folder.file, sql]
        let output = Pipe()
        program.standardOutput = output
        try program.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        program.waitUntilExit()
        try #require(program.terminationStatus == 0)
        return String(decoding: text, as: UTF8.self)
    }

    @Test func foldersInWhichNothingIsLeftAreForgotten() throws {
        let index = try DocumentIndex(folder: folder.path)
        try index.apply(["a/b/c/1", "a/b/2", "d/e/3", "f/4", "f/g/5", "h/6"].enumerated().map { .present(facts($1, inode: UInt64($0 + 1))) })
        try index.apply([
            .absent(path("a/b/c/1")), .moved(from: path("d/e"), to: path("d/x"), isFolder: true, takesOverTarget: false),
            .absent(path("f")), .moved(from: path("h/6"), to: path("i/6"), isFolder: false, takesOverTarget: false),
        ])
        try index.scanAll([facts("d/x/3", inode: 3), facts("i/6", inode: 6)])
        try index.close()
        #expect(try run("SELECT group_concat(CAST(name AS TEXT)) FROM (SELECT name FROM folder ORDER BY name)") == "d,i,x\n")
    }

    /// Version 1 had one creator a tag, and no names; until version 3 each document had its path.
    @Test func anIndexOfVersion1IsBroughtUpToDate() throws {
        try run(Self.version1)
        let index = try DocumentIndex(folder: folder.path)
        #expect(index.outcome == .opened)
        #expect(
            try index.tags() == [
                TagSummary(tag: tag("kept"), count: 0, creators: [anna]),
                TagSummary(tag: tag("x"), count: 2, creators: [UserID(0)]), TagSummary(tag: tag("y"), count: 1),
            ])
        #expect(try index.documents(tagged: [tag("x")], named: EntryName("one")).map(\.path) == [path("f/one")])
        #expect(try index.tagged("x", "y") == ["f/one"])
        #expect(try index.tagged("x") == ["two", "f/one"])
        #expect(try index.recentPaths() == ["two"])
        #expect(try index.id("two") == DocumentID(rawValue: 2))
        #expect(try index.lastTagRemovalBatch(of: anna)?.removals.map(\.document.path) == [path("two")])
        try index.apply([.absent(path("f"))])
        #expect(try index.tagged("x") == ["two"])
        // Neither the document that left nor the numbers given out are forgotten.
        try index.apply([.present(facts("back", inode: 3, size: 1, modified: 6)), .present(facts("new", inode: 9))])
        #expect(try index.id("back") == DocumentID(rawValue: 3))
        #expect(try index.id("new") == DocumentID(rawValue: 41))
    }

    /// A value that no index has written, as in a file that was damaged or changed by others.
    @Test func rowsWithoutAValueTheyMustHaveAreLeftOutOfWhatIsRecovered() throws {
        let first = try DocumentIndex(folder: folder.path)
        try first.apply([.present(facts("f/a", inode: 1, tags: ["x"])), .present(facts("f/b", inode: 2, tags: ["y"])), .present(facts("c", inode: 3))])
        try first.apply(["f/a", "f/b", "c"].enumerated().map { .used(path($1), by: anna, at: at(Int64($0)), written: true) })
        for name in ["lost", "kept"] { try first.keepTag(tag(name), by: anna) }
        try first.apply([.tagsTaken([tag("gone")], from: path("f/a"), by: anna, at: at(3), canBeUndone: true)])
        try first.apply([.tagDropped(tag("old"), by: anna, keeper: anna, at: at(3))])
        try first.close()
        try run(
            """
            PRAGMA writable_schema = ON;
            CREATE TABLE schema_before AS SELECT name, sql FROM sqlite_master;
            UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table';
            """)
        try run(
            """
            UPDATE recent SET written = NULL WHERE used <> 1000000000;
            UPDATE document SET size = NULL WHERE inode = 1;
            UPDATE tag SET name = NULL WHERE name = CAST('lost' AS BLOB);
            UPDATE tag_removal SET batch = NULL WHERE document IS NOT NULL;
            PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = (SELECT sql FROM schema_before b WHERE b.name = sqlite_master.name) WHERE type = 'table';
            DROP TABLE schema_before;
            """)
        let second = try DocumentIndex(folder: folder.path)
        guard case .rebuilt = second.outcome else {
            Issue.record("\(second.outcome)")
            return
        }
        #expect(try second.recentPaths() == ["f/b"])
        #expect(try second.tags().filter { !$0.creators.isEmpty }.map(\.tag) == [tag("gone"), tag("kept")])
        #expect(try second.tagged("y") == ["f/b"])
        #expect(try second.lastTagRemovalBatch(of: anna)?.tags == [tag("old")])
    }

    /// As `quick_check` cannot see it.
    @Test func anIndexWhoseFoldersHangNowhereIsBuiltAnew() throws {
        let first = try DocumentIndex(folder: folder.path)
        try first.apply([.present(facts("a/b/c", inode: 1, tags: ["x"])), .used(path("a/b/c"), by: anna, at: at(1), written: true)])
        let id = try #require(try first.id("a/b/c"))
        try first.close()
        try run("UPDATE folder SET parent = 2 WHERE parent = 0")
        let second = try DocumentIndex(folder: folder.path)
        guard case .rebuilt = second.outcome else {
            Issue.record("\(second.outcome)")
            return
        }
        #expect(try second.count() == 0)
        try second.apply([.present(facts("a/b/c", inode: 1, tags: ["x"]))])
        #expect(try second.id("a/b/c") == id)
        #expect(try second.recentPaths() == ["a/b/c"])
    }

    private static let version1 = """
        PRAGMA journal_mode = WAL;
        CREATE TABLE document (
            id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE, inode INTEGER NOT NULL, birth INTEGER NOT NULL, handle BLOB,
            size INTEGER NOT NULL, mtime INTEGER NOT NULL, generation INTEGER NOT NULL, tags BLOB, departed INTEGER);
        CREATE INDEX document_identity ON document (inode, birth);
        CREATE INDEX document_departed ON document (departed) WHERE departed IS NOT NULL;
        CREATE TABLE tag (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, kept INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE document_tag (
            tag INTEGER NOT NULL REFERENCES tag (id) ON DELETE CASCADE,
            document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
            mtime INTEGER NOT NULL, PRIMARY KEY (tag, document)) WITHOUT ROWID;
        CREATE INDEX document_tag_document ON document_tag (document);
        CREATE INDEX document_tag_newest ON document_tag (tag, mtime, document);
        CREATE TABLE recent (
            uid INTEGER NOT NULL, document INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
            used INTEGER NOT NULL, written INTEGER NOT NULL, PRIMARY KEY (uid, document)) WITHOUT ROWID;
        CREATE INDEX recent_newest ON recent (uid, used, document);
        CREATE INDEX recent_document ON recent (document);
        CREATE TABLE recent_before (
            uid INTEGER NOT NULL, document INTEGER NOT NULL, used INTEGER NOT NULL, written INTEGER NOT NULL,
            PRIMARY KEY (uid, document, used),
            FOREIGN KEY (uid, document) REFERENCES recent (uid, document) ON DELETE CASCADE) WITHOUT ROWID;
        CREATE TABLE tag_removal_batch (id INTEGER PRIMARY KEY AUTOINCREMENT, uid INTEGER NOT NULL, last INTEGER NOT NULL);
        CREATE INDEX tag_removal_batch_uid ON tag_removal_batch (uid, id);
        CREATE TABLE tag_removal (
            id INTEGER PRIMARY KEY, batch INTEGER NOT NULL REFERENCES tag_removal_batch (id) ON DELETE CASCADE,
            document INTEGER REFERENCES document (id) ON DELETE CASCADE, tag BLOB NOT NULL);
        CREATE INDEX tag_removal_of_batch ON tag_removal (batch);
        CREATE INDEX tag_removal_document ON tag_removal (document);
        INSERT INTO document VALUES
            (1, CAST('f/one' AS BLOB), 1, 1, NULL, 1, 5, 1, CAST('x,y' AS BLOB), NULL),
            (2, CAST('two' AS BLOB), 2, 1, NULL, 1, 6, 1, CAST('x' AS BLOB), NULL),
            (3, NULL, 3, 1, NULL, 1, 6000000000, 1, CAST('x,gone' AS BLOB), 1);
        UPDATE sqlite_sequence SET seq = 40 WHERE name = 'document';
        INSERT INTO tag VALUES (1, CAST('x' AS BLOB), 1), (2, CAST('y' AS BLOB), 0), (3, CAST('kept' AS BLOB), 1001);
        INSERT INTO document_tag VALUES (1, 1, 5), (2, 1, 5), (1, 2, 6);
        INSERT INTO recent VALUES (1000, 2, 9, 1);
        INSERT INTO tag_removal_batch VALUES (1, 1000, 1);
        INSERT INTO tag_removal VALUES (1, 1, 2, CAST('was' AS BLOB));
        PRAGMA application_id = \(0x5175_6972);
        PRAGMA user_version = 1;
        """

    @Test func aFileThatIsNoDatabaseIsMovedAside() throws {
        let content = Data("This is a letter, and it is long enough to be looked at as a database page or two.".utf8)
        try content.write(to: URL(fileURLWithPath: folder.file))
        let index = try DocumentIndex(folder: folder.path)
        guard case .rebuilt(let reason, let aside) = index.outcome else {
            Issue.record("\(index.outcome)")
            return
        }
        #expect(!reason.isEmpty)
        #expect(aside.hasPrefix(folder.file + ".corrupt-"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == content)
        #expect(try index.count() == 0)
        try index.apply([.present(facts("a", inode: 1))])
        try index.close()
        #expect(try DocumentIndex(folder: folder.path).outcome == .opened)
    }

    @Test func anotherProgramsDatabaseIsMovedAside() throws {
        try DocumentIndex(folder: folder.path).close()
        try overwrite(at: 60, with: [0, 0, 0, 0])
        let index = try DocumentIndex(folder: folder.path)
        guard case .rebuilt(let reason, _) = index.outcome else {
            Issue.record("\(index.outcome)")
            return
        }
        #expect(reason == "a database, but not an index")
    }

    @Test func recentsKeptTagsTaggedDocumentsAndRemovalsAreRecovered() throws {
        let first = try DocumentIndex(folder: folder.path)
        try first.apply((1...20_000).map { .present(facts("folder/document \($0)", inode: $0)) })
        try first.apply([
            .present(facts("late", inode: 50_001, tags: ["x"])), .present(facts("plain", inode: 50_002)),
            .used(path("late"), by: anna, at: at(1), written: false),
            .used(path("late"), by: anna, at: at(2), written: true),
        ])
        let id = try #require(try first.id("late"))
        for user in [anna, ben] { try first.keepTag(tag("kept"), by: user) }
        try first.apply([.tagsTaken([tag("gone")], from: path("late"), by: anna, at: at(3), canBeUndone: true)])
        try first.apply([.tagDropped(tag("old"), by: anna, keeper: anna, at: at(3))])
        let newest = try #require(try first.id("plain"))
        try first.checkpoint()
        try first.close()
        // Pages in the middle: in the table of documents or one of its indexes.
        let size = try #require(try FileManager.default.attributesOfItem(atPath: folder.file)[.size] as? UInt64)
        for page in [size / 4096 / 3, size / 4096 / 2] {
            try overwrite(at: page * 4096, with: Array(repeating: 0xA5, count: 4096))
        }

        let second = try DocumentIndex(folder: folder.path)
        guard case .rebuilt = second.outcome else {
            Issue.record("\(second.outcome)")
            return
        }
        #expect(try second.id("late") == id)
        #expect(try second.recents(of: anna, limit: 9).map(\.used) == [at(2)])
        #expect(
            try second.tags() == [
                TagSummary(tag: tag("gone"), count: 0, creators: [anna]), TagSummary(tag: tag("kept"), count: 0, creators: [anna, ben]),
                TagSummary(tag: tag("x"), count: 1),
            ])
        let batch = try #require(try second.lastTagRemovalBatch(of: anna))
        #expect(batch.removals.map(\.document.id) == [id])
        #expect(batch.removals.first?.tags == [tag("gone")])
        #expect(batch.tags == [tag("old")])
        try second.apply([.present(facts("fresh", inode: 60_000))])
        #expect(try #require(try second.id("fresh")) > newest)
    }

    @Test func damagedFilesAreNotKeptWithoutEnd() throws {
        for size in 5001...5006 {
            try Data(repeating: 7, count: size).write(to: URL(fileURLWithPath: folder.file))
            try DocumentIndex(folder: folder.path).close()
        }
        let kept = try folder.names(beginning: "index.sqlite.corrupt").map {
            try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\($0)")[.size] as? Int
        }
        #expect(kept == [5004, 5005, 5006])
    }

    @Test func aMissingStateFolderIsAnErrorThatNamesIt() throws {
        let missing = folder.path + "/none"
        #expect(throws: IndexError.unusable(path: missing + "/index.sqlite", reason: "No such file or directory")) {
            try DocumentIndex(folder: missing)
        }
    }

    @Test func aFullDiskIsItsOwnErrorAndLeavesTheIndexWhole() throws {
        let index = try DocumentIndex(folder: folder.path, pageLimit: 60)
        try index.apply([.present(facts("a", inode: 1))])
        #expect(throws: IndexError.diskFull) {
            try index.apply((2...20_000).map { .present(facts("document \($0)", inode: $0)) })
        }
        #expect(try index.count() == 1)
        try index.apply([.present(facts("b", inode: 2))])
        #expect(try index.count() == 2)
    }

    @Test func aClosedIndexSaysSo() throws {
        let index = try DocumentIndex(folder: folder.path)
        try index.close()
        try index.close()
        #expect(throws: IndexError.closed) { try index.count() }
        #expect(throws: IndexError.closed) { try index.checkpoint() }
        #expect(throws: IndexError.closed) { try index.apply([.absent(path("a"))]) }
    }
}
