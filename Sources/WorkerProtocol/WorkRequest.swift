/// What the daemon asks of a worker, with the descriptors that go with it: first the file that the result is written to, then what
/// is to be read.
public enum WorkRequest: Equatable, Sendable {
    /// A picture of one document, of at most `maximum` pixels a side. `page` counts from 0.
    case render(Subject, maximum: Int, page: Int)
    /// A folder's picture, made of pictures of what is in it: `count` descriptors.
    case collage(count: Int, maximum: Int)
    /// What a document says of itself.
    case facts(Subject)
    /// What can be read in it, as UTF-8. `page` counts from 0; nil means all.
    case text(Subject, page: Int?)
    /// Its searchable text, as UTF-8: what can be read in it, titles, the names in an archive.
    case words(Subject, TextForm)
    /// The links on a page, which counts from 0: a `LinkListing`.
    case links(Subject, page: Int)
    /// What an archive holds: an `ArchiveListing`.
    case list
    /// The content of an archive's entry, which counts from 0 in the archive's own order.
    case extract(entry: Int)
    /// What a program of somebody else's makes of a document, which it finds at `WorkPaths.input`; `result` is where it leaves that.
    case convert(command: [String], suffix: String, result: String)
    /// What a worker that was taken over could do, tried out: with a file that it was not given, and the one it was.
    case probe(path: String)

    /// The format of a document that is text.
    public enum TextForm: String, Sendable, CaseIterable {
        case plain
        /// HTML or XML.
        case markup
        /// One message.
        case mail
        /// Several, as mbox.
        case mailbox
    }

    /// How a document is rendered.
    public enum Subject: String, Sendable, CaseIterable {
        case image
        /// Pages: PDF.
        case pages
        /// Prose, wrapped.
        case text
        /// Lines as they are, in a font of one width.
        case code
        /// What an archive holds, as a list.
        case archive
        /// The picture that an office document has of itself.
        case embedded
        /// The cover of a sound file, or a frame of a film.
        case media
    }
}

/// What a worker answers. Daemons believe none of it: a worker may have been taken over by what it read.
public enum WorkReply: Equatable, Sendable {
    /// 8 bits each of red, green and blue, and of opacity if `bands` is 4, row by row without gaps.
    case picture(width: Int, height: Int, bands: Int)
    /// Why it cannot be rendered, for a person; and whether it may be another time.
    case refused(String, isPassing: Bool)
    case facts([Fact])
    /// So many bytes were written as the result.
    case written(Int)
    /// What a probe could do: nothing in a sandbox that holds.
    case possible([String])
}
