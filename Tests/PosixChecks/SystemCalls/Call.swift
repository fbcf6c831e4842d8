@_exported import CSystemCalls

@_exported public import struct SystemPackage.Errno

/// What a system call takes: every argument is one machine word.
package protocol Word { var word: Int { get } }
extension Int: Word { package var word: Int { self } }
extension Int32: Word { package var word: Int { Int(self) } }
extension UInt32: Word { package var word: Int { Int(self) } }
extension UInt64: Word { package var word: Int { Int(bitPattern: UInt(self)) } }
extension UnsafePointer: Word { package var word: Int { Int(bitPattern: self) } }
extension UnsafeMutablePointer: Word { package var word: Int { Int(bitPattern: self) } }
extension UnsafeRawPointer: Word { package var word: Int { Int(bitPattern: self) } }
extension UnsafeMutableRawPointer: Word { package var word: Int { Int(bitPattern: self) } }

/// The last call that failed in this process, for messages. The programs that use this module have one thread.
nonisolated(unsafe) package private(set) var lastFailure = ""

/// One system call, once: EINTR is an error like others. Throws its errno, and notes the caller's name for messages.
@discardableResult
package func call(
    _ number: Int, _ a: some Word, _ b: some Word = 0, _ c: some Word = 0, _ d: some Word = 0, _ e: some Word = 0,
    _ f: some Word = 0, name: String = #function
) throws(Errno) -> Int {
    try done(Int(sc_call(number, a.word, b.word, c.word, d.word, e.word, f.word)), name: name)
}

/// The result of a call that answers `-errno` on failure.
@discardableResult
package func done<Integer: FixedWidthInteger & SignedInteger>(
    _ result: Integer, name: String = #function
) throws(Errno) -> Integer {
    guard result < 0 else { return result }
    lastFailure = String(name.prefix { $0 != "(" })
    throw Errno(rawValue: CInt(-result))
}

/// Calls again for as long as a signal interrupts.
@discardableResult
package func retrying<Result>(_ body: () throws(Errno) -> Result) throws(Errno) -> Result {
    while true {
        do { return try body() } catch { if error != .interrupted { throw error } }
    }
}

extension Errno {
    /// The symbol, such as "ENOENT".
    package var symbol: String { String(cString: sc_errno_name(rawValue)) }
}

/// Passes an array or a string as memory that the kernel reads: it lives until `body` is back.
package func withMemory<Result>(
    _ memory: UnsafeRawPointer, _ body: (UnsafeRawPointer) throws(Errno) -> Result
) throws(Errno) -> Result {
    try body(memory)
}

/// Calls `body` with room for `count` bytes, aligned for O_DIRECT, and keeps as many as it says it filled.
package func filled(
    _ count: Int, _ body: (UnsafeMutableRawPointer) throws(Errno) -> Int
) throws(Errno) -> [UInt8] {
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: 4096)
    defer { buffer.deallocate() }
    let got = try body(buffer)
    return [UInt8](UnsafeRawBufferPointer(start: buffer, count: got))
}
