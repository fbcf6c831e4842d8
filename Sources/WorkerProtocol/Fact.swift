/// A fact from a document's own metadata.
public struct Fact: Hashable, Sendable, Codable {
    /// Its kind: one of `Name`.
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

    /// The kinds of facts that workers tell. Sizes are in pixels, durations in seconds.
    public enum Name {
        public static let pages = "pages", width = "width", height = "height", title = "title", author = "author"
        public static let made = "made", camera = "camera", program = "program"
        public static let duration = "duration", video = "video", audio = "audio", album = "album", artist = "artist"
    }
}
