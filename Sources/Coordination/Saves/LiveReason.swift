/// Why a document is written in place, as on a plain folder, and not by a transaction (rules 1 and 3).
public enum LiveReason: String, CaseIterable, Hashable, Sendable {
    // How it was opened.
    case unknownCaller
    case truncatesOnly
    case appending
    case notTruncating
    case synchronous
    // What was opened.
    case livePattern
    case served
    case newFile
    case empty
    case hardLinked
    case removed
    case writtenByAnother
    case writtenBySaver
    // What stands in the way of a working copy.
    case attributesNotTransferable
    case noRoom
    // How a save ended that still has descriptors.
    case synced
    case renamed
    case stream
    case outOfRoom
    case extended
    case outlivedSave

    /// What `quire status` says of it.
    public var sentence: String {
        switch self {
        case .unknownCaller: "The program runs in another pid namespace, where it cannot be told from others."
        case .truncatesOnly: "It was truncated without being opened for writing."
        case .appending: "It was opened for appending."
        case .notTruncating: "It was opened for changes in place, without truncating it."
        case .synchronous: "It was opened with O_SYNC or O_DSYNC: each write is to be on the disk at once."
        case .livePattern: "Its name matches a live pattern of this mount."
        case .served: "It is on a network or FUSE file system that is mounted inside the store."
        case .newFile: "It was made by this open: there is no older version to protect."
        case .empty: "It was empty: there is no older version to protect."
        case .hardLinked: "It has hard links, which must stay one file."
        case .removed: "It was removed: it has no name under which there could be a new version."
        case .writtenByAnother: "Another program has it open for writing."
        case .writtenBySaver: "The program has it open for writing already."
        case .attributesNotTransferable: "Its owner, mode or attributes cannot be given to another file."
        case .noRoom: "There is no room for a second version."
        case .synced: "It was saved by fsync and is still open."
        case .renamed: "It was saved when it was renamed or linked, and is still open."
        case .stream: "It is written in pieces, with pauses or for a long time."
        case .outOfRoom: "There was no room left for two versions."
        case .extended: "It was extended to be mapped, by a handle whose mappings are of the document's own inode."
        case .outlivedSave: "It was saved, but a descriptor is still in use."
        }
    }
}
