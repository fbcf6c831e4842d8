import ArgumentParser
import CLinux
import DocumentMount
import DocumentRendering
import Glibc

struct MountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Mount a folder of documents, in place or at another folder.",
        discussion: """
            Returns when the mount answers; a daemon goes on in the background until it is unmounted. Without MOUNTPOINT \
            the mount covers STORE itself, so that every path stays the same. A mount point whose daemon died is \
            repaired first.

            Examples:
              quire mount ~/Documents
              quire mount ~/Documents ~/Quire -o ro
              sudo quire mount /srv/docs /docs -o allow_other,virtual=hidden
              quire mount ~/Documents -o save-pause=inf,keep-size=4G,live='*.trace'

            Options, after -o and separated by commas:
              allow_other                  other users may use the mount, each with their own rights
              ro                           nothing can be changed through the mount
              passthrough=auto|off         let the kernel read and write documents itself where it can (auto)
              restart=on|off               mount again when the daemon died of anything but its own end (on)
              virtual=listed|hidden|off    .favorites, .recents, .search, .tags, .thumbnails: shown, reached by name only, or not there (listed)
              search-text=on|off|pictures  find words in documents' texts, which are read in the background (on; with allow_other off)
              packages=ENDING[:ENDING…]    folders with names that end so are documents, too, as *.scriv and *.rtfd are
              packages=none[:ENDING…]      only those that end so, or none at all
              nonempty                     the mount point beside the store may have entries, which are hidden
              redirected-pause=SECONDS     a save by redirection that pauses this long is a stream (5)
              redirected-open=SECONDS      a save by redirection that is open this long is a stream (60)
              save-pause=SECONDS           any save that pauses this long is a stream (60)
              live=PATTERN[:PATTERN…]      documents of these names are live, too: never saved by transactions
              live=none[:PATTERN…]         only those of these names, or none at all
              relay=NAME[:NAME…]           programs of these names serve others' files, as smbd and sftp-server do
              relay=none[:NAME…]           only those of these names, or none at all
              sync-saves                   a save is safe from a power cut when its close returns
              coordination-timeout=SECONDS how long opens for writing, and claims, wait for the end of a claim (10)
              presenter-timeout=SECONDS    how long a program that shows a document has to answer (2)
              keep-days=DAYS               how long 'quire recover' can bring back a save that was lost (7)
              keep-size=SIZE               how much is kept for it, such as 512M (1G)
            and what mount(8) and fstab use: nosuid, nodev, noexec, noatime, sync, dirsync, noauto, nofail, user, x-…

            A stream is written in place from then on, so that others see it grow. SECONDS may be a fraction, or inf for \
            never. Live unless changed: *.log and typescript, which are followed while they are written; *.part and \
            *.crdownload, downloads that the next try resumes; *.pid and *.lck, read while a program holds them open. \
            In patterns * ? [ ] are as in the shell; put quotes around them. Commas and colons cannot be in them: use ?.

            The daemon ends on SIGTERM, SIGINT and SIGHUP with a clean unmount. If it dies otherwise, a process that it has \
            started for that mounts again within a second, unless three daemons died within a minute; programs that were at \
            work in the mount get an error, and saves that were under way are in 'quire recover'. With --foreground \
            restarting is the service manager's business. It logs to the file 'log' in its state \
            folder; QUIRE_LOG_LEVEL (trace, debug, info, notice, warning, error) says how much.

            Exit codes: 0 mounted; 1 not mounted, and nothing was changed; 64 the command line is wrong.
            """)

    @Argument(help: "The folder of documents.", completion: .directory)
    var store: PathArgument

    @Argument(help: "Where it is to appear; STORE itself if left out.", completion: .directory)
    var mountpoint: PathArgument?

    @Option(
        name: [.customShort("o", allowingJoined: true), .customLong("options")],
        help: ArgumentHelp("Mount options, as in fstab.", valueName: "opt[,opt…]"), completion: .mountOptions)
    var options: [String] = []

    @Flag(help: "Stay in the foreground and log to standard error.")
    var foreground = false

    @Option(name: .customLong("ready-fd"), help: .hidden)
    var readyDescriptor: Int32?

    /// In the place of a mount whose daemon has died, of these folders.
    @Option(help: .hidden)
    var again: MountedFolders?

    func run() throws {
        guard foreground || readyDescriptor != nil else { return try startDaemon() }
        SignalWaiter.block()
        ProcessLimits.raise()
        // Started as /proc/self/exe, it would be listed as "exe".
        _ = cl_set_thread_name("quire")
        let pipe = readyDescriptor.map { ReadyPipe(descriptor: $0) }
        do throws(CommandFailure) {
            let request = try makeRequest()
            let configuration = try makeConfiguration(request)
            // A daemon must not keep the folder busy that it was started in.
            if pipe != nil { _ = chdir("/") }
            // In the foreground it has a service manager that sees to it.
            let restarts = pipe != nil && request.options.restarting == .on
            try MountDaemon.run(
                configuration,
                startGuard: GuardCommand.start(
                    of: request, options: options, stateFolder: configuration.stateFolder, restarts: restarts),
                onReady: { pipe?.report(ReadyMessage.ready) })
        } catch {
            pipe?.report(error.message)
            throw error
        }
    }

    private func startDaemon() throws(CommandFailure) {
        let request = try makeRequest()
        let folders = try StateFolders(store: request.store)
        try folders.prepare(store: request.store)
        let before = MountLiveness.of(request.mountPoint)
        let arguments = [Array("mount".utf8), request.store, request.mountPoint]
            + options.flatMap { [Array("-o".utf8), Array($0.utf8)] }
        let pid: pid_t
        do throws(CommandFailure) {
            pid = try DaemonLauncher.start(arguments, log: folders.state + "/log")
        } catch {
            // It may have mounted before it ended.
            _ = try? Unmounting.repair(request.mountPoint)
            throw error
        }
        let after = MountLiveness.of(request.mountPoint)
        guard after != before, after != .dead, after != .silent else {
            kill(pid, SIGTERM)
            throw CommandFailure("\(shown(request.mountPoint)): the mount does not answer; see \(folders.state)/log")
        }
        if let exported = NetworkExports.current().reaching(request.mountPoint) {
            Output.error("quire: \(shown(exported)) is exported by NFS: \(NetworkExports.finding); \(NetworkExports.remedy)")
        }
    }

    private func makeRequest() throws(CommandFailure) -> MountRequest {
        let request = try MountRequest(
            store: store.bytes, mountPoint: (mountpoint ?? store).bytes, optionLists: options, again: again)
        for mountPoint in request.repaired {
            Output.error("quire: \(shown(mountPoint)): took away a mount whose daemon had died")
        }
        return request
    }

    private func makeConfiguration(_ request: MountRequest) throws(CommandFailure) -> MountConfiguration {
        let folders = try StateFolders(store: request.store)
        try folders.prepare(store: request.store)
        var configuration = MountConfiguration(
            store: request.store, mountPoint: request.mountPoint, storeIdentity: request.folders.store,
            mountPointIdentity: request.folders.mountPoint, options: request.options, isSystem: getuid() == 0,
            stateFolder: folders.state, runtimeFolder: folders.runtime, socketPath: folders.socket,
            thumbnailFolder: folders.thumbnails, workerProgram: WorkerProgram.path, startReplay: ReplayCommand.start,
            version: quireVersion, deaths: { [state = folders.state] in DaemonDeaths(stateFolder: state).deaths })
        if request.replaces {
            // Not before: until then programs get an error, and reach no folder beneath.
            configuration.willMount = { () throws(MountFailure) in
                do throws(CommandFailure) {
                    guard try Unmounting.repair(request.mountPoint) else { throw CommandFailure(request.unmountedMeanwhile) }
                } catch {
                    throw MountFailure(error.message)
                }
            }
        }
        return configuration
    }
}
