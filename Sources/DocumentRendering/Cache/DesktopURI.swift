import CGio

/// How desktops name files, and find their thumbnails.
public enum DesktopURI {
    /// `file://` and the path, escaped as GLib does. The path is absolute.
    public static func uri(ofPath path: [UInt8]) -> String {
        let uri = (path + [0]).withUnsafeBytes {
            g_filename_to_uri($0.assumingMemoryBound(to: CChar.self).baseAddress!, nil, nil)
        }
        guard let uri else { return "" }
        defer { g_free(uri) }
        return String(cString: uri)
    }

    /// In hexadecimal.
    public static func md5(_ text: String) -> String {
        var text = text
        let sum = text.withUTF8 { g_compute_checksum_for_data(G_CHECKSUM_MD5, $0.baseAddress, gsize(clamping: $0.count)) }
        guard let sum else { return "" }
        defer { g_free(sum) }
        return String(cString: sum)
    }
}
