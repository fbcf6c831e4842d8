import Glibc

/// Which user ids are one account's: an ordinary user may be given thousands more for user namespaces (subuid(5)), and has one share
/// for all of these.
public struct Accounts: Sendable {
    private struct Range: Sendable {
        let first: UInt32
        let last: UInt32
        let owner: UInt32
    }

    /// In order.
    private var ranges: [Range] = []

    /// Each user id is an account of its own.
    public init() {}

    /// - Parameters:
    ///   - text: lines of `ACCOUNT:FIRST:COUNT`, as in /etc/subuid; others are passed over.
    ///   - number: the user id of an account's name.
    public init(parsing text: String, number: (String) -> UInt32?) {
        var known: [String: UInt32?] = [:]
        func owner(_ name: String) -> UInt32? {
            if let number = UInt32(name) { return number }
            if let found = known[name] { return found }
            let found = number(name)
            known[name] = .some(found)
            return found
        }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: ":", omittingEmptySubsequences: false)
            guard words.count == 3, let first = UInt32(words[1]), let count = UInt32(words[2]), count > 0,
                let owner = owner(String(words[0]))
            else { continue }
            let (last, isTooHigh) = first.addingReportingOverflow(count - 1)
            // Root's share is no user's in a container.
            if first > 0, owner != 0, !isTooHigh { ranges.append(Range(first: first, last: last, owner: owner)) }
        }
        ranges.sort { $0.first < $1.first }
    }

    /// As the system has them now. Looks names up, which may ask a directory service.
    public static func ofSystem() -> Accounts {
        guard let bytes = try? WholeFile.read("/etc/subuid") else { return Accounts() }
        return Accounts(parsing: String(decoding: bytes, as: UTF8.self)) { getpwnam($0)?.pointee.pw_uid }
    }

    /// The account that a user id belongs to: itself, as a rule. O(log ranges).
    public func owner(of user: UInt32) -> UInt32 {
        guard let lowest = ranges.first, user >= lowest.first else { return user }
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = low + (high - low) / 2
            if ranges[middle].first <= user { low = middle + 1 } else { high = middle }
        }
        let range = ranges[low - 1]
        return user <= range.last ? range.owner : user
    }

    /// The user ids of an account. O(ranges).
    public func users(of account: UInt32) -> [ClosedRange<UInt32>] {
        [account...account] + ranges.lazy.filter { $0.owner == account }.map { $0.first...$0.last }
    }
}
