import CLinux
import Glibc
import MountProtocol
import StorePrimitives
import SystemPackage

/// How the daemons of a store have died, the last ones: in the file `deaths` of its state folder, a line for each of seconds since
/// 1970, process id and reason.
///
/// Two processes may see one death: that which guards the daemon, and that which has started it and waits until it serves. The one
/// that notes it first starts the next daemon.
struct DaemonDeaths {
    /// A daemon that dies so often within so many seconds is not started again: whatever it dies of is still there.
    static let limit = 3
    static let window = 60.0
    /// So many are told of.
    private static let kept = 20

    private struct Line {
        let death: MountStatus.Death
        let daemon: pid_t

        var text: String { "\(death.time) \(daemon) \(death.reason)\n" }

        init(_ death: MountStatus.Death, _ daemon: pid_t) { (self.death, self.daemon) = (death, daemon) }

        /// Nil if the line is of another form.
        init?(_ line: ArraySlice<UInt8>) {
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
            guard parts.count == 3, let time = Double(shown(parts[0])), time.isFinite, let daemon = pid_t(shown(parts[1])) else { return nil }
            self.init(MountStatus.Death(time: time, reason: shown(parts[2])), daemon)
        }
    }

    private let stateFolder: String
    private var path: String { stateFolder + "/deaths" }
    private var lines: [Line] = []
    /// Deaths that could not be written, as on a full disk: they count all the same.
    private var unwritten: [Line] = []

    var deaths: [MountStatus.Death] { lines.map(\.death) }

    /// Reads the file; lines of another form are passed over.
    init(stateFolder: String) {
        self.stateFolder = stateFolder
        read()
    }

    private mutating func read() {
        lines = (FileSystem.contents(path) ?? []).split(separator: UInt8(ascii: "\n")).compactMap { Line($0) } + unwritten
    }

    /// Adds the death of a daemon, unless that has been noted within the last `window`, and writes the file. Waits for other processes
    /// that note one. Throws if the file cannot be written.
    ///
    /// - Parameter daemon: its process id; 0 if none was started.
    /// - Returns: whether it was added.
    mutating func note(_ reason: String, of daemon: pid_t, at time: Double) throws(Errno) -> Bool {
        let lock = try Descriptor(opening: stateFolder, flags: O_RDONLY | O_DIRECTORY)
        _ = try check(flock(lock.number, LOCK_EX))
        defer { withExtendedLifetime(lock) {} }
        read()
        if daemon > 0, lines.contains(where: { $0.daemon == daemon && abs(time - $0.death.time) < Self.window }) { return false }
        let line = Line(MountStatus.Death(time: time, reason: reason.split(separator: "\n").joined(separator: "; ")), daemon)
        lines = (lines + [line]).suffix(Self.kept)
        unwritten.append(line)
        try WholeFile.replace(path, with: Array(lines.map(\.text).joined().utf8))
        unwritten = []
        return true
    }

    /// Whether there were too many in the time before `time` for another start.
    func areTooMany(at time: Double) -> Bool {
        lines.count { $0.death.time > time - Self.window && $0.death.time <= time } >= Self.limit
    }
}
