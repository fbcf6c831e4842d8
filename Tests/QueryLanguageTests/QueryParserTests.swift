import QueryLanguage
import TestSupport
import Testing

/// A Saturday, 2026-11-28 14:00 UTC.
let now = QueryCalendar(now: 1_795_874_400, isUTC: true)

func parsed(_ text: String) throws -> QueryExpression { try Query(parsing: text, calendar: now).expression }

private func words(_ text: String, prefix: Bool = false) -> QueryExpression { .term(.words(WordPattern(text: text, isPrefix: prefix))) }

@Suite struct QueryParserTests {
    @Test func wordsMeanAllOfThemUnlessORStandsBetween() throws {
        #expect(try parsed("a") == words("a"))
        #expect(try parsed("  a   b ") == .all([words("a"), words("b")]))
        #expect(try parsed("a AND b") == .all([words("a"), words("b")]))
        #expect(try parsed("a b OR c") == .any([.all([words("a"), words("b")]), words("c")]))
        #expect(try parsed("a (b OR c)") == .all([words("a"), .any([words("b"), words("c")])]))
        #expect(try parsed("or and not") == .all([words("or"), words("and"), words("not")]))
    }

    @Test func aMinusOrNOTNegates() throws {
        #expect(try parsed("a -b") == .all([words("a"), .not(words("b"))]))
        #expect(try parsed("NOT a") == .not(words("a")))
        #expect(try parsed("NOT -a") == words("a"))
        #expect(try parsed("-(a b)") == .not(.all([words("a"), words("b")])))
        #expect(try parsed("-\"a b\"") == .not(words("a b")))
        #expect(try parsed("a-b - --c") == .all([words("a-b"), words("-"), words("--c")]))
    }

    @Test func quotationMarksTakeAllMeaningAway() throws {
        #expect(try parsed("\"a  b\"") == words("a  b"))
        #expect(try parsed("\"OR\" \"tag:x\" \"a*\"") == .all([words("OR"), words("tag:x"), words("a*")]))
        #expect(try parsed("in:\"a b/c\"") == .term(.folder("a b/c")))
    }

    @Test func aStarAtTheEndIsAPrefixAndElsewhereAPatternOfNames() throws {
        #expect(try parsed("bud*") == words("bud", prefix: true))
        #expect(try parsed("*.pdf") == .term(.name(NamePattern("*.pdf"))))
        #expect(try parsed("a?c") == .term(.name(NamePattern("a?c"))))
        #expect(try parsed("scan[0-9].pdf") == .term(.name(NamePattern("scan[0-9].pdf"))))
        #expect(try parsed("a[b") == words("a[b"))
    }

    @Test func fieldsHaveValues() throws {
        #expect(try parsed("tag:work/urgent is:urgent tag:*") == .all([.term(.tag("work/urgent")), .term(.tag("urgent")), .term(.anyTag)]))
        #expect(try parsed("in:/a//b/./c/") == .term(.folder("a/b/c")))
        #expect(try parsed("path:/a/**") == .term(.path(NamePattern("a/**", isPath: true))))
        #expect(try parsed("ext:.PDF,odt") == .any([.term(.fileExtension("pdf")), .term(.fileExtension("odt"))]))
        #expect(try parsed("kind:image") == .term(.type(.kind(.image))))
        #expect(try parsed("type:image type:PDF") == .all([.term(.type(.kind(.image))), .term(.type(.derived(from: "pdf")))]))
        #expect(try parsed("type:text/plain") == .term(.type(.derived(from: "text/plain"))))
        #expect(try parsed("type:image/*") == .term(.type(.mime(NamePattern("image/*")))))
        #expect(try parsed("Tag:x,y") == .any([.term(.tag("x")), .term(.tag("y"))]))
    }

    @Test func pathsMayBeAbsolute() throws {
        func folder(_ text: String) throws -> QueryExpression { try Query(parsing: text, calendar: now, root: "/home/ada/docs").expression }
        #expect(try folder("in:/home/ada/docs/a/b") == .term(.folder("a/b")))
        #expect(try folder("in:/home/ada/docs") == .term(.folder("")))
        #expect(try folder("in:/home/ada/docs2") == .term(.folder("home/ada/docs2")))
        #expect(try folder("in:a") == .term(.folder("a")))
        #expect(try folder("path:/home/ada/docs/*.txt") == .term(.path(NamePattern("*.txt", isPath: true))))
    }

    @Test func sizesAreInPowersOf1024() throws {
        for (text, range) in [
            ("Size>1M", 1_048_577...Int64.max), ("size>=1k", 1_024...Int64.max), ("size<1K", 0...1_023), ("size<=1.5k", 0...1_536),
            ("size:0", 0...0), ("size=10", 10...10), ("size:1k..2KB", 1_024...2_048), ("size:..1G", 0...1 << 30), ("size:1T..", 1 << 40...Int64.max),
        ] as [(String, ClosedRange<Int64>)] {
            #expect(try parsed(text) == .term(.size(range)), "\(text)")
        }
    }

    @Test(arguments: [
        ("", .empty, 0..<0), ("a\0b", .hasNul, 0..<3), ("()", .empty, 1..<2), ("\"\"", .empty, 0..<2), ("(a OR b", .unclosedParenthesis, 0..<1),
        ("é)", .unopenedParenthesis, 2..<3), ("a \"b", .unclosedQuote, 2..<3), ("OR a", .danglingOperator("OR"), 0..<2),
        ("a OR", .danglingOperator("OR"), 2..<4), ("a OR OR b", .danglingOperator("OR"), 2..<4), ("a AND", .danglingOperator("AND"), 2..<5),
        ("NOT", .danglingOperator("NOT"), 0..<3), ("a (NOT OR b)", .danglingOperator("NOT"), 3..<6), ("http://x", .unknownField("http"), 0..<8),
        ("a tag:", .missingValue(field: "tag:"), 2..<6), ("size>", .missingValue(field: "size>"), 0..<5), ("size > 1M", .looseOperator(">"), 5..<6), ("ext:,", .missingValue(field: ","), 0..<5), (":x", .unknownField(""), 0..<2), ("size>x", .notASize("x"), 0..<6),
        ("size<0", .notASize("<0"), 0..<6), ("size:9..1", .backwardRange("9..1"), 0..<9), ("size:1e999", .notASize("1e999"), 0..<10),
        ("size:999999999T", .notASize("999999999T"), 0..<15), ("date:2026-02-31", .notADate("2026-02-31"), 0..<15),
        ("after:soon", .notADate("soon"), 0..<10), ("date:2026..2025", .backwardRange("2026..2025"), 0..<15),
        ("tag:a//b", .notATag("a//b"), 0..<8), ("in:../x", .notAFolder("../x"), 0..<7), ("kind:x", .notAKind("x"), 0..<6),
        ("type:a/b/c", .notAType("a/b/c"), 0..<10),
    ] as [(String, QueryError.Reason, Range<Int>)])
    func anErrorPointsAtThePlace(text: String, reason: QueryError.Reason, range: Range<Int>) {
        let error = #expect(throws: QueryError.self) { _ = try parsed(text) }
        #expect(error?.reason == reason)
        #expect(error?.range == range)
    }

    @Test func theMarkStandsBelowThePlace() {
        let text = "é\ttag:/ab c"
        let error = #expect(throws: QueryError.self) { _ = try parsed(text) }
        #expect(error?.marked(in: text) == "é tag:/ab c\n  ^^^^^^^")
    }

    @Test func aQueryIsBounded() {
        func reason(_ text: String) -> QueryError.Reason? { #expect(throws: QueryError.self) { _ = try parsed(text) }?.reason }
        #expect(reason(String(repeating: "a", count: 4_097)) == .tooLong)
        #expect(reason(String(repeating: "a ", count: 51)) == .tooManyTerms)
        #expect(reason(String(repeating: "(", count: 17) + "a" + String(repeating: ")", count: 17)) == .tooManyLevels)
        #expect(reason(String(repeating: "(", count: 4_096)) == .tooManyLevels)
        // Side by side they are not nested.
        #expect((try? parsed(String(repeating: "(a)", count: 50))) != nil)
    }

    /// Whatever is typed is a query or an error.
    @Test func nothingThatIsTypedEndsTheProcess() {
        var random = SeededNumbers(seed: 1)
        let pieces = ["(", ")", "\"", "-", "OR", "AND", "NOT", " ", ":", "tag", "size", ">", "<", "=", "..", "date", "in", "*", "?", "[", "]", "a", "é", "日", "9", "\u{0}", "kind", "/", ",", "T", "7d"]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            do throws(QueryError) { _ = try Query(parsing: text, calendar: now) } catch {
                #expect(error.range.lowerBound <= text.utf8.count && error.range.upperBound <= text.utf8.count, "\(text)")
                #expect(!"\(error)".isEmpty && !error.marked(in: text).isEmpty)
            }
        }
    }
}
