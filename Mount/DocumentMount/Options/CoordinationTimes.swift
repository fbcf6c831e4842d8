import StorePrimitives

/// How long is waited for others.
public struct CoordinationTimes: Hashable, Sendable {
    /// For claims, by opens for writing and by claims that name no time themselves.
    public var claims = Duration.seconds(10)
    /// For a presenter's answer.
    public var presenters = Duration.seconds(2)

    public init() {}

    func deadline(_ time: Duration, from now: UInt64) -> UInt64 { now &+ UInt64(clamping: time.nanoseconds) }
}
