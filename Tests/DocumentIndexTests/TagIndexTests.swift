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

    private func counts() throws -> [String] { try index.tags().map { "\($0.tag) \($0.count)\($0.creators.isEmpty ? "" : " kept")" } }

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
        try index.keepTag(tag("later"), by: UserID(1000))
        #expect(try counts() == ["later 0 kept", "urgent 2", "work 2", "work/plan 1"])
        try index.apply([.tags(path("a"), []), .tags(path("c"), [tag("work/plan")])])
        #expect(try counts() == ["later 0 kept", "work 1", "work/plan 1"])
        #expect(try index.tags(nestedIn: tag("work")).map(\.tag) == [tag("work/plan")])
        #expect(try index.tags(nestedIn: tag("wor")) == [])
    }

    @Test func aTagIsKnownForItsDocumentsItsNestedTagsOrBecauseItIsKept() throws {
        #expect(try index.knows(tag("urgent")))
        try index.keepTag(tag("x/y"), by: UserID(1000))
        #expect(try index.knows(tag("x")))
        #expect(try !index.knows(tag("y")))
    }

    @Test func eachUserKeepsATagForThemselves() throws {
        for user in [anna, ben] { try index.keepTag(tag("x/y"), by: user) }
        #expect(try index.tags(nestedIn: tag("x")) == [TagSummary(tag: tag("x/y"), count: 0, creators: [anna, ben])])
        #expect(try index.isKept(nestedIn: tag("x"), orItself: false, by: ben))
        #expect(try !index.isKept(nestedIn: tag("x/y"), orItself: false, by: ben))
        #expect(try index.isKept(nestedIn: tag("x/y"), orItself: true, by: ben))
        for _ in 1...2 { try index.apply([.tagDropped(tag("x/y"), by: ben, keeper: ben, at: at(1))]) }
        #expect(try !index.isKept(nestedIn: tag("x"), orItself: false, by: ben))
        #expect(try index.isKept(nestedIn: tag("x"), orItself: false, by: nil))
        try index.keepTag(tag("x/y"), by: ben)
        try index.apply([.tagDropped(tag("x/y"), by: anna, keeper: nil, at: at(2))])
        #expect(try !index.knows(tag("x")))
    }

    @Test func documentsOfATagAreFoundByTheirNames() throws {
        try index.apply([
            .present(facts("f/report", inode: 10, modified: 1, tags: ["work"])),
            .present(facts("g/report", inode: 11, modified: 2, tags: ["work", "urgent"])),
            .present(facts("g/report 2", inode: 12, tags: ["work"])),
        ])
        func named(_ name: String, _ tags: String...) throws -> [String] {
            try index.documents(tagged: tags.map(tag), named: EntryName(name)).map(\.path.description)
        }
        #expect(try named("report", "work") == ["f/report", "g/report"])
        #expect(try named("report", "work", "urgent") == ["g/report"])
        #expect(try named("report", "urgent", "work") == ["g/report"])
        #expect(try named("g", "work") == [])
        try index.apply([
            .moved(from: path("f/report"), to: path("f/letter"), isFolder: false, takesOverTarget: false),
            .moved(from: path("g"), to: path("h"), isFolder: true, takesOverTarget: false),
        ])
        #expect(try named("report", "work") == ["h/report"])
        #expect(try named("letter", "work") == ["f/letter"])
        try index.apply([.exchanged(path("h/report"), path("f/letter"))])
        #expect(try named("report", "work") == ["h/report"])
        #expect(try named("report", "urgent") == [])
        #expect(try named("letter", "urgent") == ["f/letter"])
        try index.apply([.present(facts("f/memo", inode: 11, modified: 2, tags: ["work", "urgent"]))])
        #expect(try named("memo", "urgent") == ["f/memo"])
        #expect(try named("letter", "urgent") == [])
    }

    @Test func changesTellWhetherTheyTouchTags() throws {
        func touches(_ changes: IndexUpdate...) throws -> Bool { try index.apply(changes) }
        #expect(try !touches(.present(facts("a", inode: 1, modified: 7, tags: ["work", "urgent"])), .present(facts("e", inode: 5))))
        #expect(try !touches(.used(path("a"), by: anna, at: at(1), written: true)))
        #expect(try !touches(.useRetracted(path("a"), by: anna, at: at(1)), .absent(path("d")), .absent(path("none"))))
        #expect(try !touches(.moved(from: path("e"), to: path("f"), isFolder: false, takesOverTarget: false)))
        // A save by rename of a document with tags.
        #expect(try !touches(.moved(from: path("f"), to: path("b"), isFolder: false, takesOverTarget: true)))
        #expect(try touches(.present(facts("g", inode: 7, tags: ["new"]))))
        #expect(try touches(.present(facts("h", inode: 7, tags: ["new"]))))
        #expect(try touches(.tags(path("h"), [])))
        #expect(try !touches(.tags(path("h"), [])))
        #expect(try touches(.moved(from: path("a"), to: path("i"), isFolder: false, takesOverTarget: false)))
        #expect(try touches(.moved(from: path("h"), to: path("i"), isFolder: false, takesOverTarget: false)))
        #expect(try touches(.absent(path("c"))))
    }

    @Test func documentsInsideATagHaveItOrOneNestedInIt() throws {
        func inside(_ name: String, limit: Int = .max) throws -> Set<String> {
            Set(try index.documents(inside: tag(name), limit: limit).map(\.path.description))
        }
        #expect(try inside("work") == ["a", "b", "c"])
        #expect(try inside("work/plan") == ["c"])
        #expect(try inside("wor") == [])
        #expect(try inside("work", limit: 2).count == 2)
    }

    @Test func tagsKeepTheirOrderOnTheDocument() throws {
        try index.apply([.tags(path("a"), ["z", "b", "a"].map(tag))])
        #expect(try index.tagNames("a") == ["z", "b", "a"])
    }

    private func documents(_ ids: [DocumentID]) throws -> [Document] { try ids.compactMap { try index.document(id: $0) } }

    /// Where the new tag is in use, each document is looked at; else not. Shares are counted the same.
    @Test func aTagThatIsRenamedBackIsAsItWas() throws {
        let before = (try counts(), try index.use(of: .tags, by: anna), try index.use(of: .indexBytes, by: anna))
        _ = try index.renameTag(tag("work"), to: tag("much-longer-name"), for: .all)
        _ = try index.renameTag(tag("much-longer-name"), to: tag("work"), for: .all)
        #expect(try counts() == before.0)
        #expect(try index.use(of: .tags, by: anna) == before.1 && index.use(of: .indexBytes, by: anna) == before.2)
        #expect(try index.tagged("work") == ["b", "a"])
        #expect(try index.tagged("work", "urgent") == ["a"])
    }

    @Test func renamingATagRenamesItOnItsDocumentsAndTheNestedOnes() throws {
        try index.keepTag(tag("work/empty"), by: UserID(1000))
        let renamed = try index.renameTag(tag("work"), to: tag("job"), for: .all)
        #expect(try documents(renamed).map(\.path.description) == ["a", "b", "c"])
        #expect(try documents(renamed).map { $0.tags.map(\.text) } == [["job", "urgent"], ["job"], ["job/plan", "urgent"]])
        #expect(try counts() == ["job 2", "job/empty 0 kept", "job/plan 1", "urgent 2"])
        #expect(try index.tagged("job") == ["b", "a"])
        #expect(try !index.knows(tag("work")))
    }

    @Test func aShareOfATagIsRenamedAlone() throws {
        for user in [anna, ben] { try index.keepTag(tag("work/empty"), by: user) }
        let share = TagShare.of(anna, documents: [try #require(try index.id("a")), try #require(try index.id("d"))])
        #expect(try documents(index.renameTag(tag("work"), to: tag("job"), for: share)).map(\.path.description) == ["a"])
        #expect(try counts() == ["job 1", "job/empty 0 kept", "urgent 2", "work 1", "work/empty 0 kept", "work/plan 1"])
        #expect(try index.isKept(nestedIn: tag("job"), orItself: false, by: anna))
        #expect(try index.isKept(nestedIn: tag("work"), orItself: false, by: ben))
        #expect(try !index.isKept(nestedIn: tag("work"), orItself: false, by: anna))
        #expect(throws: IndexError.noSuchTag(tag("work"))) {
            try index.renameTag(tag("work"), to: tag("other"), for: .of(anna, documents: []))
        }
    }

    @Test func renamingToATagInUseMakesThemOne() throws {
        let renamed = try index.renameTag(tag("urgent"), to: tag("work"), for: .all)
        #expect(try documents(renamed).map { $0.tags.map(\.text) } == [["work"], ["work/plan", "work"]])
        #expect(try counts() == ["work 3", "work/plan 1"])
    }

    @Test func renamingIntoItselfAndOfNothingFails() throws {
        #expect(throws: IndexError.tagInsideItself(tag("work/x"))) {
            try index.renameTag(tag("work"), to: tag("work/x"), for: .all)
        }
        #expect(throws: IndexError.noSuchTag(tag("none"))) { try index.renameTag(tag("none"), to: tag("x"), for: .all) }
        #expect(try index.renameTag(tag("work"), to: tag("work"), for: .all) == [])
    }

    @Test func renamingToTheTagAroundItUnnests() throws {
        try index.keepTag(tag("out/in"), by: UserID(1000))
        try index.keepTag(tag("out/in/in"), by: UserID(1000))
        _ = try index.renameTag(tag("out/in"), to: tag("out"), for: .all)
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
        try index.apply([.tagsTaken([tag(name)], from: path(document), by: user, at: at(seconds), canBeUndone: true)])
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
        for name in ["x", "y"] { try index.apply([.tagDropped(tag(name), by: anna, keeper: anna, at: at(12))]) }
        #expect(try last() == ["b: x y", "a: x", "x", "y"])
        #expect(try index.lastTagRemovalBatch(of: anna)?.time == at(12))
    }

    @Test func tagsTakenGoOnToBeShownToTheUserWhoTookThem() throws {
        try remove("x", from: "a", at: 0)
        try index.apply([.tagsTaken([tag("moved")], from: path("a"), by: anna, at: at(0), canBeUndone: false)])
        try remove("elsewhere", from: "nowhere", at: 0)
        func kept(by user: UserID) throws -> [Bool] {
            try ["x", "moved", "elsewhere"].map { try index.isKept(nestedIn: tag($0), orItself: true, by: user) }
        }
        #expect(try kept(by: anna) == [true, true, false])
        #expect(try kept(by: ben) == [false, false, false])
        #expect(try last() == ["a: x"])
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
        try remove("q", from: "nowhere", at: 2)
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
