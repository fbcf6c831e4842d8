import QueryLanguage
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

    @Test func aTimeAgoIsThatMomentWhereItIsABound() throws {
        let day: Int64 = 86_400_000_000_000
        let now: Int64 = 1_795_874_400_000_000_000
        #expect(try parsed("date:2w..1w") == .term(.modified(TimeRange(start: now - 14 * day, end: now - 7 * day))))
        #expect(try parsed("date:..1d") == .term(.modified(TimeRange(start: .min, end: now - day))))
        #expect(try parsed("date:7d") == .term(.modified(TimeRange(start: now - 7 * day, end: now))))
        #expect(try parsed("date>7d") == .term(.modified(TimeRange(start: now - 7 * day, end: .max))))
        #expect(try parsed("date>2025") == parsed("after:2026"))
        #expect(try parsed("date>=2026") == parsed("after:2026"))
        #expect(try parsed("date<2026") == parsed("before:2026"))
        #expect(try parsed("Date<=2025") == parsed("before:2026"))
    }

    @Test func afterAndBeforeMeanTheBeginning() throws {
        #expect(try parsed("after:2026") == .term(.modified(TimeRange(start: 1_767_225_600_000_000_000, end: .max))))
        #expect(try parsed("before:2026") == .term(.modified(TimeRange(start: .min, end: 1_767_225_600_000_000_000))))
        #expect(try parsed("date:2026..2026-02") == .term(.modified(TimeRange(start: 1_767_225_600_000_000_000, end: 1_772_323_200_000_000_000))))
        #expect(try parsed("date:..2026") == .term(.modified(TimeRange(start: .min, end: 1_798_761_600_000_000_000))))
    }
}
