public import CLinux
import Glibc
import StorePrimitives

/// Which content a thumbnail is of.
public struct ThumbnailVersion: Hashable, Sendable {
    /// The document's time of modification, in nanoseconds since 1970.
    public let modified: Int64
    /// Bytes.
    public let size: Int64
    /// The file, and when it was made: somebody else's file may be given the same time and size.
    private let inode: UInt64
    private let birth: Int64

    public init(_ status: cl_status) {
        modified = saturatedNanoseconds(status.st.st_mtim)
        size = Int64(status.st.st_size)
        inode = UInt64(status.st.st_ino)
        birth = status.birth_ns
    }

    /// The time as Xfce has it: seconds, and the microseconds if there are any. GNOME reads the seconds alone.
    var seconds: String {
        let microseconds = modified / 1_000
        let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        guard rest > 0 else { return "\(whole)" }
        let digits = String(rest)
        return "\(whole)." + String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// The time for a person and for scripts: ISO 8601 in UTC, to the second.
    public var date: String {
        var seconds = time_t(modified / 1_000_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// What Quire's own entries say, as seconds may hide a change.
    var exact: String { "\(modified) \(size) \(inode) \(birth)" }
}
