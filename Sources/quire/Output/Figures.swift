/// Sizes and times as people read them.
package enum Figures {
    /// `512 B`, `1.5 KiB`, `20 MiB`: two figures at least, rounded down.
    package static func size(_ bytes: Int64) -> String {
        if bytes < 1_024 { return "\(bytes) B" }
        var unit: Int64 = 1_024
        var names = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][...]
        while bytes / unit >= 1_024 {
            unit *= 1_024
            names.removeFirst()
        }
        let whole = bytes / unit
        let tenths = bytes / (unit / 1_024) * 10 / 1_024 % 10
        return whole < 10 ? "\(whole).\(tenths) \(names.first!)" : "\(whole) \(names.first!)"
    }

    /// `40 s`, `12 min`, `5 h`, `3 d`. A time to come, as after the clock was set back, is `0 s`.
    package static func age(_ seconds: Double) -> String {
        let seconds = Int(clamping: max(0, min(seconds, 1e12)))
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
