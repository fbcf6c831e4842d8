import ArgumentParser
import Glibc

/// A path from the command line, in bytes. Arguments reach the parser as text, with U+FFFD for what is not UTF-8; the bytes
/// are taken from the process's own argument vector.
struct PathArgument: ExpressibleByArgument {
    let bytes: [UInt8]

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        guard argument.unicodeScalars.contains("\u{FFFD}") else {
            bytes = Array(argument.utf8)
            return
        }
        let meant = Set(Self.rawArguments.filter { String(decoding: $0, as: UTF8.self) == argument })
        // Two different paths that look the same as text cannot be told apart here.
        guard meant.count == 1, let only = meant.first else { return nil }
        bytes = only
    }

    /// The process's own, as they were given.
    static var rawArguments: [[UInt8]] {
        (1..<max(Int(CommandLine.argc), 1)).compactMap { index in
            CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
    }

    static var defaultCompletionKind: CompletionKind { .file() }

    var description: String { String(decoding: bytes, as: UTF8.self) }
}
