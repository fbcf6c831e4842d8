/// The sizes that desktops agree on (Thumbnail Managing Standard, "Thumbnail Storage").
public enum ThumbnailSize: String, CaseIterable, Sendable, Comparable {
    case normal
    case large
    case extraLarge = "x-large"
    case doubleExtraLarge = "xx-large"

    /// Pixels of the longer side, at most.
    public var pixels: Int {
        switch self {
        case .normal: 128
        case .large: 256
        case .extraLarge: 512
        case .doubleExtraLarge: 1024
        }
    }

    public static func < (one: Self, other: Self) -> Bool { one.pixels < other.pixels }

    /// The smallest size with at least so many pixels, else the largest.
    public init(atLeast pixels: Int) { self = Self.allCases.first { $0.pixels >= pixels } ?? .doubleExtraLarge }
}
