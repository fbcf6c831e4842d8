import Glibc
import Testing

/// Who mounts. Root's mounts are for all users, as fstab's are; the ordinary user's go through fusermount3.
enum Account: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case root, user

    var testDescription: String { rawValue }

    /// The account of this name is made by Tests/run.
    static let userName = "quiretest"
    /// Users beside the one who mounts; they need no account.
    static let alice: UInt32 = 61001
    static let bob: UInt32 = 61002

    /// The user to become; nil for root, who runs the tests.
    var uid: UInt32? {
        guard self == .user else { return nil }
        guard let entry = getpwnam(Self.userName) else {
            Issue.record("there is no user \(Self.userName): run Tests/run, or useradd --create-home \(Self.userName)")
            return Self.alice
        }
        return entry.pointee.pw_uid
    }

    /// Options with which the kernel hides nothing of what the store allows.
    var options: [String] { self == .root ? ["allow_other,suid,dev"] : [] }
}

/// Whether the tests that take minutes are asked for (`Tests/run --long`).
let isLongRun = getenv("QUIRE_LONG").map { String(cString: $0) == "1" } ?? false
