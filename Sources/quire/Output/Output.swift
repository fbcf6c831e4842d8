import FoundationEssentials
import Glibc

/// What commands write.
enum Output {
    static func error(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// How far something is, on the terminal's last line, which the next call writes over.
    static func progress(_ text: String) {
        if isatty(STDERR_FILENO) != 0 { write("\r\u{1B}[K" + text, to: STDERR_FILENO) }
    }

    static func text(_ text: String) { write(text, to: STDOUT_FILENO) }

    static func line(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// Bytes as they are, with a newline: a path that is piped to another program.
    static func line(_ bytes: [UInt8]) { write(bytes + [0x0a], to: STDOUT_FILENO) }

    static func json(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { preconditionFailure("not JSON: \(value)") }
        line(Array(data))
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
