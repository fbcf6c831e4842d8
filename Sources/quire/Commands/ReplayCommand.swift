import ArgumentParser
import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// The process that touches a mount in its daemon's stead, so that watches hear of saves. Nobody types it.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "replay-for-daemon", shouldDisplay: false)

    /// Starts it with `channel` as its standard input. Returns its pid.
    @Sendable static func start(_ channel: Descriptor) throws(Errno) -> pid_t {
        try ChildProcess.spawn(
            "/proc/self/exe", named: "quire", [Array(configuration.commandName!.utf8)], environment: ChildProcess.inherited,
            connecting: [(channel, STDIN_FILENO)], newSession: false)
    }

    func run() throws { cl_serve_replay(STDIN_FILENO) }
}
