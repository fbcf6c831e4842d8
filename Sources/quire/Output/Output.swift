import FoundationEssentials
import Glibc

/// What commands write.
enum Output {
    /// What is of others' choice in it was made `shown`, which leaves it on its line.
    static func error(_ text: String) { write(PrintableText.lines(text) + "\n", to: STDERR_FILENO) }

    /// How far something is, on the terminal's last line, which the next call writes over.
    static func progress(_ text: String) {
        if isatty(STDERR_FILENO) != 0 { write("\r\u{1B}[K" + PrintableText.line(text), to: STDERR_FILENO) }
    }

    /// Several lines, without a newline at the end.
    static func text(_ text: String) { write(PrintableText.lines(text), to: STDOUT_FILENO) }

    static func lines(_ text: String) { Self.text(text + "\n") }

    static func line(_ line: String) { write(PrintableText.line(line) + "\n", to: STDOUT_FILENO) }

    /// A path: to a terminal as one is shown, to another program in its bytes.
    static func line(_ bytes: [UInt8]) {
        if isatty(STDOUT_FILENO) != 0 { line(PrintableText.line(bytes)) } else { exact(bytes + [0x0a]) }
    }

    /// Bytes as they are: JSON, or a terminal's own language.
    static func exact(_ bytes: [UInt8]) { write(bytes, to: STDOUT_FILENO) }

    static func json(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { preconditionFailure("not JSON: \(value)") }
        exact(Array(data) + [0x0a])
    }

    private static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8), to: descriptor) }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR {
                // Of what goes to standard error nobody can be told.
                guard descriptor == STDOUT_FILENO, errno != EPIPE else { return }
                error("quire: standard output: \(String(cString: strerror(errno)))")
                exit(1)
            }
            rest = rest.dropFirst(max(count, 0))
        }
    }
}
