import Glibc
import StorePrimitives
import SystemPackage

/// A notification of the desktop's (freedesktop.org, Desktop Notifications Specification), by notify-send(1).
struct DesktopNotification {
    private let words: [String]

    /// - Parameter body: plain text.
    init(_ summary: String, _ body: String) {
        // notify-send(1) undoes escapes of C in the body, and the desktop takes it for markup.
        let text = body.replacing("\\", with: "\\\\").replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        words = ["--app-name=Quire", "--icon=document-revert", "--", summary, text]
    }

    /// Does not wait for the user.
    func show() { _ = try? ChildProcess.run("notify-send", words.map { Array($0.utf8) }) }

    /// Shows it with buttons, and waits for the user. Returns the name of the button that was used; nil if none was, or nothing can be shown.
    func ask(_ buttons: [(name: String, label: String)]) -> String? {
        let arguments = buttons.map { "--action=\($0.name)=\($0.label)" } + words
        guard let (reading, writing) = try? ChildProcess.pipe(),
            let child = try? ChildProcess.spawn(
                "notify-send", arguments.map { Array($0.utf8) }, environment: ChildProcess.inherited, connecting: [(writing, STDOUT_FILENO)],
                newSession: false)
        else { return nil }
        _ = consume writing
        let answer = try? WholeFile.read(reading)
        _ = try? ChildProcess.wait(for: child)
        return answer.map { String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) }
    }
}
