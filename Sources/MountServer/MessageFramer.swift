internal import NIOCore

/// Cuts a byte stream into messages that end in NUL. Looks at each byte once, however the stream was cut up.
struct MessageFramer {
    struct TooLarge: Error {}

    /// The most bytes of a message, without its NUL.
    let limit: Int
    private var received = ByteBuffer()
    /// How many of the readable bytes are known to hold no NUL.
    private var searched = 0

    init(limit: Int) { self.limit = limit }

    mutating func append(_ bytes: inout ByteBuffer) {
        if received.readableBytes == 0 {
            received = bytes
            searched = 0
        } else {
            received.writeBuffer(&bytes)
        }
    }

    /// Whether a message has begun and not ended.
    var hasPartialMessage: Bool { received.readableBytes > 0 }

    /// The next whole message; nil while there is none. Throws once a message is longer than the limit: the stream cannot be
    /// used any further.
    mutating func next() throws(TooLarge) -> ByteBuffer? {
        guard let length = received.withUnsafeReadableBytes({ bytes in bytes[searched...].firstIndex(of: 0) }) else {
            searched = received.readableBytes
            if searched > limit { throw TooLarge() }
            return nil
        }
        if length > limit { throw TooLarge() }
        let message = received.readSlice(length: length)
        received.moveReaderIndex(forwardBy: 1)
        searched = 0
        if received.readableBytes == 0 {
            received = ByteBuffer()  // gives the storage of a large message back
        }
        return message
    }
}
