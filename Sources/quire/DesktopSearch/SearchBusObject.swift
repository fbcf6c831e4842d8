import StorePrimitives

/// An object on D-Bus that a desktop's search calls.
protocol SearchBusObject {
    /// In D-Bus's introspection format.
    static var description: String { get }
    static var interface: String { get }
    static func answer(_ call: BusCall) throws(CommandFailure)
}

/// GNOME Shell's overview (org.gnome.Shell.SearchProvider2). Results are named by their URIs.
enum GNOMESearchProvider: SearchBusObject {
    static let interface = "org.gnome.Shell.SearchProvider2"
    static let description = """
        <node><interface name="org.gnome.Shell.SearchProvider2">
          <method name="GetInitialResultSet"><arg type="as" name="terms" direction="in"/><arg type="as" name="results" direction="out"/></method>
          <method name="GetSubsearchResultSet"><arg type="as" name="previous_results" direction="in"/><arg type="as" name="terms" direction="in"/>
            <arg type="as" name="results" direction="out"/></method>
          <method name="GetResultMetas"><arg type="as" name="identifiers" direction="in"/><arg type="aa{sv}" name="metas" direction="out"/></method>
          <method name="ActivateResult"><arg type="s" name="identifier" direction="in"/><arg type="as" name="terms" direction="in"/>
            <arg type="u" name="timestamp" direction="in"/></method>
          <method name="LaunchSearch"><arg type="as" name="terms" direction="in"/><arg type="u" name="timestamp" direction="in"/></method>
        </interface></node>
        """

    static func answer(_ call: BusCall) throws(CommandFailure) {
        switch call.method {
        case "GetInitialResultSet": call.answer(results(call.strings(0)))
        case "GetSubsearchResultSet": call.answer(results(call.strings(1)))
        case "GetResultMetas":
            call.answer(.list(of: "a{sv}", call.strings(0).compactMap { uri in FileURI.path(of: uri.utf8).map { meta(uri, $0) } }))
        case "ActivateResult":
            guard let path = FileURI.path(of: call.string(0).utf8) else { throw CommandFailure("\(call.string(0)): is no result") }
            try DesktopSearch.open(path)
            call.answer()
        default:
            try launch(call.strings(0).joined(separator: " "))
            call.answer()
        }
    }

    private static func results(_ terms: [String]) -> BusValue {
        .list(of: "s", DesktopSearch.documents(terms.joined(separator: " ")).map { .string(DesktopSearch.uri($0.path.bytes)) })
    }

    private static func meta(_ uri: String, _ path: [UInt8]) -> BusValue {
        .dictionary([
            ("id", .string(uri)), ("name", .string(DesktopSearch.name(path))),
            ("description", .string(String(decoding: DesktopSearch.folder(path), as: UTF8.self))), ("icon", .icon(ofType: DesktopSearch.type(path))),
        ])
    }

    /// Shows the results in a file manager, those of each mount that has any. A name has no slash, and 255 bytes.
    private static func launch(_ typed: String) throws(CommandFailure) {
        guard let query = DesktopSearch.query(typed), let name = EntryName(query.utf8) else {
            throw CommandFailure("'\(typed)' cannot be a folder of results")
        }
        let having = DesktopSearch.mounts(having: typed)
        for mount in having.isEmpty ? Array(try MountLocator.mountsOfCaller().prefix(1)) : having {
            try DesktopSearch.open(CanonicalPath.join(CanonicalPath.join(mount.mountPoint, Array(".search".utf8)), Array(name.bytes)))
        }
    }
}

/// KDE's KRunner and start menus (org.kde.krunner1).
enum KRunner: SearchBusObject {
    static let interface = "org.kde.krunner1"
    static let description = """
        <node><interface name="org.kde.krunner1">
          <method name="Actions"><arg name="matches" type="a(sss)" direction="out"/></method>
          <method name="Match"><arg name="query" type="s" direction="in"/><arg name="matches" type="a(sssuda{sv})" direction="out"/></method>
          <method name="Run"><arg name="matchId" type="s" direction="in"/><arg name="actionId" type="s" direction="in"/></method>
        </interface></node>
        """
    private static let shortest = 3
    /// Plasma::QueryMatch::PossibleMatch.
    private static let possibleMatch: UInt32 = 30
    private static let folderAction = "folder"

    static func answer(_ call: BusCall) throws(CommandFailure) {
        switch call.method {
        case "Actions": call.answer(.list(of: "(sss)", [.tuple([.string(folderAction), .string("Show in Folder"), .string("folder-open")])]))
        case "Match":
            let typed = call.string(0)
            let documents = typed.count < shortest ? [] : DesktopSearch.documents(typed)
            call.answer(.list(of: "(sssuda{sv})", documents.enumerated().map { match($1.path.bytes, $0) }))
        default:
            guard let path = FileURI.path(of: call.string(0).utf8) else { throw CommandFailure("\(call.string(0)): is no result") }
            try DesktopSearch.open(call.string(1) == folderAction ? DesktopSearch.folder(path) : path)
            call.answer()
        }
    }

    private static func match(_ path: [UInt8], _ place: Int) -> BusValue {
        let folder = String(decoding: DesktopSearch.folder(path), as: UTF8.self)
        return .tuple([
            .string(DesktopSearch.uri(path)), .string(DesktopSearch.name(path)), .string(DesktopSearch.type(path).replacing("/", with: "-")),
            .unsigned(possibleMatch), .double(0.9 - Double(place) / 100), .dictionary([("subtext", .string(folder)), ("category", .string("Documents"))]),
        ])
    }
}
