import Foundation
import Glibc
import Synchronization

enum Key: Hashable, Sendable {
    case text(Character)
    case control(Character)
    case enter, backspace, up, down, left, right
}

/// The terminal in raw mode (termios(3)), drawn by ANSI's sequences.
final class Terminal: Sendable {
    private let original: termios
    /// Bytes typed and not yet taken.
    private let typed = Mutex<[UInt8]>([])

    /// Nil if standard input or output is none.
    init?() {
        var settings = termios()
        guard isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        original = settings
        cfmakeraw(&settings)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        Self.write("\u{1B}[?1049h")
    }

    func restore() {
        Self.write("\u{1B}[?1049l")
        var settings = original
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
    }

    private var size: (rows: Int, columns: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 1, size.ws_col > 1 else { return (24, 80) }
        return (Int(size.ws_row), Int(size.ws_col))
    }

    // MARK: - Keys

    /// Waits for a key; nil when the terminal is gone.
    func nextKey(onResize: () -> Void) -> Key? {
        var known = size
        while true {
            if let key = typed.withLock({ Self.takeKey(&$0) }) { return key }
            var request = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let count = poll(&request, 1, 200)
            if size != known {
                known = size
                onResize()
            }
            guard count > 0 else { continue }
            var bytes = [UInt8](repeating: 0, count: 256)
            let length = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
            guard length > 0 else { return nil }
            typed.withLock { $0 += bytes[..<length] }
        }
    }

    /// Takes one key off the front; nil if it is not whole. What is no key of the editor's is passed over.
    private static func takeKey(_ bytes: inout [UInt8]) -> Key? {
        while let first = bytes.first {
            switch first {
            case 0x1B:
                let rest = bytes.dropFirst()
                guard rest.count >= 2, rest[1] == UInt8(ascii: "[") else {
                    bytes.removeFirst()
                    continue
                }
                let end = rest.dropFirst().firstIndex { (0x40...0x7E).contains($0) }
                guard let end else { return nil }
                let arrow = bytes[end]
                bytes.removeSubrange(...end)
                switch arrow {
                case UInt8(ascii: "A"): return .up
                case UInt8(ascii: "B"): return .down
                case UInt8(ascii: "C"): return .right
                case UInt8(ascii: "D"): return .left
                default: continue
                }
            case 0x0D, 0x0A:
                bytes.removeFirst()
                return .enter
            case 0x7F, 0x08:
                bytes.removeFirst()
                return .backspace
            case 0x09:
                bytes.removeFirst()
                return .text("\t")
            case 1..<0x20:
                bytes.removeFirst()
                return .control(Character(Unicode.Scalar(first + 0x60)))
            default:
                let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
                guard bytes.count >= length else { return nil }
                let text = String(decoding: bytes[..<length], as: UTF8.self)
                bytes.removeFirst(length)
                if let character = text.first { return .text(character) }
            }
        }
        return nil
    }

    // MARK: - Drawing

    func draw(_ content: ScreenState.Content) {
        let (rows, columns) = size
        let text = content.text
        let top = max(0, text.row - (rows - 2))
        let left = max(0, text.column - (columns - 1))
        var output = "\u{1B}[?25l\u{1B}[H"
        for row in top..<(top + rows - 1) {
            let line = row < text.lines.count ? String(Self.shown(text.lines[row]).dropFirst(left).prefix(columns)) : "~"
            output += line + "\u{1B}[K\r\n"
        }
        let title = "\(content.url.lastPathComponent)\(content.hasChanges ? " *" : "")  \(content.note)"
        output += "\u{1B}[7m" + String(Self.shown(Array(title)).prefix(columns)) + "\u{1B}[K\u{1B}[0m"
        output += "\u{1B}[\(text.row - top + 1);\(text.column - left + 1)H\u{1B}[?25h"
        Self.write(output)
    }

    /// Each character takes one column: a tab is shown as a blank, and what would move the cursor as a dot.
    private static func shown(_ characters: [Character]) -> [Character] {
        characters.map { character in
            if character == "\t" { return " " }
            return character.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F } ? "·" : character
        }
    }

    private static func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR && errno != EAGAIN { return }
        }
    }
}
