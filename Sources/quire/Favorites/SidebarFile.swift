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
    func folders() throws(CommandFailure) -> [[UInt8]] { try folders(in: try read().content) }

    /// Has the file list a folder. Nothing else in it changes.
    func add(_ folder: [UInt8]) throws(CommandFailure) {
        try change { (content) throws(CommandFailure) in try folders(in: content).contains(folder) ? nil : try adding(folder, to: content) }
    }

    /// A folder that the file does not list is no error.
    func remove(_ folder: [UInt8]) throws(CommandFailure) {
        try change { (content) throws(CommandFailure) in try folders(in: content).contains(folder) ? try removing(folder, from: content) : nil }
    }

    /// Replaces the content. If a program has changed the file meanwhile, `edit` is called with what that has written.
    private func change(_ edit: ([UInt8]) throws(CommandFailure) -> [UInt8]?) throws(CommandFailure) {
        for _ in 0..<5 {
            let (content, version) = try read()
            guard let edited = try edit(content) else { return }
            if try replace(by: edited, version) { return }
        }
        throw CommandFailure("\(path): other programs change the file all the time")
    }

    /// With a mark of the version; nothing if there is no file.
    private func read() throws(CommandFailure) -> (content: [UInt8], version: String?) {
        let file = g_file_new_for_path(path)
        defer { g_object_unref(UnsafeMutableRawPointer(file)) }
        var (bytes, length, version): (UnsafeMutablePointer<CChar>?, gsize, UnsafeMutablePointer<CChar>?) = (nil, 0, nil)
        var error: UnsafeMutablePointer<GError>?
        defer {
            g_free(bytes)
            g_free(version)
            g_clear_error(&error)
        }
        guard g_file_load_contents(file, nil, &bytes, &length, &version, &error) != 0 else {
            if g_error_matches(error, g_io_error_quark(), Int32(truncatingIfNeeded: G_IO_ERROR_NOT_FOUND.rawValue)) != 0 { return ([], nil) }
            throw Self.failure(error, path)
        }
        return (Array(UnsafeRawBufferPointer(start: bytes, count: Int(clamping: length))), version.map { String(cString: $0) })
    }

    /// Atomically, with the file's permissions, and through a symbolic link that has its name. False if the file is another version by now.
    private func replace(by content: [UInt8], _ version: String?) throws(CommandFailure) -> Bool {
        let file = g_file_new_for_path(path)
        defer { g_object_unref(UnsafeMutableRawPointer(file)) }
        var error: UnsafeMutablePointer<GError>?
        defer { g_clear_error(&error) }
        if let folder = g_file_get_parent(file) {
            g_file_make_directory_with_parents(folder, nil, nil)
            g_object_unref(UnsafeMutableRawPointer(folder))
        }
        let isReplaced = content.withUnsafeBytes {
            g_file_replace_contents(file, $0.baseAddress, UInt(bitPattern: $0.count), version, 0, G_FILE_CREATE_PRIVATE, nil, nil, &error)
        }
        if isReplaced != 0 { return true }
        if g_error_matches(error, g_io_error_quark(), Int32(truncatingIfNeeded: G_IO_ERROR_WRONG_ETAG.rawValue)) != 0 { return false }
        throw Self.failure(error, path)
    }

    private static func failure(_ error: UnsafeMutablePointer<GError>?, _ path: String) -> CommandFailure {
        CommandFailure(error.map { String(cString: $0.pointee.message) } ?? "\(path): input/output error")
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
