import MountClient
import MountProtocol
import SystemPackage

/// Why a command ends without having done its work: a sentence that names the path and the remedy, and the exit code.
package struct CommandFailure: Error {
    package let message: String
    package let exitCode: Int32

    package static let failedCode: Int32 = 1
    package static let busyCode: Int32 = 2

    package init(_ message: String, exitCode: Int32 = failedCode) {
        self.message = message
        self.exitCode = exitCode
    }
}

extension CommandFailure {
    /// A call to the service of the mount at `mountPoint` that got no result.
    init(_ error: ServiceCallError, mountPoint: [UInt8]) {
        let mount = shown(mountPoint)
        switch error {
        case .unreachable(let socket, let reason):
            self.init(
                "\(mount): no daemon answers at \(socket) (\(reason)); "
                    + "if it died, 'quire unmount \(mount)' repairs the mount")
        case .timedOut: self.init("\(mount): its daemon did not answer in time; see the log in its state folder")
        case .disconnected: self.init("\(mount): its daemon closed the connection; try again")
        case .refused(let error): self.init("\(mount): \(shown(Self.sentence(error)))")
        case .malformedReply:
            self.init("\(mount): its daemon is of another version than this command; unmount and mount again")
        }
    }

    /// A service's error in words; `org.quire.Mount.NotFound` with `what` in its parameters, say.
    private static func sentence(_ error: VarlinkError) -> String {
        let texts = error.parameters.values.compactMap { if case .text(let text) = $0 { text } else { nil } }
        guard let subject = texts.first else { return "\(error)" }
        return switch error.name.split(separator: ".").last {
        case "NotFound": "there is no \(subject)"
        case "PermissionDenied": "you may not do this: \(subject)"
        case "InvalidParameter": "not a value that can be used: \(subject)"
        case "Failed", "TimedOut", "Deadlock", "InvalidQuery": subject
        case "MethodNotFound", "InterfaceNotFound":
            "its daemon is of another version than this command (\(subject)); unmount and mount again"
        default: "\(error)"
        }
    }
}

/// A path, or other text of somebody else's choice, as a part of a line for people.
package func shown(_ bytes: some Sequence<UInt8>) -> String { PrintableText.line(bytes) }

package func shown(_ text: String) -> String { PrintableText.line(text) }

package func shown(_ path: DocumentPath) -> String { PrintableText.line(path.bytes) }
