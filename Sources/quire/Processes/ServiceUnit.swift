import Glibc
import StorePrimitives
import SystemPackage

/// The systemd unit that mounts a store: `quire@STORE.service`, root's or the user's own.
package struct ServiceUnit {
    let name: String
    private static let scope = getuid() == 0 ? [] : ["--user"]

    /// - Parameter store: its canonical path.
    init(store: [UInt8]) {
        name = "quire@\(Self.escaped(store)).service"
    }

    /// Starts it now and at each login, for root at each boot.
    func enable() throws(CommandFailure) { try run("enable") }

    /// Ends it, and does not start it any more.
    func disable() throws(CommandFailure) { try run("disable") }

    /// Whether systemd knows the template.
    static var isInstalled: Bool { answersYes(["cat", "quire@any.service"]) }

    /// Whether one of the calling user's has.
    static var haveFailed: Bool { answersYes(["is-failed", "--quiet", "quire@*.service"]) }

    private static func answersYes(_ words: [String]) -> Bool {
        let arguments = scope + words
        let output = try? Descriptor(opening: "/dev/null", flags: O_WRONLY)
        guard let output, let child = try? ChildProcess.spawn(
            "systemctl", arguments.map { Array($0.utf8) }, environment: ChildProcess.inherited, connecting: [(output, STDOUT_FILENO), (output, STDERR_FILENO)],
            newSession: false)
        else { return false }
        return (try? ChildProcess.wait(for: child)) == 0
    }

    private func run(_ verb: String) throws(CommandFailure) {
        let arguments = Self.scope + [verb, "--now", "--quiet", name]
        let command = (["systemctl"] + arguments).joined(separator: " ")
        let hint = "without systemd use fstab (quire help mounting)"
        let result: (status: Int32, errors: String)
        do throws(Errno) {
            result = try ChildProcess.run("systemctl", arguments.map { Array($0.utf8) })
        } catch {
            throw CommandFailure("systemctl cannot be run: \(error); \(hint)")
        }
        guard result.status == 0 else {
            let reason = result.errors.split(separator: "\n").last.map(String.init) ?? "it ended with \(result.status)"
            throw CommandFailure("'\(shown(command))' failed: \(shown(reason)); \(hint)")
        }
    }

    /// A path in a unit's name (systemd.unit(5), "String escaping for inclusion in unit names").
    package static func escaped(_ path: [UInt8]) -> String {
        let parts = path.split(separator: UInt8(ascii: "/"))
        guard !parts.isEmpty else { return "-" }
        var text = ""
        for (index, byte) in parts.joined(separator: [UInt8(ascii: "/")]).enumerated() {
            switch byte {
            case UInt8(ascii: "/"): text += "-"
            case UInt8(ascii: ".") where index > 0: text += "."
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: ":"), UInt8(ascii: "_"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return text
    }
}
