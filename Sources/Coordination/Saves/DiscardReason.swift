/// Why a save was not published.
public enum DiscardReason: Hashable, Sendable {
    case killed(Int32?)
    /// A relay ended, or was killed, with the document open.
    case relayEnded
    case writeFailed(Int32)
    case publishFailed(Int32)
    /// The document lost its last name meanwhile (rule 13).
    case removed
    /// The open that began it never came back for its working copy.
    case neverOpened

    /// Whether what was written is kept for `quire recover`.
    public var keepsContent: Bool {
        switch self {
        case .killed, .relayEnded, .writeFailed, .publishFailed: true
        case .removed, .neverOpened: false
        }
    }

    /// The error of the close(2) that ends the save; nil for none.
    public var errno: Int32? {
        switch self {
        case .writeFailed(let errno), .publishFailed(let errno): errno
        case .killed, .relayEnded, .removed, .neverOpened: nil
        }
    }

    public var sentence: String {
        switch self {
        case .killed(let signal?): "The program that was saving was killed by signal \(signal)."
        case .killed(nil): "The program that was saving was killed."
        case .relayEnded: "The file server or portal ended before it had closed the document."
        case .writeFailed(let errno): "A write failed (errno \(errno))."
        case .publishFailed(let errno): "The new version could not be put in place (errno \(errno))."
        case .removed: "The document was removed or replaced meanwhile."
        case .neverOpened: "The program was gone before it could write."
        }
    }
}

/// The next step of a save. `plan` says how to carry a `publish` out.
public enum SaveStep: Hashable, Sendable {
    case none
    case publish(VersionID, PublishCause)
    /// The save is over: drop the working copy, or keep it for `quire recover` as the reason says. The close answers
    /// the reason's errno.
    case discard(VersionID, DiscardReason)
    /// Answer with this errno.
    case refuse(Int32)
}
