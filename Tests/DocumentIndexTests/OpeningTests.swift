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
        #expect(throws: IndexError.newerVersion(found: 99, supported: 1)) { try DocumentIndex(folder: folder.path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file)) == before)
        #expect(try folder.names(beginning: "index.sqlite.corrupt") == [])
    }

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

    @Test func recentsKeptTagsTaggedDocumentsAndRemovalsAreSalvaged() throws {
        let first = try DocumentIndex(folder: folder.path)
        try first.apply((1...20_000).map { .present(facts("folder/document \($0)", inode: $0)) })
        try first.apply([
            .present(facts("late", inode: 50_001, tags: ["x"])), .present(facts("plain", inode: 50_002)),
            .used(path("late"), by: anna, at: at(1), written: false),
            .used(path("late"), by: anna, at: at(2), written: true),
        ])
        let id = try #require(try first.id("late"))
        try first.makeTag(tag("kept"), by: UserID(1000))
        try first.recordTagRemovals([(id, tag("gone"))], removedTags: [tag("old")], by: anna, at: at(3))
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
                TagSummary(tag: tag("kept"), count: 0, keeper: UserID(1000)), TagSummary(tag: tag("x"), count: 1, keeper: nil),
            ])
        let batch = try #require(try second.lastTagRemovalBatch(of: anna))
        #expect(batch.removals.map(\.document.id) == [id])
        #expect(batch.removals.first?.tags == [tag("gone")])
        #expect(batch.tags == [tag("old")])
        try second.apply([.present(facts("fresh", inode: 60_000))])
        #expect(try #require(try second.id("fresh")) > newest)
    }

    @Test func damagedFilesAreNotKeptWithoutEnd() throws {
        for _ in 0..<6 {
            try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: folder.file))
            try DocumentIndex(folder: folder.path).close()
        }
        // A write-ahead log goes with its database.
        let kept = try folder.names(beginning: "index.sqlite.corrupt")
        #expect(kept.filter { !$0.hasSuffix("-wal") }.count == 3, "\(kept)")
        #expect(kept.count <= 6)
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
