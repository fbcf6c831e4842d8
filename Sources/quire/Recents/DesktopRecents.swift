import CGio
import DocumentRendering
import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import SystemPackage

/// The desktop's own list of documents used last (freedesktop.org, recently-used.xbel; GTK's and KDE's programs read and write it), kept
/// alike with the recents of the user's mounts.
struct DesktopRecents {
    private let file: DesktopFile
    /// Of each mount so many of the newest are listed.
    private static let mostListed = 50
    private static let application = "Quire"

    struct Use: Equatable {
        let path: [UInt8]
        /// In seconds since 1970.
        let used: Double
    }

    /// Nil if the user has no home folder of their own, or wants no such list.
    init?() {
        guard let data = try? StateFolders.userFolder("XDG_DATA_HOME", ".local/share"), Self.isWanted else { return nil }
        file = DesktopFile(path: data + "/recently-used.xbel")
    }

    private var path: String { file.path }

    /// GNOME's switch in Settings, Privacy.
    private static var isWanted: Bool {
        let name = "org.gnome.desktop.privacy"
        guard let source = g_settings_schema_source_get_default(), let schema = g_settings_schema_source_lookup(source, name, 1) else { return true }
        g_settings_schema_unref(schema)
        let settings = g_settings_new(name)
        defer { g_object_unref(UnsafeMutableRawPointer(settings)) }
        return g_settings_get_boolean(settings, "remember-recent-files") != 0
    }

    /// Tells the mounts what the desktop lists, and the desktop what the mounts list since this was done last: what a user has removed from the
    /// desktop's list does not come back. A mount that does not answer keeps none of the others back.
    func synchronize(_ mounts: [MountTable.Entry]) throws(CommandFailure) {
        let (listed, last, now) = (try uses(in: try file.content()), try Self.lastTime(), Double(time(nil)))
        var failure: CommandFailure?
        for mount in mounts {
            do throws(CommandFailure) {
                let prefix = mount.mountPoint + [UInt8(ascii: "/")]
                let inside = listed.filter { $0.path.starts(with: prefix) }.map { RecentDocument(path: DocumentPath($0.path), used: $0.used) }
                try MountLocator.ask(mount, MountInterface.noteUses, .init(inside))
                let recents = try MountLocator.ask(mount, MountInterface.recents, .init(limit: Self.mostListed)).entries.filter { $0.used > last }
                try file.change { (content) throws(CommandFailure) in
                    try adding(recents.map { Use(path: $0.path.bytes, used: $0.used) }, to: content)
                }
            } catch { failure = error }
        }
        if let failure { throw failure }
        try Self.note(now)
    }

    /// Takes documents off the desktop's list, but for entries that a program keeps to itself.
    func forget(_ paths: [[UInt8]]) throws(CommandFailure) {
        try file.change { (content) throws(CommandFailure) in
            let list = try loaded(content)
            defer { g_bookmark_file_free(list) }
            var isChanged = false
            for uri in paths.map({ DesktopURI.uri(ofPath: $0) }) where g_bookmark_file_has_item(list, uri) != 0 {
                if g_bookmark_file_get_is_private(list, uri, nil) == 0, g_bookmark_file_remove_item(list, uri, nil) != 0 { isChanged = true }
            }
            return isChanged ? try Self.text(of: list, path) : nil
        }
    }

    // MARK: - When it was done last

    private static func mark() throws(CommandFailure) -> (folder: String, file: String) {
        let folder = try StateFolders.userFolder("XDG_STATE_HOME", ".local/state") + "/quire"
        return (folder, folder + "/recents.synchronized")
    }

    /// In seconds since 1970; 0 for never.
    private static func lastTime() throws(CommandFailure) -> Double {
        let content = FileSystem.contents(try mark().file) ?? []
        return Double(String(decoding: content, as: UTF8.self)) ?? 0
    }

    private static func note(_ time: Double) throws(CommandFailure) {
        let (folder, path) = try mark()
        do throws(Errno) {
            try FileSystem.makeFolders(folder, mode: 0o700)
            try WholeFile.replace(path, with: Array("\(time)".utf8))
        } catch {
            throw CommandFailure("\(path): \(error)")
        }
    }

    // MARK: - The list

    /// What is listed, but for what a program keeps to itself.
    func uses(in content: [UInt8]) throws(CommandFailure) -> [Use] {
        let list = try loaded(content)
        defer { g_bookmark_file_free(list) }
        var count: gsize = 0
        let uris = g_bookmark_file_get_uris(list, &count)
        defer { g_strfreev(uris) }
        var uses: [Use] = []
        var next = uris
        while let uri = next?.pointee {
            next = next?.successor()
            guard g_bookmark_file_get_is_private(list, uri, nil) == 0, let path = FileURI.path(of: String(cString: uri).utf8),
                let visited = g_bookmark_file_get_visited_date_time(list, uri, nil)
            else { continue }
            uses.append(Use(path: path, used: Double(g_date_time_to_unix(visited))))
        }
        return uses
    }

    /// With uses that are not listed yet, or were later; nil if there are none. A private entry is another program's, and stays as it is.
    func adding(_ uses: [Use], to content: [UInt8]) throws(CommandFailure) -> [UInt8]? {
        let list = try loaded(content)
        defer { g_bookmark_file_free(list) }
        var isChanged = false
        for use in uses {
            let uri = DesktopURI.uri(ofPath: use.path)
            let isListed = g_bookmark_file_has_item(list, uri) != 0
            if isListed {
                let visited = g_bookmark_file_get_visited_date_time(list, uri, nil).map { Double(g_date_time_to_unix($0)) } ?? 0
                guard g_bookmark_file_get_is_private(list, uri, nil) == 0, visited + 1 < use.used else { continue }
            } else {
                g_bookmark_file_set_mime_type(list, uri, DesktopSearch.type(use.path))
            }
            let time = g_date_time_new_from_unix_utc(Int(clamping: use.used))
            defer { g_date_time_unref(time) }
            g_bookmark_file_add_application(list, uri, Self.application, "xdg-open %u")
            g_bookmark_file_set_visited_date_time(list, uri, time)
            g_bookmark_file_set_modified_date_time(list, uri, time)
            isChanged = true
        }
        return isChanged ? try Self.text(of: list, path) : nil
    }

    private static func text(of list: OpaquePointer?, _ path: String) throws(CommandFailure) -> [UInt8] {
        var length: gsize = 0
        guard let text = g_bookmark_file_to_data(list, &length, nil) else { throw CommandFailure("\(path): cannot be written") }
        defer { g_free(text) }
        return Array(UnsafeRawBufferPointer(start: text, count: Int(clamping: length)))
    }

    private func loaded(_ content: [UInt8]) throws(CommandFailure) -> OpaquePointer? {
        let list = g_bookmark_file_new()
        var error: UnsafeMutablePointer<GError>?
        defer { g_clear_error(&error) }
        let isLoaded = content.withUnsafeBytes {
            content.isEmpty
                || g_bookmark_file_load_from_data(list, $0.baseAddress?.assumingMemoryBound(to: CChar.self), UInt(bitPattern: $0.count), &error) != 0
        }
        guard isLoaded else {
            g_bookmark_file_free(list)
            throw CommandFailure("\(path): \(error.map { String(cString: $0.pointee.message) } ?? "is no list of recent documents"); it is left as it is")
        }
        return list
    }
}
