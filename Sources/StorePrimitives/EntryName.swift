#if canImport(Glibc)
    import Glibc
#endif

/// The name of one entry in a folder: bytes, not text. Two Unicode forms of é are two names, and 0xFF is a legal byte.
///
/// The bytes end in NUL so that a name goes to a system call without a copy.
public struct EntryName: Hashable, Sendable {
    /// The name's bytes and the NUL that ends them.
    @usableFromInline let terminated: [UInt8]

    /// All bytes at once, as `StorePath` does.
    public func hash(into hasher: inout Hasher) { terminated.withUnsafeBytes { hasher.combine(bytes: $0) } }

    /// The longest name Linux takes, in bytes (NAME_MAX, path_resolution(7)).
    public static let maximumLength = 255

    /// Copies a NUL-terminated name, as the kernel hands it over.
    public init(copying cString: UnsafePointer<CChar>) {
        let length = strlen(cString)
        terminated = UnsafeRawBufferPointer(start: cString, count: length + 1).map { $0 }
    }

    /// A name from bytes; nil if they are no name: empty, over 255 bytes, or with a slash or NUL in them.
    public init?(_ bytes: some Sequence<UInt8>) {
        var copy = Array(bytes)
        guard !copy.isEmpty, copy.count <= Self.maximumLength, !copy.contains(0), !copy.contains(UInt8(ascii: "/"))
        else { return nil }
        copy.append(0)
        terminated = copy
    }

    /// A name from text known to be one, such as a literal. Traps on an empty name or a slash.
    public init(_ text: String) {
        guard let name = EntryName(text.utf8) else { preconditionFailure("not an entry name: \(text)") }
        self = name
    }

    /// The bytes without the NUL.
    public var bytes: ArraySlice<UInt8> { terminated[..<(terminated.count - 1)] }

    /// The name's ending from its last dot on, as text; empty if there is none. A leading dot makes a hidden name.
    public var suffix: String {
        bytes.dropFirst().lastIndex(of: UInt8(ascii: ".")).map { String(decoding: bytes[$0...], as: UTF8.self) } ?? ""
    }

    /// For messages and logs: invalid UTF-8 shows as U+FFFD.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Calls `body` with the NUL-terminated bytes, valid for the call.
    @inlinable
    public func withCString<Result, Failure: Error>(
        _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Safe: UInt8 and CChar have one layout, and the buffer outlives the call.
        try terminated.withUnsafeBufferPointer { (buffer) throws(Failure) -> Result in
            try buffer.baseAddress!.withMemoryRebound(to: CChar.self, capacity: buffer.count) {
                (pointer) throws(Failure) -> Result in try body(pointer)
            }
        }
    }

    /// Whether this is the name at `cString`. O(length), no allocation.
    public func matches(_ cString: UnsafePointer<CChar>) -> Bool {
        withCString { strcmp($0, cString) == 0 }
    }
}

extension EntryName: CustomStringConvertible {}
