/// What the daemon asks of a worker, with the descriptors that go with it: first the file that the result is written to, then what
/// is to be read.
public enum WorkRequest: Equatable, Sendable {
    /// A picture of one document, of at most `maximum` pixels a side. `page` counts from 0.
    case draw(Subject, maximum: Int, page: Int)
    /// A folder's picture, made of pictures of what is in it: `count` descriptors.
    case collage(count: Int, maximum: Int)
    /// The picture that a program of somebody else's draws of a document, which it finds at `WorkPaths.input` and leaves at
    /// `WorkPaths.output`.
    case run(command: [String], suffix: String, maximum: Int)
    /// What a worker that was taken over could do, tried out: with a file that it was not given, and the one it was.
    case probe(path: String)

    /// How a document is drawn.
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
    /// Why it cannot be drawn, for a person.
    case refused(String)
    /// What a probe could do: nothing in a sandbox that holds.
    case possible([String])
}

/// Limits that both sides know.
public enum WorkLimits {
    /// Bytes of a message.
    public static let message = 16 << 10
    /// Pixels of a picture's longer side.
    public static let side = 4_096
    /// Bytes of the file that a worker writes its result to.
    public static let result = 64 << 20
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
