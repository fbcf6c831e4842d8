import CGio
import DocumentRendering
import Glibc
import MountClient
import MountProtocol
import QueryLanguage
import StorePrimitives

/// Finds documents for the desktop's own search, in the mounts of the user and of root.
enum DesktopSearch {
    private static let mostDocuments = 20
    /// A desktop waits for all its sources.
    private static let timeout = Duration.seconds(2)

    /// The documents that were modified last come first.
    static func documents(_ typed: String) -> [FoundDocument] {
        let found = results(typed, limit: mostDocuments).flatMap(\.documents)
        return Array(found.sorted { $0.modified > $1.modified }.prefix(mostDocuments))
    }

    /// The mounts that have documents for what is typed.
    static func mounts(having typed: String) -> [MountTable.Entry] { results(typed, limit: 1).filter { !$0.documents.isEmpty }.map(\.mount) }

    private static func results(_ typed: String, limit: Int) -> [(mount: MountTable.Entry, documents: [FoundDocument])] {
        guard let query = query(typed), let mounts = try? MountLocator.mountsOfCaller() else { return [] }
        return mounts.compactMap { mount in
            // A mount that does not answer is left out.
            guard let connection = try? MountLocator.connect(to: mount) else { return nil }
            let reply = try? connection.call(SearchInterface.search, SearchRequest(query: query, limit: limit), timeout: timeout)
            return reply.map { (mount, $0.documents) }
        }
    }

    private static let operators: Set = ["OR", "AND", "NOT"]

    /// What is typed is a query; its last word may go on. If it is none, each of its words is looked for as it stands.
    static func query(_ typed: String) -> String? {
        let words = typed.split { $0.isWhitespace }
        guard let last = words.last else { return nil }
        let goesOn = last.allSatisfy { $0.isLetter || $0.isNumber } && !operators.contains(String(last))
        for text in goesOn ? [typed + "*", typed] : [typed] where (try? Query(parsing: text)) != nil { return text }
        let quoted = words.map { "\"" + $0.replacing("\"", with: " ") + "\"" }.joined(separator: " ")
        return (try? Query(parsing: quoted)) != nil ? quoted : nil
    }

    static func name(_ path: [UInt8]) -> String { String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self) }

    static func folder(_ path: [UInt8]) -> [UInt8] { Array(path.prefix(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)) }

    /// By the name alone: the document is not read.
    static func type(_ path: [UInt8]) -> String {
        let type = g_content_type_guess(name(path), nil, 0, nil)
        defer { g_free(type) }
        return type.map { String(cString: $0) } ?? "application/octet-stream"
    }

    static func uri(_ path: [UInt8]) -> String { DesktopURI.uri(ofPath: path) }

    /// Opens a document or folder in place, with the program that the user has chosen for its type.
    static func open(_ path: [UInt8]) throws(CommandFailure) {
        var error: UnsafeMutablePointer<GError>?
        defer { g_clear_error(&error) }
        guard g_app_info_launch_default_for_uri(uri(path), nil, &error) != 0 else {
            throw CommandFailure("\(shown(path)): \(error.map { String(cString: $0.pointee.message) } ?? "cannot be opened")")
        }
    }
}
