import DocumentIndex
import Foundation
import Glibc
import QueryLanguage
import StorePrimitives
import TestSupport
import Testing

@Suite struct TextIndexTests {
    let folder = try! StateFolder()
    let index: TextIndex

    init() throws { index = try TextIndex(folder: folder.path) }

    private func record(_ id: Int64, _ outcome: IndexedText.Outcome, size: Int64 = 1, of owner: UserID = anna) throws {
        let text = IndexedText(document: DocumentID(rawValue: id), owner: owner, version: TextVersion(size: size, modified: at(1)), outcome: outcome)
        try index.record([text], at: at(9))
    }
    private func record(_ id: Int64, _ text: String, size: Int64 = 1) throws { try record(id, .text(Array(text.utf8)), size: size) }

    private func found(_ query: String, in index: TextIndex? = nil) throws -> [Int64] {
        guard case .term(.words(let pattern)) = try Query(parsing: query).expression else { return [] }
        return try (index ?? self.index).documents(containing: pattern).map(\.rawValue)
    }

    @Test func wordsPhrasesAndPrefixesAreFound() throws {
        try record(1, "The Annual Report of 2026. Résumé.")
        try record(2, "report, annually: reporters' notes")
        try record(3, "検索エンジンの文書")
        #expect(try found("report") == [1, 2])
        #expect(try found("REPORT") == [1, 2])
        #expect(try found("\"annual report\"") == [1])
        #expect(try found("annual*") == [1, 2])
        #expect(try found("\"report annual\"") == [])
        #expect(try found("resume") == [1])
        #expect(try found("検索") == [3])
        #expect(try found("索エン") == [3])
        #expect(try found("文") == [3])
        #expect(try found("文検") == [])
        #expect(try found("\"—\"") == [])
    }

    @Test func ownersHaveAShareEach() throws {
        let limit = 2 * TextIndex.longestText
        let index = try TextIndex(folder: folder.path, bounds: .init(forUser: limit, forAll: 8 * limit))
        let text = Array(String(repeating: "word ", count: TextIndex.longestText / 5).utf8)
        func record(_ id: Int64, _ bytes: [UInt8], of owner: UserID) throws {
            let version = TextVersion(size: 1, modified: at(1))
            try index.record([IndexedText(document: DocumentID(rawValue: id), owner: owner, version: version, outcome: .text(bytes))], at: at(9))
        }
        func haveRoom() throws -> [Bool] { try [anna, ben].map { try index.hasRoom(for: $0) } }
        try record(1, text, of: anna)
        #expect(try haveRoom() == [true, true])
        let first = try index.use(by: anna)
        #expect(first > text.count / 2 && first <= TextIndex.longestText)
        try record(2, text, of: anna)
        #expect(try haveRoom() == [false, true])
        try record(1, Array("short".utf8), of: ben)
        #expect(try index.use(by: anna) == first)
        #expect(try index.use(by: ben) > 0)
        try index.forget([DocumentID(rawValue: 2)])
        #expect(try index.use(by: anna) == 0)
        #expect(try haveRoom() == [true, true])
        try record(3, text, of: anna)
        try index.clear()
        #expect(try [anna, ben].map { try index.use(by: $0) } == [0, 0])
        try index.close()
    }

    @Test func aTextTakesThePlaceOfTheOneBefore() throws {
        try record(1, "alpha beta")
        try record(1, "gamma", size: 2)
        #expect(try found("alpha") == [])
        #expect(try found("gamma") == [1])
        try index.forget([DocumentID(rawValue: 1), DocumentID(rawValue: 7)])
        #expect(try found("gamma") == [])
        #expect(try index.state(of: DocumentID(rawValue: 1)) == nil)
        try index.check()
    }

    @Test func whatCannotBeReadIsTriedThreeTimes() throws {
        let version = TextVersion(size: 1, modified: at(1))
        for attempt in 1...3 {
            try record(1, .failed("it took longer than 30 seconds"))
            let state = try #require(try index.state(of: DocumentID(rawValue: 1)))
            #expect(state.attempts == attempt)
            #expect(state.isDue(for: version) == (attempt < 3))
            #expect(state.reason == "it took longer than 30 seconds")
        }
        #expect(try index.state(of: DocumentID(rawValue: 1))?.isDue(for: TextVersion(size: 2, modified: at(1))) == true)
        try record(2, .nothing("nothing is to be read in pictures"))
        try record(3, "text")
        #expect(try index.state(of: DocumentID(rawValue: 2))?.isDue(for: version) == false)
        let counts = try index.counts()
        #expect(counts.indexed == 1 && counts.nothing == 1 && counts.failed == 1 && counts.bytes > 0)
        #expect(try index.states(after: DocumentID(rawValue: 1), limit: 9).map(\.document.rawValue) == [2, 3])
        try index.clear()
        #expect(try index.counts().indexed == 0)
        #expect(try found("text") == [])
    }

    @Test func aLongTextIsCutAtAWord() throws {
        try record(1, "first " + String(repeating: "word ", count: 1_000_000) + "last")
        #expect(try found("first") == [1])
        #expect(try found("last") == [])
        let length = try #require(try index.state(of: DocumentID(rawValue: 1))?.length)
        #expect(length <= TextIndex.longestText && length > TextIndex.longestText - 10)
        try index.forget([DocumentID(rawValue: 1)])
        try index.check()
    }

    /// Against a plain evaluation.
    @Test(arguments: 0..<3)
    func whateverIsRecordedIsFound(seed: Int) throws {
        var random = SeededNumbers(seed: UInt64(seed))
        let words = ["a", "bb", "ccc", "文", "書", "é"]
        var texts: [Int64: [String]] = [:]
        for _ in 0..<300 {
            let id = Int64.random(in: 1...40, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 {
                try index.forget([DocumentID(rawValue: id)])
                texts[id] = nil
            } else {
                let text = (0..<Int.random(in: 0...6, using: &random)).map { _ in words.randomElement(using: &random)! }
                try record(id, text.joined(separator: " , "))
                texts[id] = text
            }
        }
        for word in words { #expect(try found(word) == texts.filter { $0.value.contains(word) }.keys.sorted(), "\(word)") }
        for (one, other) in [("a", "bb"), ("bb", "ccc"), ("é", "é")] {
            let expected = texts.filter { text in zip(text.value, text.value.dropFirst()).contains { $0 == (one, other) } }.keys.sorted()
            #expect(try found("\"\(one) \(other)\"") == expected)
        }
        try index.check()
    }

    @Test func aDamagedFileIsThrownAway() throws {
        try record(1, "text")
        try index.close()
        let path = folder.path + "/" + TextIndex.fileName
        for damage in [Data("no database".utf8), Data(count: 4_096)] {
            try damage.write(to: URL(fileURLWithPath: path))
            // It may have everything.
            unlink(path + "-wal")
            let opened = try TextIndex(folder: folder.path)
            #expect(try opened.counts().indexed == 0)
            try opened.record([IndexedText(document: DocumentID(rawValue: 1), owner: anna, version: TextVersion(size: 1, modified: at(1)), outcome: .text(Array("text".utf8)))], at: at(1))
            #expect(try found("text", in: opened) == [1])
            try opened.close()
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
}
