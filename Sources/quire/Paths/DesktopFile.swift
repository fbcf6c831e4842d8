import CGio
import Glibc
import StorePrimitives

/// A file that programs of the desktop change too: each change is of the version that was read.
struct DesktopFile {
    let path: String

    /// Empty if there is no such file.
    func content() throws(CommandFailure) -> [UInt8] { try read().content }

    /// Replaces the content by what `edit` makes of it; nil changes nothing. If a program has changed the file meanwhile, `edit` is called with
    /// what that has written.
    func change(_ edit: ([UInt8]) throws(CommandFailure) -> [UInt8]?) throws(CommandFailure) {
        for _ in 0..<5 {
            let (content, version) = try read()
            guard let edited = try edit(content) else { return }
            if try replace(by: edited, version) { return }
        }
        throw CommandFailure("\(path): other programs change the file all the time")
    }

    /// With a mark of the version.
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
