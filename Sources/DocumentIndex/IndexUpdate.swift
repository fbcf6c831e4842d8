public import StorePrimitives

/// Something that happened to the store or to its documents' standing, for `DocumentIndex.apply`.
///
/// Only documents (regular files and packages) have rows; a folder is known by the paths inside it. Nothing inside a package has a row.
public enum IndexUpdate: Sendable {
    /// A document is at this path with these facts. A path already known keeps its document, whatever inode it now has; see
    /// `DocumentIndex` for who a file at a new path is.
    case present(ScannedDocument)

    /// The document at the path, or the whole folder there, is gone.
    case absent(StorePath)

    /// A rename. What was known at and inside `from` is now at `to`; what was known at and inside `to` is gone. If nothing was
    /// known at `from`, a document at `to` has left, and is the same again if `.present` tells of its file; a folder stays.
    ///
    /// `isFolder` false spares the search for paths inside. With `takesOverTarget` (a save by rename; not for folders) the
    /// document at `to` keeps its id, recents and, where the new file brings none of its own, tags; it gets identity and
    /// facts of the row at `from`, whose own id ends. Without a row at `from` nothing is known of the file at `to` but
    /// its path: follow with `.present`.
    case moved(from: StorePath, to: StorePath, isFolder: Bool, takesOverTarget: Bool)

    /// Two entries, documents or folders, changed places.
    case exchanged(StorePath, StorePath)

    /// A document was moved aside to `takingOverFrom` and its name made anew: the new file, of these facts, takes over the
    /// document (id, recents and, where it brings none, tags); the file aside becomes a document of its own.
    case madeAnew(ScannedDocument, takingOverFrom: StorePath)

    /// The document's tags, in their order. Passed over where the path is not known.
    case tags(StorePath, [Tag])

    /// As `tags`, of this file alone: if another is at the path, of the document elsewhere whose file it is, or of none.
    case tagsOfFile(DocumentIdentity, at: StorePath, [Tag])

    /// A user took tags from the document, which has lost them: they go on to be shown to that user without documents, if there is room
    /// for more (`IndexBounds`), and the undo gives them back (`TagRemovalBatch`). Passed over where the path is not known.
    case tagsTaken([Tag], from: StorePath, by: UserID, at: Timestamp, canBeUndone: Bool)

    /// A user removed a tag that no document has any more: `keeper` keeps it no longer, or with nil nobody does, and the undo gives it back.
    case tagDropped(Tag, by: UserID, keeper: UserID?, at: Timestamp)

    /// The document was used, for `.recents`. Passed over where the path is not known.
    case used(StorePath, by: UserID, at: Timestamp, written: Bool)

    /// The use told with exactly this time did not count after all: what the index knew before it is restored. Passed over
    /// where there is no such use.
    case useRetracted(StorePath, by: UserID, at: Timestamp)
}
