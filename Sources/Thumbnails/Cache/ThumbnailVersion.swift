public import CLinux
import StorePrimitives

/// Which content a thumbnail is of.
public struct ThumbnailVersion: Hashable, Sendable {
    /// The document's time of modification, in nanoseconds since 1970.
    public let modified: Int64
    /// Bytes.
    public let size: Int64

    public init(_ status: cl_status) {
        modified = saturatedNanoseconds(status.st.st_mtim)
        size = Int64(status.st.st_size)
    }

    /// The time as Xfce has it: seconds, and the microseconds if there are any. GNOME reads the seconds alone.
    var seconds: String {
        let microseconds = modified / 1_000
        let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        guard rest > 0 else { return "\(whole)" }
        let digits = String(rest)
        return "\(whole)." + String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// What Quire's own entries say, as seconds may hide a change.
    var exact: String { "\(modified) \(size)" }
}
