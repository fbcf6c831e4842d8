import Foundation
import Synchronization

/// What the editor shows.
final class ScreenState: Sendable {
    struct Content: Sendable {
        var url: URL
        var text = Text()
        /// It shows what is not in the file.
        var hasChanges = false
        var note = ""
    }

    private let content: Mutex<Content>

    init(_ url: URL) { content = Mutex(Content(url: url)) }

    func read<Value: Sendable>(_ body: (Content) -> Value) -> Value { content.withLock { body($0) } }

    @discardableResult
    func change<Value: Sendable>(_ body: (inout Content) -> Value) -> Value { content.withLock { body(&$0) } }
}

/// Lines and a cursor.
struct Text: Sendable {
    private(set) var lines: [[Character]] = [[]]
    private(set) var row = 0
    private(set) var column = 0

    var content: String { lines.map { String($0) }.joined(separator: "\n") + (lines == [[]] ? "" : "\n") }

    /// The cursor stays where it is, if there is such a place.
    mutating func replace(with content: String) {
        lines = content.split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
        if lines.count > 1, lines.last == [] { lines.removeLast() }
        moveCursor(to: row, column)
    }

    private mutating func moveCursor(to row: Int, _ column: Int) {
        self.row = min(max(row, 0), lines.count - 1)
        self.column = min(max(column, 0), lines[self.row].count)
    }

    /// Whether the text is another one by this.
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .up: moveCursor(to: row - 1, column)
        case .down: moveCursor(to: row + 1, column)
        case .left: column > 0 || row == 0 ? moveCursor(to: row, column - 1) : moveCursor(to: row - 1, .max)
        case .right:
            column < lines[row].count || row == lines.count - 1
                ? moveCursor(to: row, column + 1) : moveCursor(to: row + 1, 0)
        case .control: break
        case .text(let character):
            lines[row].insert(character, at: column)
            column += 1
            return true
        case .enter:
            lines.insert(Array(lines[row][column...]), at: row + 1)
            lines[row].removeSubrange(column...)
            moveCursor(to: row + 1, 0)
            return true
        case .backspace:
            if column > 0 {
                lines[row].remove(at: column - 1)
                column -= 1
            } else if row > 0 {
                let rest = lines.remove(at: row)
                moveCursor(to: row - 1, .max)
                lines[row] += rest
            } else {
                return false
            }
            return true
        }
        return false
    }
}
