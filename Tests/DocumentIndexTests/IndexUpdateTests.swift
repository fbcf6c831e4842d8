import DocumentIndex
import struct DocumentIndex.Tag
import StorePrimitives
import Synchronization
import Testing

@Suite struct IndexUpdateTests {
    let folder = try! StateFolder()
    let index: DocumentIndex

    init() throws { index = try DocumentIndex(folder: folder.path) }

    @Test func aDocumentIsFoundByPathAndById() throws {
        try index.apply([
            .present(facts("a/b.txt", inode: 5, birth: -7, handle: [1, 2], size: 3, modified: 4, tags: ["x", "y"]))
        ])
        let document = try #require(try index.document(at: path("a/b.txt")))
        #expect(document.identity == DocumentIdentity(inode: 5, birth: -7, handle: [1, 2]))
        #expect(document.size == 3)
        #expect(document.modified == at(4))
        #expect(document.generation.rawValue == 1)
        #expect(document.tags == [tag("x"), tag("y")])
        #expect(try index.document(id: document.id) == document)
        #expect(try index.document(at: path("a")) == nil)
        #expect(try index.count() == 1)
    }

    /// Between the index and the function there may be no more calls the more often it was told: they would overflow the stack in the end.
    @Test func aFollowerIsToldByOneCallHoweverOften() throws {
        let places = Mutex<[UInt]>([])
        index.follow { _ in
            withUnsafeTemporaryAllocation(byteCount: 16, alignment: 16) { place in
                let address = UInt(bitPattern: place.baseAddress)
                places.withLock { $0.append(address) }
            }
        }
        for size in 1...300 { try index.apply([.present(facts("a", inode: 1, size: Int64(size)))]) }
        let seen = places.withLock { $0 }
        #expect(seen.count == 300)
        // A call takes 48 bytes and more.
        #expect((seen.max() ?? 0) - (seen.min() ?? 0) < 4_096)
    }

    @Test func inodeNumbersUseAll64Bits() throws {
        try index.apply([.present(facts("a", inode: .max))])
        #expect(try index.document(at: path("a"))?.identity.inode == .max)
    }

    @Test func namesThatAreNotTextAreKeptByteForByte() throws {
        let odd = StorePath(unchecked: [0xFF, 0xFE, 0x2F, 0x80])
        var seen = facts("x", inode: 1)
        seen.path = odd
        try index.apply([.present(seen)])
        let id = try #require(try index.document(at: odd)?.id)
        let from = StorePath(unchecked: [0xFF, 0xFE])
        let to = StorePath(unchecked: [0xC3, 0x28, 0x2F, 0xFD])
        try index.apply([.moved(from: from, to: to, isFolder: true, takesOverTarget: false)])
        #expect(try index.document(at: odd) == nil)
        #expect(try index.document(id: id)?.path.bytes == [0xC3, 0x28, 0x2F, 0xFD, 0x2F, 0x80])
        try index.apply([.absent(to)])
        #expect(try index.count() == 0)
    }

    @Test func anEditKeepsTheIdAndMakesAGeneration() throws {
        try index.apply([.present(facts("a", inode: 1, tags: ["x"]))])
        let id = try index.id("a")
        try index.apply([.present(facts("a", inode: 1))])
        #expect(try index.document(at: path("a"))?.generation.rawValue == 1)
        try index.apply([.present(facts("a", inode: 1, size: 11)), .present(facts("a", inode: 2, size: 11))])
        let document = try #require(try index.document(at: path("a")))
        #expect(document.id == id)
        #expect(document.generation.rawValue == 3)
        #expect(document.identity.inode == 2)
        #expect(document.tags == [tag("x")])
    }

    @Test func aHandleLearntLaterIsNoNewGeneration() throws {
        try index.apply([.present(facts("a", inode: 1)), .present(facts("a", inode: 1, handle: [9]))])
        try index.apply([.present(facts("a", inode: 1))])
        let document = try #require(try index.document(at: path("a")))
        #expect(document.generation.rawValue == 1)
        #expect(document.identity.handle == [9])
    }

    @Test func aFileWithoutOtherLinksAtANewPathMoved() throws {
        try index.apply([.present(facts("a", inode: 1, tags: ["x"])), .used(path("a"), by: anna, at: at(1), written: true)])
        let id = try index.id("a")
        try index.apply([.present(facts("b", inode: 1, tags: ["x"]))])
        #expect(try index.id("b") == id)
        #expect(try index.id("a") == nil)
        #expect(try index.recentPaths() == ["b"])
    }

    @Test func aHardLinkIsADocumentOfItsOwn() throws {
        try index.apply([.present(facts("a", inode: 1)), .present(facts("b", inode: 1, links: 2))])
        let (first, second) = (try index.id("a"), try index.id("b"))
        #expect(first != nil && second != nil && first != second)
        try index.apply([.absent(path("a"))])
        #expect(try index.id("b") == second)
    }

    @Test func anInodeUsedAgainIsAnotherDocument() throws {
        try index.apply([.present(facts("a", inode: 1, birth: 1, handle: [1]))])
        let id = try index.id("a")
        try index.apply([.present(facts("b", inode: 1, birth: 1, handle: [2])), .present(facts("c", inode: 1, birth: 2))])
        #expect(try index.id("a") == id)
        #expect(try index.id("b") != id)
        #expect(try index.id("c") != id)
        #expect(try index.count() == 3)
    }

    @Test func withoutBirthTimesSizeAndTimeMustAgreeToo() throws {
        try index.apply([.present(facts("a", inode: 1, birth: 0, size: 5)), .present(facts("c", inode: 2, birth: 0))])
        let (first, second) = (try index.id("a"), try index.id("c"))
        try index.apply([.present(facts("b", inode: 1, birth: 0, size: 6)), .present(facts("d", inode: 2, birth: 0))])
        #expect(try index.id("a") == first)
        #expect(try index.id("b") != first)
        #expect(try index.id("d") == second)
    }

    @Test func aDocumentThatComesBackIsKnownAgain() throws {
        try index.apply([
            .present(facts("d/a", inode: 1, tags: ["x"])), .used(path("d/a"), by: anna, at: at(1), written: false),
            .absent(path("d")),
        ])
        #expect(try index.count() == 0)
        #expect(try index.tagged("x") == [])
        #expect(try index.tags() == [])
        #expect(try index.recentPaths() == [])
        try index.apply([.present(facts("e", inode: 1))])
        #expect(try index.recentPaths() == ["e"])
        #expect(try index.tagged("x") == ["e"])
        try index.apply([.absent(path("e")), .present(facts("f", inode: 1, size: 99))])
        #expect(try index.recentPaths() == [])
    }

    @Test func idsAreNeverUsedAgain() throws {
        var ids: Set<DocumentID> = []
        for inode in 1...5 as ClosedRange<UInt64> {
            try index.apply([.present(facts("a", inode: inode, size: Int64(inode)))])
            ids.insert(try #require(try index.id("a")))
            try index.apply([.absent(path("a"))])
        }
        #expect(ids.count == 5)
    }

    @Test func removingAFolderTakesWhatIsInsideAndNothingElse() throws {
        try index.apply(
            ["d", "d/a", "d/e/b", "d.txt", "d0", "da", "c"].enumerated().map {
                .present(facts($1, inode: UInt64($0 + 1)))
            })
        try index.apply([.absent(path("d"))])
        #expect(try index.count() == 4)
        for name in ["d.txt", "d0", "da", "c"] { #expect(try index.id(name) != nil) }
        try index.apply([.absent(.root)])
        #expect(try index.count() == 0)
    }

    @Test func aRenameMovesTheDocumentAndReplacesTheTarget() throws {
        try index.apply([.present(facts("a", inode: 1, tags: ["x"])), .present(facts("b", inode: 2, tags: ["y"]))])
        let (first, second) = (try #require(try index.id("a")), try #require(try index.id("b")))
        try index.apply([.moved(from: path("a"), to: path("b"), isFolder: false, takesOverTarget: false)])
        #expect(try index.id("b") == first)
        #expect(try index.document(id: second) == nil)
        #expect(try index.tagged("x") == ["b"])
        #expect(try index.tagged("y") == [])
    }

    @Test func renamingAnUnknownFileOverADocumentEndsTheDocument() throws {
        try index.apply([.present(facts("b", inode: 2))])
        try index.apply([.moved(from: path("new"), to: path("b"), isFolder: false, takesOverTarget: false)])
        #expect(try index.id("b") == nil)
    }

    /// With inotify the watcher may tell of the mount's own renames before the mount does, which then looks at files again.
    @Test(arguments: [true, false])
    func aRenameToldAgainLosesNothing(isFolder: Bool) throws {
        let (from, to) = isFolder ? ("d", "e") : ("d/a", "e/a")
        try index.apply([.present(facts("d/a", inode: 1, tags: ["x"]))])
        let id = try #require(try index.id("d/a"))
        // On a store without attributes only the index knows the tags.
        let moved = IndexUpdate.present(facts("e/a", inode: 1))
        try index.apply([moved])
        try index.apply([.moved(from: path(from), to: path(to), isFolder: isFolder, takesOverTarget: false)])
        if !isFolder { try index.apply([moved]) }
        #expect(try index.id("e/a") == id)
        #expect(try index.tagged("x") == ["e/a"])
    }

    @Test func aFolderRenameMovesWhatIsInsideAndNothingElse() throws {
        let names = ["d/a", "d/e/b", "d.txt", "d0"]
        try index.apply(names.enumerated().map { .present(facts($1, inode: UInt64($0 + 1), tags: ["t"])) })
        let ids = try names.map { try index.id($0) }
        try index.apply([.moved(from: path("d"), to: path("x/longer"), isFolder: true, takesOverTarget: false)])
        #expect(try ["x/longer/a", "x/longer/e/b", "d.txt", "d0"].map { try index.id($0) } == ids)
        #expect(try Set(index.tagged("t")) == ["x/longer/a", "x/longer/e/b", "d.txt", "d0"])
        try index.apply([.moved(from: path("x/longer"), to: path("d"), isFolder: true, takesOverTarget: false)])
        #expect(try names.map { try index.id($0) } == ids)
    }

    /// A folder of three names of 200 bytes, and documents in it whose paths are as long as any may be, and one byte shorter.
    private static let deep = Array(repeating: String(repeating: "n", count: 200), count: 3).joined(separator: "/")

    private static func document(in folder: String, ofLength length: Int) -> String {
        var path = folder
        while length - path.utf8.count > 200 { path += "/" + String(repeating: "m", count: 99) }
        return path + "/" + String(repeating: "l", count: length - path.utf8.count - 1)
    }

    @Test(arguments: [true, false]) func documentsWhosePathsBecomeTooLongHaveLeft(isExchange: Bool) throws {
        let longest = Self.document(in: Self.deep, ofLength: StorePath.longest)
        let shorter = Self.document(in: Self.deep, ofLength: StorePath.longest - 1)
        let other = Self.deep + "x/document"
        try index.apply([
            .present(facts(longest, inode: 1, tags: ["t"])), .present(facts(shorter, inode: 2, tags: ["t"])), .present(facts(other, inode: 3)),
        ])
        let ids = try [longest, shorter, other].map { try index.id($0) }
        let longer = Self.deep + "x"
        try index.apply([
            isExchange ? .exchanged(path(Self.deep), path(longer))
                : .moved(from: path(Self.deep), to: path(longer), isFolder: true, takesOverTarget: false)
        ])
        #expect(try index.count() == (isExchange ? 2 : 1))
        let moved = try #require(path(shorter).moved(from: path(Self.deep), to: path(longer)))
        #expect(try index.document(at: moved)?.id == ids[1])
        #expect(try index.tagged("t") == [moved.description])
        if isExchange { #expect(try index.id(Self.deep + "/document") == ids[2]) }
        // It is known again where its path is one.
        try index.apply([.present(facts("back", inode: 1, tags: ["t"]))])
        #expect(try index.id("back") == ids[0])
    }

    @Test func aDocumentMovedWhereItsPathIsTooLongHasLeft() throws {
        let folder = Self.document(in: Self.deep, ofLength: StorePath.longest - 5)
        try index.apply([.present(facts(folder + "/four", inode: 1)), .present(facts("short name", inode: 2))])
        try index.apply([.exchanged(path(folder + "/four"), path("short name"))])
        #expect(try index.count() == 2)
        for isExchange in [true, false] {
            let long = path(folder + "/longer")
            try index.apply([.present(facts("short", inode: 3))])
            try index.apply([isExchange ? .exchanged(path("short"), long) : .moved(from: path("short"), to: long, isFolder: false, takesOverTarget: false)])
            #expect(try index.count() == 2)
            #expect(try index.document(at: long) == nil)
        }
    }

    @Test func tagsOfAFileFollowItWhenNamesWereSwapped() throws {
        try index.apply([.present(facts("f/mine", inode: 1, handle: [1])), .present(facts("f/theirs", inode: 2, handle: [2]))])
        let mine = DocumentIdentity(inode: 1, birth: 1, handle: [1])
        try index.apply([.exchanged(path("f/mine"), path("f/theirs")), .tagsOfFile(mine, at: path("f/mine"), [tag("x")])])
        #expect(try index.tagged("x") == ["f/theirs"])
        #expect(try index.document(of: mine, at: path("f/mine"))?.path == path("f/theirs"))
        try index.apply([.tagsOfFile(DocumentIdentity(inode: 1, birth: 1, handle: [3]), at: path("f/theirs"), [tag("y")])])
        #expect(try index.tagged("y") == [])
    }

    @Test func impossibleRenamesChangeNothing() throws {
        try index.apply([.present(facts("d/a", inode: 1))])
        for (from, to) in [("d", "d"), ("d", "d/e"), ("d/a", "d")] {
            try index.apply([.moved(from: path(from), to: path(to), isFolder: true, takesOverTarget: false)])
        }
        try index.apply([.exchanged(path("d"), path("d/a")), .exchanged(path("d/a"), path("d/a"))])
        #expect(try index.id("d/a") != nil)
        #expect(try index.count() == 1)
    }

    @Test func aSaveByRenameKeepsTheDocument() throws {
        try index.apply([
            .present(facts("doc", inode: 1, tags: ["x"])), .used(path("doc"), by: anna, at: at(5), written: false),
            .present(facts("doc.new", inode: 2, size: 77, tags: [])),
            .used(path("doc.new"), by: ben, at: at(6), written: true),
        ])
        let id = try index.id("doc")
        let end = try #require(try index.id("doc.new"))
        try index.apply([.moved(from: path("doc.new"), to: path("doc"), isFolder: false, takesOverTarget: true)])
        let document = try #require(try index.document(at: path("doc")))
        #expect(document.id == id)
        #expect(document.identity.inode == 2)
        #expect(document.size == 77)
        #expect(document.generation.rawValue == 2)
        #expect(document.tags == [tag("x")])
        #expect(try index.document(id: end) == nil)
        #expect(try index.id("doc.new") == nil)
        #expect(try index.tagged("x") == ["doc"])
        #expect(try index.recentPaths(of: anna) == ["doc"])
        #expect(try index.recentPaths(of: ben) == ["doc"])
    }

    @Test func aSaveByRenameWithTagsOfItsOwnKeepsThose() throws {
        try index.apply([.present(facts("doc", inode: 1, tags: ["x"])), .present(facts("new", inode: 2, tags: ["y"]))])
        try index.apply([.moved(from: path("new"), to: path("doc"), isFolder: false, takesOverTarget: true)])
        #expect(try index.tagNames("doc") == ["y"])
        #expect(try index.tagged("x") == [])
    }

    @Test func takingOverWithoutATargetIsARename() throws {
        try index.apply([.present(facts("new", inode: 2))])
        let id = try index.id("new")
        try index.apply([.moved(from: path("new"), to: path("doc"), isFolder: false, takesOverTarget: true)])
        #expect(try index.id("doc") == id)
    }

    @Test func takingOverByAnUnknownFileKeepsTheTarget() throws {
        try index.apply([.present(facts("doc", inode: 1))])
        let id = try index.id("doc")
        try index.apply([
            .moved(from: path("new"), to: path("doc"), isFolder: false, takesOverTarget: true),
            .present(facts("doc", inode: 2)),
        ])
        #expect(try index.id("doc") == id)
    }

    @Test func exchangingSwapsDocumentsAndFolders() throws {
        try index.apply([
            .present(facts("d/a", inode: 1)), .present(facts("d/b", inode: 2)), .present(facts("e", inode: 3)),
        ])
        let ids = try ["d/a", "d/b", "e"].map { try index.id($0) }
        try index.apply([.exchanged(path("d"), path("e"))])
        #expect(try ["e/a", "e/b", "d"].map { try index.id($0) } == ids)
        try index.apply([.exchanged(path("e/a"), path("e/b"))])
        #expect(try ["e/b", "e/a", "d"].map { try index.id($0) } == ids)
        #expect(try index.count() == 3)
    }

    @Test(arguments: [false, true]) func aNameMadeAnewKeepsTheDocument(metEarly: Bool) throws {
        try index.apply([
            .present(facts("doc", inode: 1, size: 1, tags: ["x"])), .used(path("doc"), by: anna, at: at(5), written: true),
            .moved(from: path("doc"), to: path("doc~"), isFolder: false, takesOverTarget: false),
        ])
        let id = try index.id("doc~")
        if metEarly { try index.apply([.present(facts("doc", inode: 2, size: 0, tags: []))]) }
        try index.apply([.madeAnew(facts("doc", inode: 2, size: 9, tags: []), takingOverFrom: path("doc~"))])
        let document = try #require(try index.document(at: path("doc")))
        #expect(document.id == id)
        #expect(document.identity.inode == 2)
        #expect(document.size == 9)
        #expect(document.tags == [tag("x")])
        let aside = try #require(try index.document(at: path("doc~")))
        #expect(aside.id != id)
        #expect(aside.identity.inode == 1)
        #expect(aside.tags == [tag("x")])
        #expect(try index.recentPaths() == ["doc"])
        #expect(try index.count() == 2)
    }

    @Test func aNameMadeAnewWithoutTheOldFileIsANewDocument() throws {
        try index.apply([.madeAnew(facts("doc", inode: 2), takingOverFrom: path("doc~"))])
        #expect(try index.id("doc") != nil)
        #expect(try index.count() == 1)
    }

    @Test func changesOfOneCallAreAppliedInOrder() throws {
        try index.apply([
            .present(facts("a", inode: 1)), .moved(from: path("a"), to: path("b"), isFolder: false, takesOverTarget: false),
            .tags(path("b"), [tag("x")]), .tags(path("a"), [tag("y")]),
            .used(path("a"), by: anna, at: at(1), written: true),
        ])
        #expect(try index.tagNames("b") == ["x"])
        #expect(try index.tags().map(\.tag) == [tag("x")])
        #expect(try index.recentPaths() == [])
    }
}
