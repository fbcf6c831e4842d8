import CLinux
import Glibc
import StorePrimitives
import Synchronization

/// The name of a version that stands in a folder of the store for the moments in which it must have one:
/// `.quire-save-PID-START-NUMBER-INODE-KIND`, numbers in hex.
///
/// PID and START (the process's start time) tell whose it is, so that a daemon never sweeps what another one is working on;
/// INODE is the document that the version belongs to. What a claim has made anew belongs to none: a hyphen and the name that it is
/// to have follow, if there is room.
public struct HiddenName: Hashable, Sendable {
    /// One letter: names of less than 40 bytes cost the kernel no memory of their own.
    enum Kind: String {
        /// All that the saver wrote; on its way to being published.
        case whole = "w"
        /// Still being written, where the file system has no files without a name.
        case part = "p"
        /// Saved within a claim, to be published with it.
        case staged = "s"
    }

    let process: ProcessIdentity
    /// The inode number of the document.
    let document: UInt64
    let kind: Kind
    /// Of what belongs to no document.
    let intended: EntryName?

    static let prefix = ".quire-save-"

    /// Whether the name is of this form: never shown, never given to a user's file. Some 5 ns for other names.
    public static func isHidden(_ name: UnsafePointer<CChar>) -> Bool {
        strncmp(name, prefix, prefix.utf8.count) == 0 && HiddenName(EntryName(copying: name)) != nil
    }

    init?(_ name: EntryName) {
        guard name.bytes.starts(with: Self.prefix.utf8) else { return nil }
        let parts = name.bytes.dropFirst(Self.prefix.utf8.count)
            .split(separator: UInt8(ascii: "-"), maxSplits: 5, omittingEmptySubsequences: false)
        let words = parts.prefix(5).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 5, let pid = Int32(words[0], radix: 16), let start = UInt64(words[1], radix: 16),
            UInt64(words[2], radix: 16) != nil, let document = UInt64(words[3], radix: 16), let kind = Kind(rawValue: words[4]),
            parts.count == 5 || kind == .staged && document == 0 && !parts[5].isEmpty
        else { return nil }
        process = ProcessIdentity(pid: pid, start: start)
        self.document = document
        self.kind = kind
        intended = parts.count == 6 ? EntryName(Array(parts[5])) : nil
    }
}

/// Makes the hidden names of one daemon.
final class HiddenNames: Sendable {
    private let stem: [UInt8]
    private let count = Atomic<UInt64>(0)

    init() {
        let own = ProcessIdentity.current
        stem = Array((HiddenName.prefix + String(own.pid, radix: 16) + "-" + String(own.start, radix: 16) + "-").utf8)
    }

    /// A name never given before, for a version of the document with this inode number.
    func next(for document: UInt64, _ kind: HiddenName.Kind) -> EntryName {
        var bytes = stem
        bytes.reserveCapacity(stem.count + 40)
        Self.append(count.wrappingAdd(1, ordering: .relaxed).newValue, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        Self.append(document, to: &bytes)
        bytes.append(UInt8(ascii: "-"))
        bytes.append(contentsOf: kind.rawValue.utf8)
        return EntryName(bytes)!
    }

    /// One for what is to stand under `name`, and belongs to no document yet.
    func next(intendedFor name: EntryName) -> EntryName {
        let hidden = next(for: 0, .staged).bytes
        let named = hidden + [UInt8(ascii: "-")] + name.bytes
        return EntryName(named.count <= Int(NAME_MAX) ? named : hidden)!
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var shift = number == 0 ? 0 : (63 - number.leadingZeroBitCount) & ~3
        while shift >= 0 {
            let digit = UInt8(clamping: number >> UInt64(clamping: shift) & 15)
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            shift -= 4
        }
    }
}

/// A process, told apart from later ones that get the same pid.
struct ProcessIdentity: Hashable, Sendable {
    let pid: pid_t
    /// In clock ticks since the machine started (proc(5), field 22); 0 if it could not be read.
    let start: UInt64

    static var current: ProcessIdentity {
        ProcessIdentity(pid: getpid(), start: ProcessStat(of: getpid())?.start ?? 0)
    }

    /// A process that has ended and was not waited for yet does not run any more.
    var isRunning: Bool {
        guard kill(pid, 0) == 0 || errno == EPERM else { return false }
        // Who may not read of others' processes must take the pid's word.
        guard let now = ProcessStat(of: pid) else { return true }
        return now.start == start && !now.hasEnded
    }
}
