internal import Glibc

/// The time that a query is asked at, and the time zone in which it means days.
public struct QueryCalendar: Sendable {
    /// In seconds since 1970.
    let now: Int64
    let isUTC: Bool

    /// Now, in the process's time zone.
    public static var local: QueryCalendar { QueryCalendar(now: Int64(time(nil)), isUTC: false) }

    public init(now: Int64, isUTC: Bool) {
        self.now = now
        self.isUTC = isUTC
    }

    /// A day, month or year, and how many of them later it ends.
    private struct Period {
        var year = 1970
        var month = 1
        var day = 1
        var hour = 0
        var minute = 0
        var unit = Unit.day

        enum Unit { case minute, day, month, year, days(Int) }
    }

    /// The range that a text means; nil if it means none. A time ago (`7d`) is the time from then until now or, of a bound, that moment.
    package func range(_ text: String, isBound: Bool = false) -> TimeRange? {
        let word = text.lowercased().replacing("_", with: "-").replacing(" ", with: "-")
        if let ago = ago(word) { return TimeRange(start: ago, end: isBound ? ago : nanoseconds(now)) }
        return (named(word) ?? dated(word)).map { period in
            TimeRange(start: nanoseconds(seconds(period)), end: nanoseconds(seconds(end(period))))
        }
    }

    /// `7d`: a time as long ago, in nanoseconds.
    private func ago(_ word: String) -> Int64? {
        guard let unit = word.last, let count = Int(word.dropLast()), (0...100_000).contains(count), word.first?.isNumber == true else { return nil }
        var today = parts(of: now)
        switch unit {
        case "h": return nanoseconds(now.adding(clamping: -(Int64(count) &* 3_600)))
        case "d": today.tm_mday &-= Int32(clamping: count)
        case "w": today.tm_mday &-= Int32(clamping: count &* 7)
        case "m": today.tm_mon &-= Int32(clamping: count)
        case "y": today.tm_year &-= Int32(clamping: count)
        default: return nil
        }
        return nanoseconds(seconds(of: today))
    }

    private func named(_ word: String) -> Period? {
        let now = parts(of: now)
        var period = Period(year: 1_900 &+ Int(now.tm_year), month: 1 &+ Int(now.tm_mon), day: Int(now.tm_mday))
        // Weeks begin on Monday (ISO 8601).
        let daysSinceMonday = (Int(now.tm_wday) &+ 6) % 7
        switch word {
        case "today": break
        case "yesterday": period.day &-= 1
        case "this-week", "last-week":
            period.day &-= daysSinceMonday &+ (word == "last-week" ? 7 : 0)
            period.unit = .days(7)
        case "this-month", "last-month":
            period.day = 1
            period.month &-= word == "last-month" ? 1 : 0
            period.unit = .month
        case "this-year", "last-year":
            (period.day, period.month) = (1, 1)
            period.year &-= word == "last-year" ? 1 : 0
            period.unit = .year
        default: return nil
        }
        return period
    }

    /// `2026`, `2026-03`, `2026-03-01`, `2026-03-01T14:05`.
    private func dated(_ word: String) -> Period? {
        let halves = word.split(separator: "t", omittingEmptySubsequences: false)
        guard let date = halves.first, halves.count <= 2 else { return nil }
        let numbers = date.split(separator: "-", omittingEmptySubsequences: false)
        guard let year = numbers.first.flatMap({ Self.number($0, digits: 4, in: 1...9_999) }), numbers.count <= 3 else { return nil }
        var period = Period(year: year, unit: .year)
        if let text = numbers.dropFirst().first {
            guard let month = Self.number(text, digits: 2, in: 1...12) else { return nil }
            (period.month, period.unit) = (month, .month)
        }
        if let text = numbers.dropFirst(2).first {
            guard let day = Self.number(text, digits: 2, in: 1...31) else { return nil }
            (period.day, period.unit) = (day, .day)
            // The 31st of February is another day.
            guard Int(parts(of: seconds(period)).tm_mday) == day else { return nil }
        }
        guard let clock = halves.dropFirst().first else { return period }
        let time = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard case .day = period.unit, time.count == 2, let hour = time.first.flatMap({ Self.number($0, digits: 2, in: 0...23) }),
            let minute = time.last.flatMap({ Self.number($0, digits: 2, in: 0...59) })
        else { return nil }
        (period.hour, period.minute, period.unit) = (hour, minute, .minute)
        return period
    }

    private static func number(_ text: Substring, digits: Int, in range: ClosedRange<Int>) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
            range.contains(number)
        else { return nil }
        return number
    }

    private func end(_ period: Period) -> Period {
        var end = period
        switch period.unit {
        case .minute: end.minute &+= 1
        case .day: end.day &+= 1
        case .days(let count): end.day &+= count
        case .month: end.month &+= 1
        case .year: end.year &+= 1
        }
        return end
    }

    private func parts(of seconds: Int64) -> tm {
        var time = time_t(seconds)
        var parts = tm()
        _ = isUTC ? gmtime_r(&time, &parts) : localtime_r(&time, &parts)
        return parts
    }

    /// Days and months beyond their month or year count on into the next.
    private func seconds(_ period: Period) -> Int64 {
        var parts = tm()
        parts.tm_year = Int32(clamping: period.year &- 1_900)
        parts.tm_mon = Int32(clamping: period.month &- 1)
        parts.tm_mday = Int32(clamping: period.day)
        parts.tm_hour = Int32(clamping: period.hour)
        parts.tm_min = Int32(clamping: period.minute)
        return seconds(of: parts)
    }

    private func seconds(of parts: tm) -> Int64 {
        var parts = parts
        // Whether it is summer time then is for the time zone to say.
        parts.tm_isdst = -1
        return Int64(isUTC ? timegm(&parts) : mktime(&parts))
    }

    /// The nearest there is for years before 1677 and after 2262.
    private func nanoseconds(_ seconds: Int64) -> Int64 {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product
    }
}
