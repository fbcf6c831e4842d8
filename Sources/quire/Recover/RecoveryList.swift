import Glibc
import MountProtocol

/// Versions as `quire recover list` shows them.
package enum RecoveryList {
    /// In seconds since 1970.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// One line each.
    package static func lines(_ versions: [RecoverableVersion], now: Double) -> [String] {
        let columns = versions.map { ["\($0.id)", Figures.age(now - $0.time), Figures.size($0.size)] }
        let widths = (0..<3).map { column in columns.map { $0[column].count }.max() ?? 0 }
        return zip(versions, columns).map { version, columns in
            let figures = zip(columns, widths).map { String(repeating: " ", count: $1 - $0.count) + $0 + "  " }.joined()
            return figures + shown(version.path) + ": \(reason(version))"
        }
    }

    private static func reason(_ version: RecoverableVersion) -> String {
        let saver = version.saver.map { "; written by \($0.process.isEmpty ? "" : "\(shown($0.process)), ")process \($0.pid)" } ?? ""
        return version.explanation + saver + (version.hasContent ? "" : "; too large to be kept")
    }
}
