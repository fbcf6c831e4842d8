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

/// One thing that a document says of itself.
public struct Fact: Hashable, Sendable, Codable {
    /// What it is: one of `Name`.
    public let name: String
    public let value: String

    /// Control characters are left out: both may come from a document, and go to a terminal.
    public init(_ name: String, _ value: some CustomStringConvertible) {
        self.name = Self.plain(name)
        self.value = Self.plain(value.description)
    }

    /// One line, without what a terminal would obey.
    public static func plain(_ text: String) -> String {
        let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control && $0.properties.generalCategory != .format }
        return String(String.UnicodeScalarView(scalars.prefix(500)))
    }

    /// What workers tell. Sizes are in pixels, durations in seconds.
    public enum Name {
        public static let pages = "pages", width = "width", height = "height", title = "title", author = "author"
        public static let made = "made", camera = "camera", program = "program"
        public static let duration = "duration", video = "video", audio = "audio", album = "album", artist = "artist"
    }
}

/// Limits that both sides know.
public enum WorkLimits {
    /// Bytes of a message.
    public static let message = 16 << 10
    /// Pixels of a picture's longer side.
    public static let side = 4_096
    /// Bytes of the file that a worker writes its result to.
    public static let result = 64 << 20
    /// Bytes of the text of a document; what is more is left out.
    public static let text = 1 << 20
    /// Entries of an archive that are told; what is more is left out.
    public static let entries = 100_000
    /// Of all its entries' paths together: more than archives of documents have.
    public static let names = 300_000
    /// Bytes of a document that is copied for a program of somebody else's.
    public static let copied = 256 << 20
    /// The number of the channel in a worker.
    public static let channel: Int32 = 3
}

/// Where the programs that a worker runs find things, in the worker's own file system.
public enum WorkPaths {
    /// The folder that can be written; it is in memory.
    public static let scratch = "/tmp"
    public static let output = scratch + "/thumbnail.png"

    /// The document. - Parameter suffix: how its name ends, from the dot on; programs tell types by that.
    public static func input(suffix: String) -> String {
        let isPlain = suffix.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") }
        return scratch + "/document" + (isPlain && suffix.utf8.count <= 32 ? suffix : "")
    }
}
