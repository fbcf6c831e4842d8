import DocumentMount
import Glibc
import SystemPackage

/// Where the daemon of a store keeps its state and its socket.
package struct StateFolders {
    package let state: String
    package let runtime: String
    package let socket: String
    /// Where the desktop keeps thumbnails.
    package let thumbnails: String

    /// The folders of the calling user; root's are the system's. Nothing is made yet but a folder that anybody might make.
    package init(store: [UInt8]) throws(CommandFailure) {
        let id = StoreID(canonicalPath: store)
        state = "\(try Self.stateHome())/\(id)"
        runtime = try Self.runtimeHome(isMade: true)
        socket = "\(runtime)/\(id).socket"
        thumbnails = try Self.thumbnailHome()
    }

    /// Makes the folders. Throws when they would lie in the store, or are not this user's.
    package func prepare(store: [UInt8]) throws(CommandFailure) {
        try refuseInside(store, state, remedy: "set \(Self.stateVariable) to a folder outside it")
        try refuseInside(store, runtime, remedy: "set XDG_RUNTIME_DIR to a folder outside it")
        try refuseInside(store, thumbnails, remedy: "set XDG_CACHE_HOME to a folder outside it")
        try make(state, mode: 0o700)
        try make(runtime, mode: getuid() == 0 ? 0o755 : 0o700)
        // Another user's folder would hand them the socket.
        guard Self.isOwnAlone(runtime) else {
            throw CommandFailure("\(runtime): is not a folder of yours alone; remove it or set XDG_RUNTIME_DIR")
        }
    }

    private func refuseInside(_ store: [UInt8], _ folder: String, remedy: String) throws(CommandFailure) {
        guard let place = try? CanonicalPath.future(Array(folder.utf8)), CanonicalPath.isWithin(place, store) else { return }
        throw CommandFailure("\(shown(store)): Quire's own folder \(folder) lies in this store; \(remedy)")
    }

    private func make(_ folder: String, mode: mode_t) throws(CommandFailure) {
        do {
            try FileSystem.makeFolders(folder, mode: mode)
        } catch {
            throw CommandFailure("\(folder): cannot be made: \(error); set \(Self.stateVariable) to a folder you may write")
        }
    }

    /// Which says where state is kept.
    private static var stateVariable: String { getuid() == 0 ? "QUIRE_STATE_HOME" : "XDG_STATE_HOME" }

    private static func stateHome() throws(CommandFailure) -> String {
        if let set = environment("QUIRE_STATE_HOME") { return set }
        if getuid() == 0 { return "/var/lib/quire" }
        return try userFolder("XDG_STATE_HOME", ".local/state") + "/quire"
    }

    /// The calling user's: that is where file managers look. Root's mounts have their own, since others use them too.
    package static func thumbnailHome() throws(CommandFailure) -> String {
        if getuid() == 0 { return (environment("QUIRE_CACHE_HOME") ?? "/var/cache/quire") + "/thumbnails" }
        return try desktopThumbnails()
    }

    /// Where the calling user's desktop keeps them (XDG Base Directory Specification).
    package static func desktopThumbnails() throws(CommandFailure) -> String {
        try userFolder("XDG_CACHE_HOME", ".cache") + "/thumbnails"
    }

    /// One of the calling user's folders (XDG Base Directory Specification): what the variable says, else `usual` in the home folder.
    package static func userFolder(_ variable: String, _ usual: String) throws(CommandFailure) -> String {
        if let set = environment(variable) { return set }
        guard let home = environment("HOME") ?? getpwuid(getuid()).map({ String(cString: $0.pointee.pw_dir) }) else {
            throw CommandFailure("this user has no home folder; set \(variable)")
        }
        return "\(home)/\(usual)"
    }

    /// - Parameter isMade: nobody is to come between this and the folder's use.
    static func runtimeHome(isMade: Bool = false) throws(CommandFailure) -> String {
        if getuid() == 0 { return "/run/quire" }
        var status = stat()
        // A variable kept across su names another user's folder.
        if let set = environment("XDG_RUNTIME_DIR"), stat(set, &status) == 0, status.st_uid == getuid() {
            return set + "/quire"
        }
        // Anybody may have been first there; and not every file system that has home folders has sockets.
        let usual = "/tmp/quire-\(getuid())"
        if isMade { mkdir(usual, 0o700) }
        let isNothing = lstat(usual, &status) != 0 && errno == ENOENT
        return isNothing || isOwnAlone(usual) ? usual : try ownRuntime()
    }

    private static func ownRuntime() throws(CommandFailure) -> String { try stateHome() + "/run" }

    private static func isOwnAlone(_ folder: String) -> Bool {
        var status = stat()
        return lstat(folder, &status) == 0 && FileSystem.isFolder(status) && status.st_uid == getuid() && status.st_mode & 0o022 == 0
    }

    /// Where the socket of another user's mount of `store` may be, most likely first.
    package static func likelySockets(store: [UInt8], owner: UInt32) -> [String] {
        let id = StoreID(canonicalPath: store)
        let folders = owner == getuid() ? [try? runtimeHome(), try? ownRuntime()].compactMap { $0 } : []
        let usual = owner == 0 ? ["/run/quire"] : ["/run/user/\(owner)/quire", "/tmp/quire-\(owner)"]
        return (folders + usual).map { "\($0)/\(id).socket" }
    }

    /// An environment variable that holds an absolute path; others are no paths (XDG Base Directory Specification).
    static func environment(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), value.hasPrefix("/") else { return nil }
        return value
    }
}
