import CGio
import DocumentRendering
import Glibc
import StorePrimitives

/// A file of a desktop that lists the folders of its file manager's sidebar.
protocol SidebarFile {
    /// Where it is.
    var path: String { get }
    /// The absolute paths of the folders that it lists, in order. Throws a message for a file that is none of the kind.
    func folders(in content: [UInt8]) throws(CommandFailure) -> [[UInt8]]
    /// The content with one more folder, or without one that it lists.
    func adding(_ folder: [UInt8], to content: [UInt8]) throws(CommandFailure) -> [UInt8]
    func removing(_ folder: [UInt8], from content: [UInt8]) throws(CommandFailure) -> [UInt8]
}

extension SidebarFile {
    /// The folders that the file lists; none if there is no such file.
    func folders() throws(CommandFailure) -> [[UInt8]] { try folders(in: try DesktopFile(path: path).content()) }

    /// Has the file list a folder. Nothing else in it changes.
    func add(_ folder: [UInt8]) throws(CommandFailure) {
        try DesktopFile(path: path).change { (content) throws(CommandFailure) in try folders(in: content).contains(folder) ? nil : try adding(folder, to: content) }
    }

    /// A folder that the file does not list is no error.
    func remove(_ folder: [UInt8]) throws(CommandFailure) {
        try DesktopFile(path: path).change { (content) throws(CommandFailure) in try folders(in: content).contains(folder) ? try removing(folder, from: content) : nil }
    }
}

/// `file:` URIs of paths (RFC 8089).
enum FileURI {
    static func text(of path: [UInt8]) -> [UInt8] { Array(DesktopURI.uri(ofPath: path).utf8) }

    /// Nil for a URI of another kind. Without a slash at the end.
    static func path(of uri: some Sequence<UInt8>) -> [UInt8]? {
        guard let path = withCString(Array(uri), { g_filename_from_uri($0, nil, nil) }) else { return nil }
        defer { g_free(path) }
        var bytes = Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return bytes
    }
}
