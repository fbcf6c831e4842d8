import ArgumentParser
import CLinux
import DocumentMount
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// The process that sees a daemon die: it ends the dead mount's connection, so that no app waits for it, and mounts again. Nobody
/// types it. It holds the device open and nothing else of the mount.
struct GuardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "guard-for-daemon", shouldDisplay: false)

    private static let readyNumber: Int32 = 3
    private static let deviceNumber: Int32 = 4
    /// A pidfd of the daemon, which may have died, and its number be another's, before this process looks.
    private static let daemonNumber: Int32 = 5

    /// How the process is started that guards this one, the daemon of `request`.
    ///
    /// - Parameters:
    ///   - options: the lists of mount options as they were given.
    ///   - stateFolder: of the store; gets a note of each death.
    ///   - restarts: whether the mount is to be made again.
    static func start(
        of request: MountRequest, options: [String], stateFolder: String, restarts: Bool
    ) -> DaemonGuard.Start {
        let words = [configuration.commandName!, "--daemon", "\(getpid())", "--state", stateFolder] + (restarts ? ["--restart"] : [])
        let arguments = (words + ["--again", "\(request.folders)"]).map { Array($0.utf8) } + options.flatMap { [Array("-o".utf8), Array($0.utf8)] }
            + [request.store, request.mountPoint]
        return { (device, ready) throws(Errno) in
            let daemon = Descriptor(owning: try check(cl_pidfd_open(getpid())))
            return try ChildProcess.spawn(
                "/proc/self/exe", named: "quire", arguments, environment: ChildProcess.inherited,
                connecting: [(ready, readyNumber), (device, deviceNumber), (daemon, daemonNumber)], newSession: true)
        }
    }

    @Argument var store: PathArgument
    @Argument var mountpoint: PathArgument
    @Option(name: .customShort("o")) var options: [String] = []
    @Option var daemon: Int32
    @Option var state: String
    @Flag var restart = false
    @Option var again: MountedFolders

    func run() throws {
        // A report to a daemon that has just died does not end this process.
        signal(SIGPIPE, SIG_IGN)
        let watch = cl_watch_parent(daemon)
        guard watch >= 0 || watch == -ESRCH else { throw ExitCode.failure }
        let process = Descriptor(owning: Self.daemonNumber)
        for number in [Self.deviceNumber, Self.daemonNumber] { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        let logFile = state + "/log"
        let hasLogFile = DaemonLog.isInUse(logFile)
        _ = chdir("/")
        ProcessLimits.raise()
        _ = cl_set_thread_name("quire-guard")
        let dead = DeadDaemon(daemon, process: process, device: Self.deviceNumber, mountPoint: mountpoint.bytes)
        ReadyPipe(descriptor: Self.readyNumber).report("watching")
        if watch >= 0 {
            let death = Descriptor(owning: watch)
            while cl_wait_any([death.number, process.number], 2, 0, -1) == 0 {}
        }

        dead.end(Self.deviceNumber)
        // The daemon may have begun another one since.
        if hasLogFile { DaemonLog.reopen(logFile) }
        let log = MountDaemon.makeLog(stateFolder: state)
        let (place, reason) = (shown(mountpoint.bytes), dead.reason)
        log.critical("the daemon of this mount died", metadata: ["mountpoint": "\(place)", "reason": "\(reason)"])
        var deaths = DaemonDeaths(stateFolder: state)
        var (victim, cause) = (daemon, reason)
        // A daemon may die before it serves, too.
        while true {
            let now = Double(time(nil))
            do throws(Errno) {
                guard try deaths.note(cause, of: victim, at: now) else { return log.notice("another process mounts it again") }
            } catch {
                log.warning("that could not be noted: \(error)")
            }
            guard restart else { return }
            guard !deaths.areTooMany(at: now) else {
                return log.critical(
                    "it is not mounted again, as \(DaemonDeaths.limit) daemons have died within \(Int(clamping: DaemonDeaths.window)) s; 'quire mount' does",
                    metadata: ["mountpoint": "\(place)"])
            }
            guard MountTable.current().top(at: mountpoint.bytes)?.isQuire == true else { return log.notice("it was unmounted meanwhile") }
            victim = 0
            do throws(CommandFailure) {
                let arguments = ["mount", "--again", "\(again)"].map { Array($0.utf8) } + options.flatMap { [Array("-o".utf8), Array($0.utf8)] }
                    + [store.bytes, mountpoint.bytes]
                let new = try DaemonLauncher.start(arguments, log: logFile) { victim = $0 }
                return log.notice("mounted again", metadata: ["mountpoint": "\(place)", "daemon": "\(new)"])
            } catch {
                log.critical("it cannot be mounted again: \(error.message)", metadata: ["mountpoint": "\(place)"])
                cause = error.message
            }
        }
    }
}
