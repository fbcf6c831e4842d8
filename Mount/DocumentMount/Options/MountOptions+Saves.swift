import Coordination
import DocumentStore

/// The options that concern saves: times after which they are streams, what is live, how durable they are, what is kept; and
/// how long is waited for others.
extension MountOptions {
    static let coordinationOptionNames = [
        "redirected-pause", "redirected-open", "save-pause", "live", "relay", "sync-saves", "keep-days", "keep-size",
        "coordination-timeout", "presenter-timeout",
    ]

    /// Takes an option of this family; false if `name` is none.
    mutating func applySaveOption(_ name: String, _ value: String?) throws(MountOptionError) -> Bool {
        switch name {
        case "redirected-pause": streamTimes.redirectedPause = try Self.time(name, value)
        case "redirected-open": streamTimes.redirectedOpen = try Self.time(name, value)
        case "save-pause": streamTimes.pause = try Self.time(name, value)
        case "live": try addLivePatterns(value)
        case "relay": try addRelays(value)
        case "sync-saves" where value == nil: syncsSaves = true
        case "coordination-timeout": coordinationTimes.claims = try Self.boundedTime(name, value)
        case "presenter-timeout": coordinationTimes.presenters = try Self.boundedTime(name, value)
        case "keep-days": keptLimits.seconds = try Self.days(name, value)
        case "keep-size": keptLimits.bytes = try Self.size(name, value)
        default: return false
        }
        return true
    }

    private mutating func addLivePatterns(_ value: String?) throws(MountOptionError) {
        let list = try Self.list(
            "live", value, expected: "patterns for names without slashes, such as *.log:*.trace, or none to take away those so far")
        if list.isAnew { livePatterns = LivePatterns([]) }
        for pattern in list.names { livePatterns.add(pattern) }
    }

    private mutating func addRelays(_ value: String?) throws(MountOptionError) {
        let list = try Self.list(
            "relay", value, expected: "names of programs without slashes, such as smbd:myserver, or none to take away those so far")
        if list.isAnew { relays = [] }
        for name in list.names where !relays.contains(name) { relays.append(name) }
    }

    /// Names with colons between; the word `none` takes away those before it (`isAnew`).
    static func list(
        _ option: String, _ value: String?, expected: String
    ) throws(MountOptionError) -> (isAnew: Bool, names: [String]) {
        var (isAnew, names) = (false, [String]())
        for name in (value ?? "").split(separator: ":", omittingEmptySubsequences: false) {
            if name == "none" {
                (isAnew, names) = (true, [])
            } else if name.isEmpty || name.contains("/") {
                throw .unusable(option: option, value: value, expected: expected)
            } else {
                names.append(String(name))
            }
        }
        return (isAnew, names)
    }

    /// Seconds, down to a millisecond; nil for `inf`.
    private static func time(_ name: String, _ value: String?) throws(MountOptionError) -> Duration? {
        if value == "inf" { return nil }
        guard let milliseconds = thousandths(value), milliseconds > 0 else {
            throw .unusable(
                option: name, value: value,
                expected: "seconds, such as 60 or 0.5, or inf for never; with 0 no save would be a transaction")
        }
        return .milliseconds(milliseconds)
    }

    /// Seconds, down to a millisecond: nobody waits without end.
    private static func boundedTime(_ name: String, _ value: String?) throws(MountOptionError) -> Duration {
        guard let milliseconds = thousandths(value), milliseconds > 0 else {
            throw .unusable(option: name, value: value, expected: "seconds, such as 10 or 0.5")
        }
        return .milliseconds(milliseconds)
    }

    private static func days(_ name: String, _ value: String?) throws(MountOptionError) -> Int64 {
        guard let days = thousandths(value) else {
            throw .unusable(option: name, value: value, expected: "days, such as 7 or 0.5, or 0 to keep nothing")
        }
        return days * 86_400 / 1_000
    }

    private static func size(_ name: String, _ value: String?) throws(MountOptionError) -> Int64 {
        let error = MountOptionError.unusable(
            option: name, value: value, expected: "bytes, or K, M, G or T of them such as 512M, or 0 to keep nothing")
        guard var digits = value?[...] else { throw error }
        let powers: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
        let unit = digits.last.flatMap { powers[Character($0.uppercased())] }
        if unit != nil { digits.removeLast() }
        guard isNumber(digits), let number = Int64(digits) else { throw error }
        let (bytes, overflows) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !overflows else { throw error }
        return bytes
    }

    /// A decimal number, such as `7`, `0.5` or `.5`, times 1,000; what is beyond the third decimal falls away. Nil for anything
    /// else, and for what is over 30 years in seconds.
    private static func thousandths(_ value: String?) -> Int64? {
        guard let value else { return nil }
        let parts = value.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let (whole, decimals) = (parts[0], parts.count > 1 ? parts[1] : "0")
        guard isNumber(decimals), whole.isEmpty && parts.count > 1 || isNumber(whole),
            let units = Int64(whole.isEmpty ? "0" : whole), units < 1_000_000_000,
            let rest = Int64((decimals.prefix(3) + "000").prefix(3))
        else { return nil }
        return units * 1_000 + rest
    }

    /// Digits and nothing else: `Int64` would take a sign, too.
    private static func isNumber(_ text: Substring) -> Bool { !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) } }
}
