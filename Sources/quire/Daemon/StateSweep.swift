import CLinux
import DocumentMount
import Glibc
import Logging
import MountClient
import MountProtocol
import StorePrimitives
import Synchronization
import SystemPackage

/// Removes what the daemons of stores that are gone have left: their state folders, and sockets that nobody serves. Once, on a
/// thread of low priority, when a mount answers.
final class StateSweep: Sendable {
    /// A state folder is removed when nothing in it was changed for so long, and its store is gone: what only the index knows, recents
    /// and tags without documents, is of no use then. Longer than what was saved and lost is kept, unless told otherwise.
    static let unusedDays = 90
    /// The same of a store on another file system, whose disk may be in a drawer.
    static let awayDays = 365
    private static let day: Int64 = 86_400
    /// A socket is older than that, for a daemon that is just starting.
    private static let socketSeconds: Int64 = 60

    private let own: String
    private let states: String
    private let runtime: String
    private let log: Logger
    private let loop = LoopThread()

    init(_ configuration: MountConfiguration, log: Logger) {
        let parts = configuration.stateFolder.split(separator: "/")
        states = "/" + parts.dropLast().joined(separator: "/")
        own = parts.last.map(String.init) ?? ""
        runtime = configuration.runtimeFolder
        self.log = log
    }

    func start() {
        loop.start("quire-states") { [self] in
            _ = cl_set_thread_nice(19)
            _ = cl_set_thread_io_idle()
            sweepStates()
            sweepSockets()
            log.debug("what stores that are gone left was looked for")
        }
    }

    func stop() { loop.stop() }

    // MARK: State folders

    private static let obsolete = ".gone"

    private func sweepStates() {
        guard let place = try? Descriptor(opening: states, flags: O_RDONLY | O_DIRECTORY) else { return }
        for name in Self.names(in: place) where !loop.isStopping && name != own {
            if name.hasSuffix(Self.obsolete), Self.isID(name.dropLast(Self.obsolete.count)) {
                // Another was ended at it.
                Self.remove(name, in: place)
            } else if Self.isID(name[...]) {
                sweepState(name, in: place)
            }
        }
    }

    private func sweepState(_ name: String, in place: Descriptor) {
        guard let folder = Self.opened(name, in: place), let note = StoreNote(in: folder, named: name), Self.isGone(note.store) else { return }
        let (now, used) = (Int64(time(nil)), Self.lastChange(in: folder))
        let days = note.isBeside ? Self.unusedDays : Self.awayDays
        guard now &- used >= Int64(clamping: days) * Self.day else { return }
        if let kept = Self.opened("kept", in: folder) {
            let newest = Self.names(in: kept).compactMap { Self.changed($0, in: kept) }.max()
            if let newest, newest.adding(clamping: note.keepSeconds) > now { return }
        }
        // Held until the folder is gone: whoever is about to mount such a store waits, and finds none.
        guard let lock = StoreLock(ofUnused: folder), Self.isGone(note.store) else { return }
        let obsolete = name + Self.obsolete
        guard cl_renameat2(place.number, name, place.number, obsolete, CL_RENAME_NOREPLACE) == 0 else { return }
        Self.remove(obsolete, in: place)
        withExtendedLifetime(lock) {}
        log.notice(
            "what was kept of a store that is gone, and was not used for \((now &- used) / Self.day) days, was removed",
            metadata: ["store": "\(shown(note.store))", "folder": "\(states)/\(name)"])
    }

    private static func isGone(_ store: [UInt8]) -> Bool {
        var status = stat()
        guard withCString(store, { lstat($0, &status) }) != 0 else { return false }
        return errno == ENOENT || errno == ENOTDIR
    }

    private static func isID(_ name: Substring) -> Bool {
        name.utf8.count == 16 && name.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    /// When anything in a folder was changed last, in seconds since 1970.
    private static func lastChange(in folder: Descriptor) -> Int64 {
        (names(in: folder) + ["."]).compactMap { changed($0, in: folder) }.max() ?? .max
    }

    private static func changed(_ name: String, in folder: Descriptor) -> Int64? {
        guard let status = try? FileStatus(of: name, in: folder) else { return nil }
        return Int64(status.st.st_mtim.tv_sec)
    }

    private static func opened(_ name: String, in place: Descriptor) -> Descriptor? {
        try? Descriptor(opening: name, in: place, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }

    private static func names(in folder: Descriptor) -> [String] {
        (FileSystem.entries(Array("/proc/self/fd/\(folder.number)/".utf8)) ?? []).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Deeper than any state folder is.
    private static let mostLevels = 8

    /// A folder with all that is in it. No link is followed.
    private static func remove(_ name: String, in place: Descriptor, level: Int = 0) {
        if level < mostLevels, let folder = opened(name, in: place) {
            for inner in names(in: folder) where cl_unlinkat(folder.number, inner, 0) != 0 { remove(inner, in: folder, level: level + 1) }
        }
        _ = cl_unlinkat(place.number, name, AT_REMOVEDIR)
    }

    // MARK: Sockets

    private func sweepSockets() {
        guard let place = try? Descriptor(opening: runtime, flags: O_RDONLY | O_DIRECTORY) else { return }
        for name in Self.names(in: place) where !loop.isStopping {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            guard let id = parts.first, id != own, Self.isID(id), parts.dropFirst().first == "socket" else { continue }
            guard let status = try? FileStatus(of: name, in: place), status.st.st_mode & S_IFMT == S_IFSOCK,
                Int64(time(nil)) &- Int64(status.st.st_mtim.tv_sec) > Self.socketSeconds, isAbandoned(name, of: String(id))
            else { continue }
            _ = cl_unlinkat(place.number, name, 0)
            log.notice("a socket that nobody serves was removed", metadata: ["socket": "\(runtime)/\(name)"])
        }
    }

    /// Where the store's state is known, no daemon of it may be running, or starting meanwhile.
    private func isAbandoned(_ socket: String, of id: String) -> Bool {
        let folder = try? Descriptor(opening: "\(states)/\(id)", flags: O_RDONLY | O_DIRECTORY)
        let lock = folder.flatMap { StoreLock(ofUnused: $0) }
        defer { withExtendedLifetime(lock) {} }
        if folder != nil, lock == nil { return false }
        do throws(ServiceCallError) {
            _ = try ServiceConnection(to: "\(runtime)/\(socket)", timeout: .seconds(1))
        } catch .unreachable(_, .connectionRefused) {
            return true
        } catch {}
        return false
    }
}
