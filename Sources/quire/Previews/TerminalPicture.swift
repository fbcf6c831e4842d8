import CLinux
import CSixel
import FoundationEssentials
import Glibc
import StorePrimitives

/// Pictures in a terminal.
enum TerminalPicture {
    enum Graphics { case kitty, sixel }

    /// What the terminal at the standard output can show; nil if nothing, or if it does not answer within half a second.
    ///
    /// It is asked by kitty's question and, for sixels, by DEC's for its attributes, which every terminal answers.
    static func known() -> Graphics? {
        guard isatty(STDOUT_FILENO) != 0 else { return nil }
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else { return nil }
        var raw = before
        cfmakeraw(&raw)
        tcsetattr(terminal, TCSANOW, &raw)
        defer { tcsetattr(terminal, TCSAFLUSH, &before) }
        let question = Array("\u{1b}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1b}\\\u{1b}[c".utf8)
        guard write(terminal, question, question.count) == question.count else { return nil }
        let answer = answer(of: terminal)
        if answer.contains("_Gi=31;OK") { return .kitty }
        return attributes(in: answer).contains("4") ? .sixel : nil
    }

    private static let timeout: Int64 = 500_000_000

    /// All up to the end of the attributes: `ESC [ ? 62 ; 4 ; 22 c`.
    private static func answer(of terminal: Int32) -> String {
        let deadline = cl_monotonic_ns() + timeout
        var bytes: [UInt8] = []
        while attributes(in: String(decoding: bytes, as: UTF8.self)).isEmpty, bytes.count < 4_096 {
            var poll = pollfd(fd: terminal, events: Int16(truncatingIfNeeded: POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, Int32(clamping: max(0, (deadline - cl_monotonic_ns()) / 1_000_000))) > 0 else { break }
            var chunk = [UInt8](repeating: 0, count: 256)
            let count = read(terminal, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func attributes(in answer: String) -> [Substring] {
        let parts = answer.split(separator: "\u{1b}[?", omittingEmptySubsequences: true)
        guard let last = parts.last, parts.count > 1 || answer.hasPrefix("\u{1b}[?"), let end = last.firstIndex(of: "c") else { return [] }
        return last[..<end].split(separator: ";")
    }

    /// Pixels that are there for a picture's longer side; 800 if the terminal does not tell.
    static var pixels: Int {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(truncatingIfNeeded: TIOCGWINSZ), &size) == 0, size.ws_xpixel > 0, size.ws_ypixel > 0 else { return 800 }
        return min(1_600, max(200, Int(min(size.ws_xpixel, size.ws_ypixel)) * 9 / 10))
    }

    /// - Parameter picture: a PNG file of Quire's own.
    static func show(_ picture: Descriptor, by known: Graphics) {
        switch known {
        case .kitty: showByKitty(PreviewOutput.bytes(of: picture))
        case .sixel: showBySixels(picture)
        }
    }

    /// The graphics protocol of kitty (https://sw.kovidgoyal.net/kitty/graphics-protocol), in chunks of 4 KiB as it demands.
    private static func showByKitty(_ picture: [UInt8]) {
        var rest = Data(picture).base64EncodedString()[...]
        var options = "f=100,a=T,"
        while !rest.isEmpty {
            let chunk = rest.prefix(4_096)
            rest = rest.dropFirst(chunk.count)
            Output.exact(Array("\u{1b}_G\(options)m=\(rest.isEmpty ? 0 : 1);\(chunk)\u{1b}\\".utf8))
            options = ""
        }
        Output.line("")
    }

    private static func showBySixels(_ picture: Descriptor) {
        var encoder: OpaquePointer?
        guard sixel_encoder_new(&encoder, nil) == 0, let encoder else { return }
        defer { sixel_encoder_unref(encoder) }
        sixel_encoder_encode(encoder, "/proc/self/fd/\(picture.number)")
        Output.line("")
    }
}
