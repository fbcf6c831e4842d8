@testable import QueryLanguage
import Testing

@Suite struct QueryCalendarTests {
    private func seconds(_ text: String) throws -> (Int64, Int64) {
        let range = try #require(now.range(text), "\(text)")
        return (range.start / 1_000_000_000, range.end / 1_000_000_000)
    }

    @Test(arguments: [
        // `date -u -d … +%s` gave these.
        ("2026", 1_767_225_600, 1_798_761_600), ("2026-02", 1_769_904_000, 1_772_323_200), ("2026-11-28", 1_795_824_000, 1_795_910_400),
        ("2024-02-29", 1_709_164_800, 1_709_251_200), ("2026-11-28T14:05", 1_795_874_700, 1_795_874_760),
        ("today", 1_795_824_000, 1_795_910_400), ("yesterday", 1_795_737_600, 1_795_824_000), ("this-week", 1_795_392_000, 1_795_996_800),
        ("last week", 1_794_787_200, 1_795_392_000), ("this_month", 1_793_491_200, 1_796_083_200), ("Last-Month", 1_790_812_800, 1_793_491_200),
        ("this-year", 1_767_225_600, 1_798_761_600), ("last-year", 1_735_689_600, 1_767_225_600), ("12h", 1_795_831_200, 1_795_874_400),
        ("7d", 1_795_269_600, 1_795_874_400), ("2w", 1_794_664_800, 1_795_874_400), ("1m", 1_793_196_000, 1_795_874_400),
        ("1y", 1_764_338_400, 1_795_874_400),
    ] as [(String, Int64, Int64)])
    func aDateIsARangeOfTime(text: String, start: Int64, end: Int64) throws {
        let found = try seconds(text)
        #expect(found.0 == start)
        #expect(found.1 == end)
    }

    @Test(arguments: ["", "x", "26", "2026-13", "2026-2", "2026-02-30", "2025-02-29", "2026-01-01T25:00", "2026-01T10:00", "0000", "d", "-1d", "next-week", "2026-01-01-01"])
    func otherTextIsNone(text: String) { #expect(now.range(text) == nil) }

    /// Dates beyond what nanoseconds can tell are the nearest there is.
    @Test func farDatesDoNotOverflow() throws {
        #expect(now.range("9999")?.end == .max)
        #expect(now.range("0001")?.start == .min)
        #expect(now.range("100000y") != nil)
        for seconds in [Int64.min, .max] { #expect(QueryCalendar(now: seconds, isUTC: true).range("7d") != nil) }
    }

    /// Summer time began on 2026-03-29 in the process's time zone, if that is a German one; a day is a day in any.
    @Test func aDayOfTheLocalTimeZoneIs23To25HoursLong() throws {
        let range = try #require(QueryCalendar(now: 1_795_874_400, isUTC: false).range("2026-03-29"))
        #expect((23...25).contains((range.end - range.start) / 3_600_000_000_000))
    }

    @Test func afterAndBeforeMeanTheBeginning() throws {
        #expect(try parsed("after:2026") == .term(.modified(TimeRange(start: 1_767_225_600_000_000_000, end: .max))))
        #expect(try parsed("before:2026") == .term(.modified(TimeRange(start: .min, end: 1_767_225_600_000_000_000))))
        #expect(try parsed("date:2026..2026-02") == .term(.modified(TimeRange(start: 1_767_225_600_000_000_000, end: 1_772_323_200_000_000_000))))
        #expect(try parsed("date:..2026") == .term(.modified(TimeRange(start: .min, end: 1_798_761_600_000_000_000))))
    }
}
