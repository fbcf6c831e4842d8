import DocumentMount
import Glibc
import Logging
import MountServer

/// The daemon of one mount: the store's lock, the mount, its service, its signals.
enum MountDaemon {
    /// Runs until the mount ends. `onReady` is called when mount and socket answer. Signals must be blocked already
    /// (SignalWaiter.block). Throws a failure when the mount cannot be made.
    /// - Parameter startGuard: starts the process that sees this one die.
    static func run(
        _ configuration: MountConfiguration, startGuard: @escaping DaemonGuard.Start, onReady: @escaping @Sendable () -> Void
    ) throws(CommandFailure) {
        let log = makeLog(stateFolder: configuration.stateFolder)
        // Held until this process ends, whatever happens below.
        let lock = try StoreLock(stateFolder: configuration.stateFolder, mountPoint: configuration.mountPoint)
        defer { withExtendedLifetime(lock) {} }
        // Before the mount covers the store.
        StoreNote(configuration).write(to: configuration.stateFolder, log)
        let sweep = StateSweep(configuration, log: log)
        defer { sweep.stop() }
        do {
            let store = try MountedStore(configuration: configuration, log: log)
            let owner = configuration.isSystem && configuration.options.allowOther
                ? ServiceAccess.everyone : .owner(uid: getuid())
            let server: ServiceServer
            do {
                server = try ServiceServer(
                    socketPath: configuration.socketPath, access: owner, service: store,
                    version: quireVersion, shares: store.shares,
                    threads: CallThreads(prepare: { store.prepareThread() }, reset: { store.resetThread() }), log: log)
            } catch {
                throw CommandFailure("\(configuration.socketPath): the service cannot listen: \(error)")
            }
            defer { server.stop() }
            SignalWaiter.start { signal in
                log.notice("asked to end", metadata: ["signal": "\(signal)"])
                ServiceManager.notify(.stopping)
                store.requestUnmount()
            }
            let daemonGuard = DaemonGuard(try store.duplicateDevice(), log: log)
            daemonGuard.begin(startGuard)
            defer { daemonGuard.dismiss() }
            try store.serve(
                onReady: {
                    daemonGuard.waitUntilReady()
                    log.notice("serving", metadata: ["mountpoint": "\(shown(configuration.mountPoint))"])
                    onReady()
                    ServiceManager.notify(.ready("serving \(shown(configuration.mountPoint))"))
                    sweep.start()
                },
                lettingGo: { daemonGuard.dismiss() })
            log.notice("unmounted")
        } catch let failure as CommandFailure {
            log.error("\(failure.message)")
            throw failure
        } catch {
            log.error("\(error)")
            throw CommandFailure("\(shown(configuration.mountPoint)): \(error)")
        }
    }

    /// Logs to standard error, which is the terminal or the log file, from the level that QUIRE_LOG_LEVEL names (notice).
    static func makeLog(stateFolder: String) -> Logger {
        let level = getenv("QUIRE_LOG_LEVEL").flatMap { Logger.Level(rawValue: String(cString: $0)) } ?? .notice
        var log = Logger(label: "quire") { DaemonLog(label: $0, file: stateFolder + "/log") }
        log.logLevel = level
        return log
    }
}
