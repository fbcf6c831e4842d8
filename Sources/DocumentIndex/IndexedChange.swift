public import StorePrimitives

/// What became of documents, for who keeps something of them: told once it is in the index, also of what only a scan pass has
/// found out.
public enum IndexedChange: Sendable, Equatable {
    /// A document is there that was not, or has another content; not what a scan pass met for the first time.
    case changed(StorePath)
    /// A document, or a folder, is gone. Each document in a folder is told of by itself.
    case gone(StorePath)
    /// Of a folder, all in it moved too, which is not told of.
    case moved(from: StorePath, to: StorePath, isFolder: Bool)
    /// Two entries, documents or folders, changed places.
    case exchanged(StorePath, StorePath)
}
