import CGio
import DocumentRendering
import Glibc

/// The programs that open documents of a type, as the desktop ranks them (mimeapps.list and desktop files, by GIO).
struct TypeApp: Encodable {
    enum Rank: String, Encodable {
        /// What the user has chosen or, without that, the system.
        case `default`
        /// Says that it opens this type.
        case recommended
        /// Opens a type that this one is derived from.
        case other
    }

    /// The name of its desktop file.
    let id: String
    let name: String
    let rank: Rank

    /// In the order in which a file manager shows them.
    static func all(for type: DocumentType) -> [TypeApp] {
        var found: [TypeApp] = []
        func add(_ app: OpaquePointer?, _ rank: Rank) {
            guard let app, let id = g_app_info_get_id(app).map({ String(cString: $0) }), !found.contains(where: { $0.id == id }) else { return }
            found.append(TypeApp(id: id, name: g_app_info_get_display_name(app).map { String(cString: $0) } ?? id, rank: rank))
        }
        let first = g_app_info_get_default_for_type(type.name, 0)
        add(first, .default)
        if let first { g_object_unref(UnsafeMutableRawPointer(first)) }
        each(g_app_info_get_recommended_for_type(type.name)) { add($0, .recommended) }
        each(g_app_info_get_fallback_for_type(type.name)) { add($0, .other) }
        return found
    }

    /// Has documents of a type opened by a program from now on.
    static func choose(_ id: String, for type: DocumentType) throws(CommandFailure) {
        var (isThere, message): (Bool, String?) = (false, nil)
        each(g_app_info_get_all()) { app in
            guard !isThere, let app, let known = g_app_info_get_id(app).map({ String(cString: $0) }), known == id || known == id + ".desktop" else { return }
            isThere = true
            var error: UnsafeMutablePointer<GError>?
            defer { g_clear_error(&error) }
            if g_app_info_set_as_default_for_type(app, type.name, &error) == 0 {
                message = error.map { String(cString: $0.pointee.message) } ?? "the choice cannot be written"
            }
        }
        guard isThere else { throw CommandFailure("\(id): is no program with a desktop file; 'quire types apps TYPE' lists some") }
        if let message { throw CommandFailure("\(id): \(message)") }
    }

    private static func each(_ list: UnsafeMutablePointer<GList>?, _ body: (OpaquePointer?) -> Void) {
        defer { g_list_free_full(list, g_object_unref) }
        var next = list
        while let item = next {
            body(OpaquePointer(item.pointee.data))
            next = item.pointee.next
        }
    }
}
