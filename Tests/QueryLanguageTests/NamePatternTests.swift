import Glibc
import QueryLanguage
import TestSupport
import Testing

@Suite struct NamePatternTests {
    private func matches(_ pattern: NamePattern, _ text: String) -> Bool { Folding.fold(text.utf8).withUnsafeBytes { pattern.matches($0) } }

    @Test func aPatternWithoutWildcardsIsFoundAnywhere() {
        #expect(matches(NamePattern("port"), "Annual Report.pdf"))
        #expect(matches(NamePattern("RÉSUMÉ"), "my resume.odt"))
        #expect(!matches(NamePattern("port"), "por t"))
    }

    @Test(arguments: [
        ("*.pdf", "a.PDF", true), ("*.pdf", "a.pdfx", false), ("a*c", "abbbc", true), ("a*c", "abcb", false), ("a?c", "aéc", true),
        ("a?c", "ac", false), ("[a-c]x", "Bx", true), ("[!a-c]x", "bx", false), ("[!a-c]x", "éx", true), ("[a", "[a", true), ("x[]y", "x[]y", true),
        ("*a*b*c*", "xaybzc", true), ("*a*b*c*", "xcyb", false), ("**", "", true), ("?", "日", true), ("*日*", "本日は", true),
    ])
    func wildcardsStandForTheWholeName(pattern: String, name: String, isMatch: Bool) {
        #expect(matches(NamePattern(pattern), name) == isMatch)
    }

    @Test(arguments: [
        ("a/*", "a/b", true), ("a/*", "a/b/c", false), ("a/**", "a/b/c", true), ("a/**/c", "a/x/y/c", true), ("**/c", "a/b/c", true),
        ("a/*/c", "a/x/y/c", false), ("**/*.txt", "a/b/c.txt", true), ("a/**/b/*/c", "a/x/b/y/b/z/c", true), ("a?b", "a/b", false),
    ])
    func inPathsAStarStopsAtSlashes(pattern: String, path: String, isMatch: Bool) {
        #expect(matches(NamePattern(pattern, isPath: true), path) == isMatch)
    }

    /// fnmatch(3) is the judge, for patterns that both know.
    @Test func patternsMatchAsThoseOfTheShell() {
        var random = SeededNumbers(seed: 2)
        for _ in 0..<50_000 {
            let pattern = (0..<Int.random(in: 1...7, using: &random)).map { _ in ["a", "b", "/", "*", "?", "[ab]", "[!a]"].randomElement(using: &random)! }.joined()
            let text = (0..<Int.random(in: 0...7, using: &random)).map { _ in ["a", "b", "c", "/"].randomElement(using: &random)! }.joined()
            // A name pattern without wildcards is found anywhere, and two stars cross slashes.
            guard pattern.contains(where: { "*?[".contains($0) }), !pattern.contains("**") else { continue }
            #expect(matches(NamePattern(pattern, isPath: true), text) == (fnmatch(pattern, text, FNM_PATHNAME) == 0), "\(pattern) \(text)")
            #expect(matches(NamePattern(pattern), text) == (fnmatch(pattern, text, 0) == 0), "\(pattern) \(text)")
        }
    }

    @Test func everyMatchHasTheLiteral() {
        #expect(NamePattern("*port?s.pdf").literal == Array("s.pdf".utf8))
        #expect(NamePattern("*").literal == [])
        #expect(matches(NamePattern("*port?s.pdf"), "Report1s.pdf"))
        #expect(NamePattern("port").isPlain)
    }

    @Test func foldingTakesCaseAndAccentsAway() {
        func folded(_ text: String) -> String { String(decoding: Folding.fold(text.utf8), as: UTF8.self) }
        #expect(folded("ÀÉîõÜ ß Ł ﬁ ＡＢ") == "aeiou ß ł fi ab")
        // Both Unicode forms.
        #expect(folded("e\u{301}") == folded("\u{e9}"))
        #expect(folded("日本 Ελλάς") == "日本 ελλας")
        #expect(Folding.fold([0x41, 0xFF, 0x42]) == [0x61, 0xFF, 0x62])
    }
}

@Suite struct WordBreakerTests {
    @Test(arguments: [
        ("Hello, World! it's 2026", "hello world it s 2026 "), ("Résumé_final-v2.pdf", "resume final v2 pdf "), ("", ""), ("  --  ", ""),
        ("検索中", "検索 索中 中 "), ("文", "文 "), ("PDF文書です", "pdf 文書 書で です す "), ("日本 語", "日本 本 語 "), ("한국어 문서", "한국 국어 어 문서 서 "),
        ("がぎ か", "がぎ ぎ か "), ("Ελλάς Москва", "ελλας москва "), (String(repeating: "x", count: 65) + " y", "y "),
    ])
    func textIsTakenApartIntoWords(text: String, words: String) {
        #expect(String(decoding: WordBreaker.words(of: text.utf8), as: UTF8.self) == words)
    }

    @Test func aQueryOfARunIsFoundWithinAndAtTheEndOfOne() throws {
        func words(_ text: String) throws -> ([String], Bool) {
            guard case .term(.words(let pattern)) = try Query(parsing: text).expression else { return ([], false) }
            return (pattern.words, pattern.endsInPrefix)
        }
        #expect(try words("検索") == (["検索"], false))
        #expect(try words("検索中") == (["検索", "索中"], false))
        #expect(try words("文") == (["文"], true))
        #expect(try words("\"検索 engine\"") == (["検索", "索", "engine"], false))
        #expect(try words("bud*") == (["bud"], true))
        #expect(try words("é") == (["e"], false))
    }

    /// Normalizing sorts marks in the square of their number: this would take hours.
    @Test func aMillionMarksAreFoldedInTime() {
        #expect(WordBreaker.words(of: ("x" + String(repeating: "\u{301}\u{316}\u{f71}\u{f72}", count: 250_000) + " end").utf8).suffix(4).elementsEqual("end ".utf8))
    }

    @Test func bytesThatAreNoTextAreTakenApartToo() {
        #expect(String(decoding: WordBreaker.words(of: [0x41, 0xFF, 0x42]), as: UTF8.self) == "a b ")
    }
}
