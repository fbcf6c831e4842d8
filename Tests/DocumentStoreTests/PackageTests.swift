import DocumentStore
import StorePrimitives
import Testing

struct PackageTests {
    @Test func theEndingOfAFoldersNameMakesItAPackage() {
        let packages = Packages(endings: ["scriv", "RTFD"])
        let names = ["Novel.scriv", "a.b.scriv", "NOTE.Rtfd", ".hidden.scriv", "Novel.scriv.old", "scriv", ".scriv", "Novel.", "Novel", "Novel.scrivx", "."]
        #expect(names.filter { packages.isPackage(EntryName($0)) } == ["Novel.scriv", "a.b.scriv", "NOTE.Rtfd", ".hidden.scriv"])
    }

    @Test func aPathIntoPackagesLeadsToTheOutermost() throws {
        let packages = Packages(endings: ["scriv", "rtfd"])
        for (path, whole) in [
            ("a/Novel.scriv/Files/1.rtfd/TXT.rtf", "a/Novel.scriv"), ("a/Novel.scriv", "a/Novel.scriv"), ("Novel.scriv/x", "Novel.scriv"),
            ("a.b/c.d/e.scriv", "a.b/c.d/e.scriv"), ("a/.scriv/b", "a/.scriv/b"), ("", ""),
        ] {
            let parsed = try #require(StorePath(path))
            #expect(packages.whole(parsed).description == whole)
            #expect(packages.isPart(parsed) == (path != whole))
        }
    }

    /// What is declared elsewhere is asked for once, so that no folder turns into a package meanwhile.
    @Test func declaredTypesAreAskedForOnce() {
        let asked = Locked<[String]>([])
        let packages = Packages(endings: ["scriv"]) { name in
            asked.withLock {
                $0.append("\(name)")
                return name == EntryName("a.sketch") && $0.count == 1
            }
        }
        #expect(packages.isPackage(EntryName("one.sketch")) && packages.isPackage(EntryName("two.Sketch")) && packages.isPackage(EntryName("a.scriv")))
        #expect(!packages.isPackage(EntryName("one.txt")) && !packages.isPackage(EntryName("two.txt")))
        #expect(asked.withLock { $0 } == ["a.sketch", "a.txt"])
    }

    @Test func whatNotAllReadersMaySeeDoesNotCountForSeveralUsers() throws {
        let folder = try TestFolder()
        try folder.shell("umask 022; mkdir -p a.scriv/open a.scriv/closed/inner; echo 1 >a.scriv/open/one; echo 123 >a.scriv/closed/inner/two; chmod 700 a.scriv/closed; mkdir -m 700 b.scriv; echo 12345 >b.scriv/x; mkdir c.scriv; echo 1 >c.scriv/x; chmod 744 c.scriv; mkdir -p d.scriv/inner; echo 1 >d.scriv/inner/x; chmod 750 d.scriv d.scriv/inner; setfacl -m u:61002:rx d.scriv")
        let all = ["a.scriv 6", "b.scriv 6", "c.scriv 2", "d.scriv 2"]
        for (countsAll, sizes) in [(true, all), (false, ["a.scriv 2", "b.scriv 6", "c.scriv 0", "d.scriv 0"])] {
            var found: [String] = []
            let scan = StoreScan(folder.store, packages: Packages(endings: ["scriv"], countsAll: countsAll))
            let isWhole = try scan.run(lowPriority: false) { batch in
                found += batch.map { "\($0.path) \($0.size)" }
                return true
            }
            #expect(isWhole)
            #expect(found.sorted() == sizes)
        }
    }

    @Test(arguments: TestFolder.bases)
    func aScanHandsOverAPackageAsOneDocument(_ base: String) throws {
        let folder = try TestFolder(on: base)
        try folder.shell(
            """
            mkdir -p a/Novel.scriv/Files/Deep.rtfd plain; echo 12345 >a/Novel.scriv/one; echo 123 >a/Novel.scriv/Files/two; echo 1 >a/Novel.scriv/Files/Deep.rtfd/three
            ln -s /etc/passwd a/Novel.scriv/link; echo x >plain/file; echo x >single.scriv; mkdir empty.rtfd
            find . -exec touch -h -d 2001-01-01 {} +; touch -d '2001-02-03 UTC' a/Novel.scriv/Files/two
            """)
        let packages = Packages(endings: ["scriv", "rtfd"])
        func scanned(_ start: StorePath) throws -> [String] {
            var found: [FileFacts] = []
            let scan = StoreScan(folder.store, startingAt: start, packages: packages)
            let isWhole = try scan.run(lowPriority: false) { batch in
                found += batch
                return true
            }
            #expect(isWhole)
            #expect(!found.contains { !$0.isMeasured })
            return found.map { "\($0.path) \($0.size) \($0.modified / 1_000_000_000)" }.sorted()
        }
        let all = try scanned(.root).map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(all == ["a/Novel.scriv 12", "empty.rtfd 0", "plain/file 2", "single.scriv 2"])
        let holder = try folder.store.folder(try #require(StorePath("a")))
        let path = try #require(StorePath("a/Novel.scriv"))
        let facts = try #require(try FileFacts.read(in: holder, name: EntryName("Novel.scriv"), path: path, isPackage: true))
        #expect(!facts.isMeasured && facts.isPackage && facts.linkCount == 1)
        let measured = try #require(facts.measured(in: folder.store, countsAll: true) { true })
        #expect(measured.size == 12 && measured.modified == 981_158_400_000_000_000 && measured.isMeasured)
        #expect(facts.measured(in: folder.store, countsAll: true) { false } == nil)
    }
}
