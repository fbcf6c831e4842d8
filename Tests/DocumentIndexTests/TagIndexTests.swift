import DocumentIndex
import struct DocumentIndex.Tag
import StorePrimitives
import Testing

@Suite struct TagIndexTests {
    let folder = try! StateFolder()
    let index: DocumentIndex

    init() throws {
        index = try DocumentIndex(folder: folder.path)
        try index.apply([
            .present(facts("a", inode: 1, modified: 1, tags: ["work", "urgent"])),
            .present(facts("b", inode: 2, modified: 3, tags: ["work"])),
            .present(facts("c", inode: 3, modified: 2, tags: ["work/plan", "urgent"])), .present(facts("d", inode: 4)),
        ])
    }

    private func counts() throws -> [String] { try index.tags().map { "\($0.tag) \($0.count)\($0.keeper != nil ? " kept" : "")" } }

    @Test func aTagsDocumentsComeNewestFirst() throws {
        #expect(try index.tagged("work") == ["b", "a"])
        #expect(try index.tagged("work", limit: 1) == ["b"])
        try index.apply([.present(facts("a", inode: 1, modified: 9))])
        #expect(try index.tagged("work") == ["a", "b"])
        #expect(try index.tagged("nothing") == [])
        #expect(try index.documents(tagged: []) == [])
    }

    @Test func severalTagsMeanAllOfThem() throws {
        #expect(try index.tagged("work", "urgent") == ["a"])
        #expect(try index.tagged("urgent", "work") == ["a"])
        #expect(try index.tagged("urgent", "urgent") == ["c", "a"])
        #expect(try index.tagged("urgent", "nothing") == [])
    }

    @Test func tagsAreCountedAndEmptyOnesShowIfKept() throws {
        try index.makeTag(tag("later"), by: UserID(1000))
        #expect(try counts() == ["later 0 kept", "urgent 2", "work 2", "work/plan 1"])
        try index.apply([.tags(path("a"), []), .tags(path("c"), [tag("work/plan")])])
        #expect(try counts() == ["later 0 kept", "work 1", "work/plan 1"])
        #expect(try index.tags(nestedIn: tag("work")).map(\.tag) == [tag("work/plan")])
        #expect(try index.tags(nestedIn: tag("wor")) == [])
    }

    @Test func aTagShowsForItsDocumentsItsNestedTagsOrBecauseItIsKept() throws {
        #expect(try index.isShown(tag("urgent")))
        try index.makeTag(tag("x/y"), by: UserID(1000))
        #expect(try index.isShown(tag("x")))
        #expect(try !index.isShown(tag("y")))
    }

    @Test func tagsKeepTheirOrderOnTheDocument() throws {
        try index.apply([.tags(path("a"), ["z", "b", "a"].map(tag))])
        #expect(try index.tagNames("a") == ["z", "b", "a"])
    }

    @Test func makingATagThatShowsFails() throws {
        try index.makeTag(tag("new"), by: UserID(1000))
        for name in ["new", "urgent", "work"] {
            #expect(throws: IndexError.tagExists(tag(name))) { try index.makeTag(tag(name), by: UserID(1000)) }
        }
    }

    @Test func onlyEmptyTagsAreRemoved() throws {
        try index.keepTag(tag("urgent"), by: UserID(1000))
        #expect(throws: IndexError.tagNotEmpty(tag("urgent"))) { try index.removeTag(tag("urgent")) }
        try index.apply([.tags(path("a"), []), .tags(path("b"), []), .tags(path("c"), [tag("work/plan")])])
        try index.removeTag(tag("urgent"))
        #expect(throws: IndexError.noSuchTag(tag("urgent"))) { try index.removeTag(tag("urgent")) }
        #expect(throws: IndexError.tagNotEmpty(tag("work"))) { try index.removeTag(tag("work")) }
        #expect(throws: IndexError.noSuchTag(tag("never"))) { try index.removeTag(tag("never")) }
        #expect(try counts() == ["work/plan 1"])
    }

    @Test func renamingATagRenamesItOnItsDocumentsAndTheNestedOnes() throws {
        try index.makeTag(tag("work/empty"), by: UserID(1000))
        let renamed = try index.renameTag(tag("work"), to: tag("job"))
        #expect(renamed.map(\.path.description) == ["a", "b", "c"])
        #expect(renamed.map { $0.tags.map(\.text) } == [["job", "urgent"], ["job"], ["job/plan", "urgent"]])
        #expect(try counts() == ["job 2", "job/empty 0 kept", "job/plan 1", "urgent 2"])
        #expect(try index.tagged("job") == ["b", "a"])
        #expect(try !index.isShown(tag("work")))
    }

    @Test func renamingToATagInUseFailsUnlessMerging() throws {
        #expect(throws: IndexError.tagNotEmpty(tag("work"))) { try index.renameTag(tag("urgent"), to: tag("work")) }
        let renamed = try index.renameTag(tag("urgent"), to: tag("work"), merging: true)
        #expect(renamed.map { $0.tags.map(\.text) } == [["work"], ["work/plan", "work"]])
        #expect(try counts() == ["work 3", "work/plan 1"])
    }

    @Test func renamingToAnEmptyKeptTagReplacesIt() throws {
        try index.makeTag(tag("job"), by: UserID(1000))
        _ = try index.renameTag(tag("urgent"), to: tag("job"))
        #expect(try index.tagged("job") == ["c", "a"])
    }

    @Test func renamingIntoItselfAndOfNothingFails() throws {
        #expect(throws: IndexError.tagInsideItself(tag("work/x"))) { try index.renameTag(tag("work"), to: tag("work/x")) }
        #expect(throws: IndexError.noSuchTag(tag("none"))) { try index.renameTag(tag("none"), to: tag("x")) }
        #expect(try index.renameTag(tag("work"), to: tag("work")) == [])
    }

    @Test func renamingToTheTagAroundItUnnests() throws {
        try index.makeTag(tag("out/in"), by: UserID(1000))
        try index.makeTag(tag("out/in/in"), by: UserID(1000))
        _ = try index.renameTag(tag("out/in"), to: tag("out"), merging: true)
        #expect(try counts().prefix(2) == ["out 0 kept", "out/in 0 kept"])
    }
}

@Suite struct TagRemovalTests {
    let folder = try! StateFolder()
    let index: DocumentIndex

    init() throws {
        index = try DocumentIndex(folder: folder.path)
        try index.apply([.present(facts("a", inode: 1)), .present(facts("b", inode: 2))])
    }

    private func remove(_ name: String, from document: String, by user: UserID = anna, at seconds: Int64) throws {
        let id = try #require(try index.id(document))
        try index.recordTagRemovals([(id, tag(name))], by: user, at: at(seconds))
    }

    private func last(of user: UserID = anna) throws -> [String] {
        guard let batch = try index.lastTagRemovalBatch(of: user) else { return [] }
        return batch.removals.map { "\($0.document.path): \($0.tags.map(\.text).joined(separator: " "))" }
            + batch.tags.map(\.text)
    }

    @Test func removalsWithoutAPauseAreOneBatch() throws {
        try remove("x", from: "b", at: 0)
        try remove("x", from: "a", at: 4)
        try remove("y", from: "b", at: 8)
        try index.recordTagRemovals([], removedTags: [tag("x"), tag("y")], by: anna, at: at(12))
        #expect(try last() == ["b: x y", "a: x", "x", "y"])
        #expect(try index.lastTagRemovalBatch(of: anna)?.time == at(12))
    }

    @Test func aPauseBeginsANewBatch() throws {
        try remove("x", from: "a", at: 0)
        try remove("y", from: "a", at: 5)
        #expect(try last() == ["a: y"])
        try index.clearBatch(try #require(try index.lastTagRemovalBatch(of: anna)).id)
        #expect(try last() == ["a: x"])
        try index.clearBatch(try #require(try index.lastTagRemovalBatch(of: anna)).id)
        #expect(try index.lastTagRemovalBatch(of: anna) == nil)
    }

    @Test func eachUserHasBatchesOfTheirOwn() throws {
        try remove("x", from: "a", at: 0)
        try remove("y", from: "b", by: ben, at: 1)
        #expect(try last(of: anna) == ["a: x"])
        #expect(try last(of: ben) == ["b: y"])
    }

    @Test func documentsAreFoundWhereTheyAreNowAndGoneOnesPassedOver() throws {
        try remove("x", from: "a", at: 0)
        try remove("x", from: "b", at: 1)
        try index.apply([
            .moved(from: path("a"), to: path("z"), isFolder: false, takesOverTarget: false), .absent(path("b")),
        ])
        #expect(try last() == ["z: x"])
        try index.recordTagRemovals([(DocumentID(rawValue: 999), tag("q"))], by: anna, at: at(2))
        #expect(try last() == ["z: x"])
        try index.apply([.absent(path("z"))])
        #expect(try index.lastTagRemovalBatch(of: anna) == nil)
    }

    @Test func onlyTheLastBatchesAreKept() throws {
        for number in 0..<30 as Range<Int64> { try remove("t\(number)", from: "a", at: number * 100) }
        var kept: [String] = []
        while let batch = try index.lastTagRemovalBatch(of: anna) {
            kept += batch.removals.flatMap(\.tags).map(\.text)
            try index.clearBatch(batch.id)
        }
        #expect(kept == (10..<30).reversed().map { "t\($0)" })
    }
}
