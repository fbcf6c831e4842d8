import Glibc
import StorePrimitives

/// The sidebars of the user's file managers.
enum Sidebar {
    /// Those of the desktops that the user has used, or uses now. None if the home folder is not the user's own, as with sudo(8): a file made
    /// there would be another user's.
    static var files: [any SidebarFile] {
        guard let home = StateFolders.environment("HOME"), let status = try? FileSystem.status(Array(home.utf8)), status.st_uid == geteuid() else {
            return []
        }
        let configuration = StateFolders.environment("XDG_CONFIG_HOME") ?? home + "/.config"
        let data = StateFolders.environment("XDG_DATA_HOME") ?? home + "/.local/share"
        let desktops = (getenv("XDG_CURRENT_DESKTOP").map { String(cString: $0) } ?? "").split(separator: ":")
        var files: [any SidebarFile] = []
        if isThere(configuration + "/gtk-3.0") || !desktops.isEmpty && !desktops.contains("KDE") {
            files.append(GTKBookmarks(path: configuration + "/gtk-3.0/bookmarks"))
        }
        // KDE fills a new one with its own places.
        if isThere(data + "/user-places.xbel") { files.append(KDEPlaces(path: data + "/user-places.xbel")) }
        return files
    }

    private static func isThere(_ path: String) -> Bool { (try? FileSystem.status(Array(path.utf8))) != nil }
}
