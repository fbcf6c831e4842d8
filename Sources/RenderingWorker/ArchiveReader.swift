import CArchive
import Glibc

/// The entries of an archive, one after the other, without unpacking what is not asked for. Archives in it are files like others.
final class ArchiveReader {
    private let archive: OpaquePointer
    private var entry: OpaquePointer?

    /// Throws if it is no archive.
    init(_ input: Int32) throws(WorkRefusal) {
        guard let archive = archive_read_new() else { throw WorkRefusal("there is no memory", isPassing: true) }
        self.archive = archive
        archive_read_support_filter_all(archive)
        archive_read_support_format_all(archive)
        lseek(input, 0, SEEK_SET)
        guard archive_read_open_fd(archive, input, 64 << 10) == ARCHIVE_OK else { throw failure }
    }

    deinit { archive_read_free(archive) }

    struct Entry {
        let path: String
        let isFolder: Bool
        let isFile: Bool
        /// Bytes, if the archive says.
        let size: Int64?
        /// Seconds since 1970, if the archive says.
        let modified: Int64?
    }

    /// Nil at the end.
    func next() throws(WorkRefusal) -> Entry? {
        let result = archive_read_next_header(archive, &entry)
        if result == ARCHIVE_EOF { return nil }
        guard result == ARCHIVE_OK || result == ARCHIVE_WARN, let entry else { throw failure }
        let name = archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry)
        let path = name.map { String(cString: $0) }
        let type = archive_entry_filetype(entry) & S_IFMT
        return Entry(
            path: path ?? "?", isFolder: type == S_IFDIR, isFile: type == S_IFREG,
            size: archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : nil,
            modified: archive_entry_mtime_is_set(entry) != 0 ? Int64(archive_entry_mtime(entry)) : nil)
    }

    /// The content of the entry told last; throws if it is longer than `limit` bytes.
    func content(limit: Int) throws(WorkRefusal) -> [UInt8] {
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = archive_read_data(archive, &chunk, chunk.count)
            if count == 0 { return content }
            guard count > 0 else { throw failure }
            content += chunk[..<count]
            guard content.count <= limit else { throw WorkRefusal("what is in it is too large") }
        }
    }

    private var failure: WorkRefusal {
        WorkRefusal(archive_error_string(archive).map { String(cString: $0) } ?? "it is not an archive")
    }
}

/// What an archive holds, as a list on a sheet.
enum ArchiveSheet {
    private static let shown = 60

    static func render(_ input: Int32, maximum: Int) throws(WorkRefusal) -> Picture {
        let archive = try ArchiveReader(input)
        var lines: [String] = []
        while lines.count < shown, let entry = try archive.next() {
            lines.append(entry.isFolder && !entry.path.hasSuffix("/") ? entry.path + "/" : entry.path)
        }
        guard !lines.isEmpty else { throw WorkRefusal("there is nothing in it") }
        return try TextSheet.render(lines.joined(separator: "\n"), isCode: true, maximum: maximum)
    }
}

/// The picture that programs put into their documents: OpenDocument, Office Open XML, e-books.
enum EmbeddedPicture {
    private static let largest = 16 << 20
    private static let entriesRead = 2_000

    static func render(_ input: Int32, maximum: Int) throws(WorkRefusal) -> Picture {
        let archive = try ArchiveReader(input)
        var count = 0
        while let entry = try archive.next() {
            count += 1
            guard count <= entriesRead else { break }
            guard isPicture(entry.path) else { continue }
            return try Picture(of: PictureBytes(copying: try archive.content(limit: largest)), maximum: maximum)
        }
        throw WorkRefusal("it has no picture of itself")
    }

    private static func isPicture(_ path: String) -> Bool {
        let path = path.lowercased()
        return path == "thumbnails/thumbnail.png" || path.hasPrefix("docprops/thumbnail.")
            || path.hasSuffix("cover.jpg") || path.hasSuffix("cover.jpeg") || path.hasSuffix("cover.png")
    }
}
