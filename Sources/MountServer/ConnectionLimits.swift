/// What one connection may ask of the service at most. What users may have of it together is in `BoundedResource`.
public struct ConnectionLimits: Sendable {
    /// The longest message, in bytes.
    public var messageSize = 1 << 20
    /// A message that has begun must be whole within this time.
    public var messageTimeout = Duration.seconds(10)
    /// A connection on which nothing is asked for this long is dropped.
    public var idleTimeout = Duration.seconds(300)
    /// A reply must be taken within this time.
    public var replyTimeout = Duration.seconds(10)

    public init() {}
}
