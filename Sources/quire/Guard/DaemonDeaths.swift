import CLinux
import CoordinationService
import Glibc
import StorePrimitives
import SystemPackage

/// How the daemons of a store have died, the last ones: in the file `deaths` of its state folder, a line for each of seconds since
/// 1970 and a reason.
struct DaemonDeaths {
    /// A daemon that dies so often within so many seconds is not started again: whatever it dies of is still there.
    static let limit = 3
    static let window = 60.0
    /// So many are told of.
    private static let kept = 20

    private let path: String
    private(set) var deaths: [MountStatus.Death]

    /// Reads the file; lines of another form are passed over.
    init(stateFolder: String) {
        path = stateFolder + "/deaths"
        let lines = (FileSystem.contents(path) ?? []).split(separator: UInt8(ascii: "\n"))
        deaths = lines.compactMap { line in
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, let time = Double(shown(parts[0])), time.isFinite else { return nil }
            return MountStatus.Death(time: time, reason: shown(parts[1]))
        }
    }

    /// Adds one and writes the file. Throws if that cannot be written.
    mutating func add(_ reason: String, at time: Double) throws(Errno) {
        deaths = (deaths + [MountStatus.Death(time: time, reason: reason)]).suffix(Self.kept)
        let text = deaths.map { "\($0.time) \($0.reason)\n" }.joined()
        let new = path + ".new"
        let file = try Descriptor(opening: new, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
        let bytes = Array(text.utf8)
        guard cl_write(file.number, bytes, bytes.count) == bytes.count, rename(new, path) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Whether there were too many in the time before `time` for another start.
    func areTooMany(at time: Double) -> Bool {
        deaths.count { $0.time > time - Self.window && $0.time <= time } >= Self.limit
    }
}
