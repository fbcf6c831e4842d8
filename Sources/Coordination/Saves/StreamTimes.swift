/// When a save stops being a transaction (rule 11). Nil means never.
public struct StreamTimes: Hashable, Sendable {
    /// How long a redirected save may pause, and one that began by ftruncate(2).
    public var redirectedPause: Duration? = .seconds(5)
    /// How long a redirected save may be open.
    public var redirectedOpen: Duration? = .seconds(60)
    /// How long any save may pause.
    public var pause: Duration? = .seconds(60)

    public init() {}
}
