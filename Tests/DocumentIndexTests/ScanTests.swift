import DocumentIndex
import struct DocumentIndex.Tag
import StorePrimitives
import Testing

@Suite struct ScanTests {
    let folder = try! StateFolder()
    let index: DocumentIndex

    init() throws { index = try DocumentIndex(folder: folder.path) }

    @Test func documentsNotMetAreGoneWhenThePassEndsNotBefore() throws {
        try index.scanAll([facts("a", inode: 1), facts("b", inode: 2)])
        let pass = try index.beginScan()
        try index.apply([.present(facts("a", inode: 1))], during: pass, asOf: index.moment())
        #expect(try index.count() == 2)
        #expect(try index.finishScan(pass) == ScanResult(moved: 0, departed: 1))
        #expect(try index.id("a") != nil)
        #expect(try index.id("b") == nil)
    }

    @Test(arguments: [false, true]) func documentsMovedWhileNobodyWatchedKeepTheirIds(newFirst: Bool) throws {
        try index.scanAll([facts("a", inode: 1, tags: ["x"]), facts("d/b", inode: 2), facts("c", inode: 3)])
        try index.apply([.used(path("a"), by: anna, at: at(1), written: true)])
        let ids = try ["a", "d/b", "c"].map { try index.id($0) }
        let seen = [facts("c", inode: 3), facts("e/a2", inode: 1, size: 55, tags: ["x"]), facts("f/b", inode: 2)]
        let result = try index.scanAll(newFirst ? seen.reversed() : seen)
        #expect(result == ScanResult(moved: 2, departed: 0))
        #expect(try ["e/a2", "f/b", "c"].map { try index.id($0) } == ids)
        #expect(try index.document(at: path("e/a2"))?.generation.rawValue == 2)
        #expect(try index.recentPaths() == ["e/a2"])
        #expect(try index.tagged("x") == ["e/a2"])
        #expect(try index.count() == 3)
    }

    @Test(arguments: [false, true]) func aLinkMadeWhileNobodyWatchedIsADocumentOfItsOwn(newFirst: Bool) throws {
        try index.scanAll([facts("a", inode: 1)])
        let id = try index.id("a")
        let seen = [facts("a", inode: 1, links: 2), facts("b", inode: 1, links: 2)]
        try index.scanAll(newFirst ? seen.reversed() : seen)
        #expect(try index.id("a") == id)
        #expect(try index.count() == 2)
    }

    @Test(arguments: [false, true]) func aPathKeepsItsDocumentWhenItsFileWasMovedAsideForABackup(asideFirst: Bool) throws {
        try index.scanAll([facts("doc", inode: 1)])
        let id = try index.id("doc")
        let seen = [facts("doc~", inode: 1), facts("doc", inode: 2)]
        try index.scanAll(asideFirst ? seen : seen.reversed())
        #expect(try index.id("doc") == id)
        #expect(try index.id("doc~") != id)
    }

    @Test func usesOfADocumentMetAtItsNewPathAreKept() throws {
        try index.scanAll([facts("a", inode: 1)])
        try index.apply([.used(path("a"), by: anna, at: at(1), written: false)])
        let id = try index.id("a")
        let pass = try index.beginScan()
        try index.apply([.present(facts("b", inode: 1))], during: pass, asOf: index.moment())
        try index.apply([.used(path("b"), by: anna, at: at(9), written: true), .tags(path("b"), [tag("t")])])
        _ = try index.finishScan(pass)
        #expect(try index.id("b") == id)
        #expect(try index.recents(of: anna, limit: 9).map(\.used) == [at(9)])
        #expect(try index.tagged("t") == ["b"])
    }

    @Test func tagsOfAStoreWithoutAttributesMoveAlong() throws {
        try index.scanAll([facts("a", inode: 1)])
        try index.apply([.tags(path("a"), [tag("t")])])
        try index.scanAll([facts("b", inode: 1)])
        #expect(try index.tagged("t") == ["b"])
    }

    @Test func whatIsToldMeanwhileNeedsNotBeMet() throws {
        try index.scanAll([facts("d/a", inode: 1), facts("b", inode: 2), facts("x", inode: 3), facts("y", inode: 4)])
        let pass = try index.beginScan()
        try index.apply([
            .moved(from: path("d"), to: path("e"), isFolder: true, takesOverTarget: false),
            .present(facts("new", inode: 9)),
            .exchanged(path("x"), path("y")),
            .moved(from: path("b"), to: path("c"), isFolder: false, takesOverTarget: false),
        ])
        #expect(try index.finishScan(pass) == ScanResult(moved: 0, departed: 0))
        #expect(try index.count() == 5)
    }

    @Test func whatWasSeenBeforeAChangeToldMeanwhileIsOutdated() throws {
        try index.scanAll([facts("d/a", inode: 1), facts("b", inode: 2), facts("c", inode: 3)])
        let pass = try index.beginScan()
        let moment = index.moment()
        try index.apply([.absent(path("d")), .present(facts("b", inode: 2, size: 20))])
        let outdated = try index.apply(
            [.present(facts("d/a", inode: 1)), .present(facts("b", inode: 2, size: 10)), .present(facts("c", inode: 3))],
            during: pass, asOf: moment)
        #expect(outdated == [path("d/a"), path("b")])
        #expect(try index.apply([.present(facts("d/z", inode: 5))], during: pass, asOf: index.moment()) == [])
        #expect(try index.finishScan(pass) == ScanResult(moved: 0, departed: 0))
        #expect(try index.id("d/a") == nil)
        #expect(try index.document(at: path("b"))?.size == 20)
        #expect(try index.id("d/z") != nil)
    }

    @Test func aPassOverAFolderLeavesTheRestAlone() throws {
        try index.scanAll([facts("d/a", inode: 1), facts("d/b", inode: 2), facts("d0", inode: 3), facts("z", inode: 4)])
        let result = try index.scanAll([facts("d/a", inode: 1)], in: path("d"))
        #expect(result == ScanResult(moved: 0, departed: 1))
        #expect(try index.count() == 3)
    }

    @Test func aNewPassSupersedesTheOneBefore() throws {
        let first = try index.beginScan()
        let second = try index.beginScan()
        #expect(throws: IndexError.scanSuperseded) { try index.finishScan(first) }
        #expect(throws: IndexError.scanSuperseded) {
            try index.apply([.present(facts("a", inode: 1))], during: first, asOf: index.moment())
        }
        index.abandonScan(second)
        #expect(throws: IndexError.scanSuperseded) { try index.finishScan(second) }
        #expect(try index.count() == 0)
    }

    @Test func aDocumentThatLeftOnePassIsKnownAgainInTheNext() throws {
        try index.scanAll([facts("a", inode: 1)])
        let id = try index.id("a")
        try index.scanAll([])
        #expect(try index.count() == 0)
        try index.scanAll([facts("b", inode: 1)])
        #expect(try index.id("b") == id)
    }
}
