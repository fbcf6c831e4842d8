import DocumentIndex
import struct DocumentIndex.Tag
import Foundation
import QueryLanguage
import StorePrimitives
import Synchronization
import TestSupport
import Testing

/// Types by the last letters alone.
private struct Types: TypeMatcher {
    func name(_ name: [UInt8], is type: TypePattern) -> Bool {
        switch type {
        case .derived(let from): String(decoding: name, as: UTF8.self).hasSuffix("." + from)
        case .kind(let kind): kind == .image && String(decoding: name, as: UTF8.self).hasSuffix(".png")
        case .mime: false
        }
    }
}

extension DocumentIndex {
    fileprivate func found(_ text: String, order: SearchOrder = .name) throws -> [String] {
        try documents(try search(try Query(parsing: text), order: order, types: Types())).map(\.path.description)
    }
}

@Suite struct SearchTests {
    let folder = try! StateFolder()
    let index: DocumentIndex

    init() throws {
        index = try DocumentIndex(folder: folder.path)
        try index.apply([
            .present(facts("Annual Report.pdf", inode: 1, size: 2_000, modified: 1_767_225_600, tags: ["work", "money"])),
            .present(facts("work/Report final.odt", inode: 2, size: 100, modified: 1_767_225_700, tags: ["work/plan"])),
            .present(facts("work/deep/résumé.pdf", inode: 3, size: 5_000_000, modified: 1_700_000_000)),
            .present(facts("pictures/Portrait.PNG", inode: 4, size: 300_000, modified: 1_600_000_000, tags: ["family"])),
            .present(facts("Makefile", inode: 5, size: 0, modified: 1)),
            .present(facts("archive.tar.gz", inode: 6, size: 10, modified: 2)),
        ])
    }

    @Test(arguments: [
        ("report", ["Annual Report.pdf", "work/Report final.odt"]), ("report -final", ["Annual Report.pdf"]), ("RESUME", ["work/deep/résumé.pdf"]),
        ("\"annual report\"", ["Annual Report.pdf"]), ("\"report pdf\"", ["Annual Report.pdf"]), ("\"nual report\"", []), ("\u{301}", []), ("name:\u{301}", []), ("annual OR portrait", ["Annual Report.pdf", "pictures/Portrait.PNG"]), ("nothing", []),
        ("tag:work", ["Annual Report.pdf", "work/Report final.odt"]), ("tag:work/plan", ["work/Report final.odt"]), ("tag:wor", []),
        ("-tag:*", ["archive.tar.gz", "Makefile", "work/deep/résumé.pdf"]), ("tag:*", ["Annual Report.pdf", "pictures/Portrait.PNG", "work/Report final.odt"]),
        ("in:work", ["work/Report final.odt", "work/deep/résumé.pdf"]), ("in:work/deep", ["work/deep/résumé.pdf"]), ("in:wor", []),
        ("path:work/*", ["work/Report final.odt"]), ("path:work/**", ["work/Report final.odt", "work/deep/résumé.pdf"]), ("path:deep", ["work/deep/résumé.pdf"]),
        ("*.pdf", ["Annual Report.pdf", "work/deep/résumé.pdf"]), ("name:port", ["Annual Report.pdf", "pictures/Portrait.PNG", "work/Report final.odt"]),
        ("ext:png,gz", ["archive.tar.gz", "pictures/Portrait.PNG"]), ("ext:tar.gz", ["archive.tar.gz"]), ("ext:report.pdf", []), ("type:pdf", ["Annual Report.pdf", "work/deep/résumé.pdf"]),
        ("type:tar.gz", ["archive.tar.gz"]), ("kind:image", ["pictures/Portrait.PNG"]), ("size>1M", ["work/deep/résumé.pdf"]), ("size:0", ["Makefile"]),
        ("after:2025 pdf", ["Annual Report.pdf"]), ("before:1971", ["archive.tar.gz", "Makefile"]), ("bud*", []), ("portr*", ["pictures/Portrait.PNG"]), ("repo*", ["Annual Report.pdf", "work/Report final.odt"]),
    ] as [(String, [String])])
    func aQueryFindsTheDocumentsThatMeetIt(query: String, paths: [String]) throws { #expect(try index.found(query) == paths) }

    @Test(arguments: [
        (.newest, ["work/Report final.odt", "Annual Report.pdf", "work/deep/résumé.pdf"]), (.oldest, ["work/deep/résumé.pdf", "Annual Report.pdf", "work/Report final.odt"]),
        (.largest, ["work/deep/résumé.pdf", "Annual Report.pdf", "work/Report final.odt"]), (.smallest, ["work/Report final.odt", "Annual Report.pdf", "work/deep/résumé.pdf"]),
        (.name, ["Annual Report.pdf", "work/Report final.odt", "work/deep/résumé.pdf"]),
    ] as [(SearchOrder, [String])])
    func theOrderIsAsAsked(order: SearchOrder, paths: [String]) throws { #expect(try index.found("r size>20 -png", order: order) == paths) }

    @Test func changesAreInTheNextSearch() throws {
        #expect(try index.found("report").count == 2)
        try index.apply([.present(facts("new report", inode: 7)), .absent(path("Annual Report.pdf"))])
        #expect(try index.found("report") == ["new report", "work/Report final.odt"])
        try index.apply([.moved(from: path("work/Report final.odt"), to: path("work/Accounts.odt"), isFolder: false, takesOverTarget: false)])
        #expect(try index.found("report") == ["new report"])
        #expect(try index.found("accounts") == ["work/Accounts.odt"])
        try index.apply([.moved(from: path("work"), to: path("play"), isFolder: true, takesOverTarget: false)])
        #expect(try index.found("in:play").sorted() == ["play/Accounts.odt", "play/deep/résumé.pdf"])
        #expect(try index.found("in:work") == [])
        try index.apply([.present(facts("new report", inode: 7, size: 9_000_000)), .tags(path("Makefile"), [tag("work")])])
        #expect(try index.found("size>8M") == ["new report"])
        #expect(try index.found("tag:work") == ["play/Accounts.odt", "Makefile"])
        index.endSearching()
        try index.apply([.absent(path("new report"))])
        #expect(try index.found("report") == [])
    }

    @Test func aChangeThatIsRolledBackIsNotFound() throws {
        #expect(try index.found("report").count == 2)
        let small = try StateFolder()
        let full = try DocumentIndex(folder: small.path, pageLimit: 40)
        #expect(try full.found("x") == [])
        var failed = 0
        for number in 0..<40 {
            let updates = (0..<50).map { item in
                IndexUpdate.present(facts("x\(number)-\(item)-" + String(repeating: "n", count: 200), inode: UInt64(number * 100 + item)))
            }
            // A full disk rolls the transaction back.
            if (try? full.apply(updates)) == nil { failed += 1 }
        }
        #expect(failed > 0)
        #expect(try full.found("x").count == full.count())
    }

    /// Searches beside changes, against a plain evaluation of all that there is.
    @Test(arguments: 0..<6)
    func whateverChangesAQueryFindsWhatMeetsIt(seed: Int) throws {
        var random = SeededNumbers(seed: UInt64(seed))
        let names = ["alpha", "Beta", "gämma", "delta.txt", "alpha.png", "beta.tar.gz", "x y"]
        let terms = ["alpha", "beta", "a", "-a", "ext:txt", "kind:image", "size>50", "size<20", "tag:t", "tag:*", "-tag:t", "in:d1", "path:d*/**", "name:*a", "(a OR beta)", "-(alpha size>10)", "gamma"]
        var present: [String: (size: Int64, tag: Bool)] = [:]
        var inodes: [String: UInt64] = [:]
        for round in 0..<60 {
            var updates: [IndexUpdate] = []
            for _ in 0..<Int.random(in: 0...(round == 30 ? 3_000 : 8), using: &random) {
                let name = ["", "d1/", "d1/e/", "d2/"].randomElement(using: &random)! + names.randomElement(using: &random)!
                    + (Bool.random(using: &random) ? "" : "\(Int.random(in: 0...400, using: &random))")
                if Bool.random(using: &random) || present[name] == nil {
                    inodes[name] = inodes[name] ?? UInt64(inodes.count + 100)
                    let (size, tag) = (Int64.random(in: 0...100, using: &random), Bool.random(using: &random))
                    updates.append(.present(facts(name, inode: inodes[name]!, size: size, tags: tag ? ["t"] : [])))
                    present[name] = (size, tag)
                } else {
                    updates.append(.absent(path(name)))
                    present[name] = nil
                }
            }
            _ = try index.apply(updates)
            if round % 20 == 19 { index.endSearching() }
            let query = (0..<Int.random(in: 1...3, using: &random)).map { _ in terms.randomElement(using: &random)! }.joined(separator: Bool.random(using: &random) ? " " : " OR ")
            let expression = try Query(parsing: query).expression
            let expected = present.filter { PlainEvaluation(path: $0.key, size: $0.value.size, isTagged: $0.value.tag).meets(expression) }.keys
            #expect(try Set(index.found("(\(query)) -in:work -in:pictures -report -makefile -archive")) == Set(expected), "\(query)")
        }
    }

    @Test func wordsAreFoundInNamesAndTexts() throws {
        let text = try TextIndex(folder: folder.path)
        func read(_ name: String, _ words: String) throws {
            let document = try #require(try index.document(at: path(name)))
            let version = TextVersion(size: document.size, modified: document.modified)
            try text.record([IndexedText(document: document.id, owner: anna, version: version, outcome: .text(Array(words.utf8)))], at: at(1))
        }
        func found(_ query: String) throws -> [String] {
            try index.documents(try index.search(try Query(parsing: query), in: text, order: .name, types: Types())).map(\.path.description)
        }
        try read("Makefile", "report: all")
        try read("work/deep/résumé.pdf", "An annual income")
        #expect(try found("report") == ["Annual Report.pdf", "Makefile", "work/Report final.odt"])
        #expect(try found("annual income") == ["work/deep/résumé.pdf"])
        #expect(try found("report -all") == ["Annual Report.pdf", "work/Report final.odt"])
        #expect(try found("incom*") == ["work/deep/résumé.pdf"])
        #expect(try found("incom") == [])
        // Nor does a text of a version that the document has not any more.
        try index.apply([.present(facts("work/deep/résumé.pdf", inode: 3, size: 6_000_000, modified: 1_700_000_000))])
        #expect(try found("income") == [])
        // A text of a document that is gone finds nothing.
        try index.apply([.absent(path("Makefile"))])
        #expect(try found("all") == [])
    }

    /// Names stand side by side in memory: a NUL would find where one ends.
    @Test func noSearchTellsOfTheNextName() throws {
        #expect(throws: QueryError.self) { _ = try Query(parsing: "gz\0") }
        #expect(throws: QueryError.self) { _ = try Query(parsing: "name:\"gz\0ann\"") }
    }

    /// A search begins while a transaction is under way.
    @Test func whatIsWrittenDuringSearchesIsFoundAtItsEnd() throws {
        let done = DispatchSemaphore(value: 0)
        let applied = Atomic<Int>(0)
        let writer = Thread { [index] in
            for batch in 0..<40 {
                _ = try? index.apply((0..<500).map { .present(facts("many \(batch) \($0)", inode: UInt64(1_000 + batch * 500 + $0))) })
                applied.add(500, ordering: .releasing)
                if batch % 10 == 5 { index.endSearching() }
            }
            done.signal()
        }
        writer.start()
        var isDone = false
        while !isDone {
            isDone = done.wait(timeout: .now()) == .success
            let least = applied.load(ordering: .acquiring)
            #expect(try index.found("many").count >= least)
        }
        #expect(try index.found("many").count == 20_000)
    }

    @Test func aSearchThatTakesTooLongIsGivenUp() throws {
        #expect(throws: IndexError.searchTooLong) { _ = try index.search(try Query(parsing: "a"), types: Types(), within: .zero) }
    }

    @Test func eachUserKeepsQueries() throws {
        let (work, play) = (EntryName("work"), EntryName("play"))
        try index.saveSearch(SavedSearch(name: work, query: "tag:w"), by: anna)
        try index.saveSearch(SavedSearch(name: work, query: "tag:work"), by: anna)
        #expect(try index.savedSearches(of: anna) == [SavedSearch(name: work, query: "tag:work")])
        #expect(try index.savedSearch(work, of: anna) == "tag:work")
        #expect(try index.savedSearches(of: ben) == [])
        #expect(try !index.forgetSearch(work, of: ben))
        #expect(try !index.replaceSearch(play, by: SavedSearch(name: work, query: "x"), of: anna))
        #expect(try index.savedSearch(work, of: anna) == "tag:work")
        #expect(try index.replaceSearch(work, by: SavedSearch(name: play, query: "y"), of: anna))
        #expect(try index.savedSearches(of: anna) == [SavedSearch(name: play, query: "y")])
        #expect(try index.forgetSearch(play, of: anna))
        for number in 0..<1_000 { try index.saveSearch(SavedSearch(name: EntryName("\(number)"), query: "q"), by: anna) }
        #expect(try !index.maySaveSearch(anna))
        #expect(try index.maySaveSearch(ben))
    }
}

/// Evaluates a query for one document, by its words.
private struct PlainEvaluation {
    let path: String
    let size: Int64
    let isTagged: Bool

    func meets(_ expression: QueryExpression) -> Bool {
        switch expression {
        case .all(let inner): inner.allSatisfy(meets)
        case .any(let inner): inner.contains(where: meets)
        case .not(let inner): !meets(inner)
        case .term(let term): meets(term)
        }
    }

    private func meets(_ term: QueryTerm) -> Bool {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let folded = String(decoding: Folding.fold(name.utf8), as: UTF8.self)
        switch term {
        case .words(let words): return folded.contains(String(decoding: words.folded, as: UTF8.self))
        case .name(let pattern): return Folding.fold(name.utf8).withUnsafeBytes { pattern.matches($0) }
        case .path(let pattern): return Folding.fold(path.utf8).withUnsafeBytes { pattern.matches($0) }
        case .folder(let folder): return path.hasPrefix(folder + "/")
        case .fileExtension(let wanted): return folded.hasSuffix("." + wanted)
        case .type: return folded.hasSuffix(".png")
        case .tag, .anyTag: return isTagged
        case .modified: return true
        case .favorite, .writer: return false
        case .size(let range): return range.contains(size)
        }
    }
}
