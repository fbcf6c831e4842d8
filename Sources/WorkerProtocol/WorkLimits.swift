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
    /// Bytes of a document's searchable text; what is more is left out.
    public static let words = 4 << 20
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
