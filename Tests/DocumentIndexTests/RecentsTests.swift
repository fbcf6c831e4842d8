import DocumentIndex
import struct DocumentIndex.Tag
import StorePrimitives
import Testing

@Suite struct RecentIndexTests {
    let folder = try! StateFolder()
    let index: DocumentIndex

    init() throws {
        index = try DocumentIndex(folder: folder.path)
        try index.apply(["a", "b", "c"].enumerated().map { .present(facts($1, inode: UInt64($0 + 1))) })
    }

    private func read(_ name: String, _ seconds: Int64, by user: UserID = anna) throws {
        try index.apply([.used(path(name), by: user, at: at(seconds), written: false)])
    }

    private func write(_ name: String, _ seconds: Int64) throws {
        try index.apply([.used(path(name), by: anna, at: at(seconds), written: true)])
    }

    private func uses(_ name: String) throws -> [Int64] {
        try index.recents(of: anna, limit: 100).filter { $0.path == path(name) }.map { $0.used.nanoseconds / 1_000_000_000 }
    }

    @Test func recentsAreNewestFirstAndWithinTheLimit() throws {
        try read("a", 1)
        try write("b", 2)
        try read("c", 3)
        try read("a", 4)
        #expect(try index.recentPaths() == ["a", "c", "b"])
        #expect(try index.recentPaths(limit: 2) == ["a", "c"])
        #expect(try index.recents(of: anna, limit: 9).map(\.written) == [false, false, true])
        #expect(try index.recentUse(of: path("b"), by: anna)?.used == at(2))
        #expect(try index.recentUse(of: path("b"), by: ben) == nil)
    }

    @Test func recentsAreKeptForEachUserApart() throws {
        try read("a", 1)
        try read("b", 2, by: ben)
        #expect(try index.recentPaths(of: anna) == ["a"])
        #expect(try index.recentPaths(of: ben) == ["b"])
        try index.forgetAllRecents(of: anna)
        #expect(try index.recentPaths(of: anna) == [])
        #expect(try index.recentPaths(of: ben) == ["b"])
    }

    @Test func forgettingTakesOneDocumentOut() throws {
        try read("a", 1)
        try read("b", 2)
        #expect(try index.forgetRecent(at: path("a"), of: anna))
        #expect(try !index.forgetRecent(at: path("a"), of: anna))
        #expect(try index.recentPaths() == ["b"])
        #expect(try index.forgetRecent(try #require(try index.id("b")), of: anna))
        #expect(try index.recentPaths() == [])
        #expect(try !index.forgetRecent(at: path("nothing"), of: anna))
    }

    @Test func aRetractedFirstUseLeavesNothing() throws {
        try read("a", 1)
        try index.retractUse(of: path("a"), by: anna, at: at(1))
        #expect(try index.recentPaths() == [])
    }

    @Test func retractingRestoresWhatWasBefore() throws {
        try write("a", 1)
        try read("b", 2)
        try read("a", 3)
        try read("a", 4)
        try index.retractUse(of: path("a"), by: anna, at: at(3))
        #expect(try uses("a") == [4])
        try index.retractUse(of: path("a"), by: anna, at: at(4))
        #expect(try index.recentPaths() == ["b", "a"])
        #expect(try index.recentUse(of: path("a"), by: anna)?.written == true)
    }

    @Test func onlyTheUseOfThatTimeIsRetractedAndNeverWriting() throws {
        try read("a", 1)
        try index.retractUse(of: path("a"), by: anna, at: at(2))
        try index.retractUse(of: path("a"), by: ben, at: at(1))
        #expect(try uses("a") == [1])
        try write("a", 5)
        try index.retractUse(of: path("a"), by: anna, at: at(5))
        #expect(try uses("a") == [5])
    }

    @Test func aReadingToldLateStaysBehindANewerWriting() throws {
        try write("a", 5)
        try read("a", 4)
        #expect(try uses("a") == [5])
        #expect(try index.recentUse(of: path("a"), by: anna)?.written == true)
    }

    @Test func manyReadingsAreRetractedOneByOne() throws {
        try write("a", 1)
        for second in 2...9 as ClosedRange<Int64> { try read("a", second) }
        for second in (2...9 as ClosedRange<Int64>).reversed() {
            try index.retractUse(of: path("a"), by: anna, at: at(second))
        }
        #expect(try uses("a") == [1])
    }
}
