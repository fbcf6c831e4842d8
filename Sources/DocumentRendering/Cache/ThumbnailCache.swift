import CLinux
public import Glibc
public import StorePrimitives
import Synchronization
public import SystemPackage

/// Thumbnails on disk, as desktops keep them (Thumbnail Managing Standard): one file for each document and size, named by the
/// document's URI, with its time in it. Other programs read and write them too, so nothing is believed unseen.
///
/// All calls read or write the disk; from any thread.
public final class ThumbnailCache: Sendable {
    /// A thumbnail that is there, of the content asked for.
    public struct Entry: Sendable, Equatable {
        /// Bytes of its file.
        public let length: Int64
        /// When it was rendered, in nanoseconds since 1970.
        public let rendered: Int64
        /// Made by the document's app, and not of the content.
        let isHanded: Bool
        /// Of a folder's.
        let parts: FolderParts?

        fileprivate init(_ texts: [String: String], _ status: cl_status) {
            length = Int64(status.st.st_size)
            rendered = saturatedNanoseconds(status.st.st_mtim)
            isHanded = texts[ThumbnailCache.handed.key] == ThumbnailCache.handed.value
            parts = texts[ThumbnailCache.parts].flatMap { FolderParts(text: $0) }
        }
    }

    private struct Key: Hashable {
        let uri: String
        let size: ThumbnailSize
    }
    /// What a file said when it was read last.
    private struct Known {
        let inode: UInt64
        let modified: Int64
        let texts: [String: String]
    }

    public let folder: String
    private let known = Mutex<[Key: Known]>([:])
    private let paths = Mutex<[Key: String]>([:])
    private static let knownAtMost = 50_000
    /// Of what is looked at, and not of all that is asked for once.
    private static let pathsAtMost = 10_000

    /// Tells one set of programs that render from another: what one cannot render another may.
    private let providers: @Sendable () -> String
    /// Nil for a desktop's own, which is its user's business.
    let bounds: CacheBounds?

    /// - Parameters:
    ///   - folder: `$XDG_CACHE_HOME/thumbnails` of whoever looks at the documents; made when it is first written.
    ///   - shares: by which it is bounded for each owner of documents; nil if it is not.
    ///   - providers: tells one set of programs that render from another.
    public init(folder: String, shares: UserShares? = nil, providers: @escaping @Sendable () -> String = { "" }) {
        self.folder = folder
        self.providers = providers
        bounds = shares.map { CacheBounds(folders: Self.kinds.map { "\(folder)/\($0)" }, shares: $0) }
    }

    /// The bounds of a cache in a folder that several users' documents have their pictures in.
    public static func bound(for folder: String) -> BoundedResource.Bound { CacheBounds.bound(for: folder) }

    /// Counts what there is, and removes what is over the bounds. O(thumbnails).
    package func trim() { bounds?.count() }

    // MARK: Lookup

    /// The thumbnail of a content; nil if there is none, or one of another content. O(1); reads a file's beginning the first time.
    public func entry(of uri: String, _ version: ThumbnailVersion, _ size: ThumbnailSize) -> Entry? {
        guard let (texts, status) = texts(of: uri, size), Self.fits(texts, uri, version, status) else { return nil }
        return Entry(texts, status)
    }

    /// The thumbnail of what a document or, if `folder` is given, a folder holds; nil if there is none.
    public func entry(
        of uri: String, _ version: ThumbnailVersion, _ size: ThumbnailSize, _ folder: RenderSubject.Folder?
    ) -> Entry? {
        guard let entry = entry(of: uri, version, size) else { return nil }
        guard let folder else { return entry }
        return entry.parts.map({ folder.isCurrent($0, version) }) == true ? entry : nil
    }

    /// The thumbnail there is, of whatever content; nil if there is none.
    public func anyEntry(of uri: String, _ size: ThumbnailSize) -> Entry? {
        guard let (texts, status) = texts(of: uri, size), texts["Thumb::URI"] == uri else { return nil }
        return Entry(texts, status)
    }

    /// The file of a thumbnail that was found. Throws .noSuchFileOrDirectory if there is none any more, .staleNFSFileHandle if there
    /// is another one by now.
    public func open(_ entry: Entry, of uri: String, _ size: ThumbnailSize) throws(Errno) -> Descriptor {
        let file = try Descriptor(opening: path(uri, size), flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        let status = try FileStatus(of: file)
        guard Int64(status.st.st_size) == entry.length, saturatedNanoseconds(status.st.st_mtim) == entry.rendered else {
            throw .staleNFSFileHandle
        }
        return file
    }

    /// Why a content could not be rendered; nil if nobody has tried, or it could.
    public func refusal(of uri: String, _ version: ThumbnailVersion) -> String? {
        guard let file = try? Descriptor(opening: path(uri, Self.failures), flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let (texts, status) = Self.read(file), Self.fits(texts, uri, version, status), texts["Quire::Providers"] == providers()
        else { return nil }
        if let end = texts["Quire::Until"].flatMap({ Int($0) }), end <= time(nil) { return nil }
        return texts["Quire::Reason"] ?? "it could not be drawn before"
    }

    private func texts(of uri: String, _ size: ThumbnailSize) -> (texts: [String: String], cl_status)? {
        let (key, path) = (Key(uri: uri, size: size), path(uri, size))
        var status = cl_status()
        guard cl_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) == 0 else {
            known.withLock { $0[key] = nil }
            return nil
        }
        let (inode, modified) = (UInt64(status.st.st_ino), saturatedNanoseconds(status.st.st_mtim))
        if let known = known.withLock({ $0[key] }), known.inode == inode, known.modified == modified { return (known.texts, status) }
        guard let file = try? Descriptor(opening: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK), let read = Self.read(file)
        else { return nil }
        let seen = Known(
            inode: UInt64(read.status.st.st_ino), modified: saturatedNanoseconds(read.status.st.st_mtim), texts: read.texts)
        known.withLock { known in
            if known.count >= Self.knownAtMost { known.removeAll() }
            known[key] = seen
        }
        return read
    }

    private static func read(_ file: Descriptor) -> (texts: [String: String], status: cl_status)? {
        guard let status = try? FileStatus(of: file), status.isRegular else { return nil }
        for length in [PngTexts.readAhead, PngTexts.mostReadAhead] {
            let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
                count = max(0, pread(file.number, buffer.baseAddress, length, 0))
            }
            guard let read = PngTexts.read(bytes) else { return nil }
            if read.isWhole || bytes.count < length { return (read.texts, status) }
        }
        return nil
    }

    /// Whether a file is of a content. Others note the time in seconds alone: theirs must be younger than the document.
    private static func fits(_ texts: [String: String], _ uri: String, _ version: ThumbnailVersion, _ status: cl_status) -> Bool {
        guard texts["Thumb::URI"] == uri else { return false }
        if let exact = texts["Quire::Version"] { return exact == version.exact }
        guard let seconds = texts["Thumb::MTime"].flatMap({ $0.split(separator: ".").first }).flatMap({ Int64($0) }) else { return false }
        return seconds == version.modified / 1_000_000_000 && saturatedNanoseconds(status.st.st_mtim) > version.modified
            && texts["Thumb::Size"].map { $0 == "\(version.size)" } ?? true
    }

    // MARK: Keeping

    /// Keeps a thumbnail, in the place of the one there was.
    /// - Parameters:
    ///   - image: a PNG file; its texts are replaced.
    ///   - isHanded: made by the document's app, and not of the content.
    ///   - parts: what a folder's is made of.
    ///   - owner: whose the document is, for whom it counts.
    @discardableResult
    public func store(
        _ image: [UInt8], of uri: String, _ version: ThumbnailVersion, _ size: ThumbnailSize, isHanded: Bool = false,
        _ parts: FolderParts? = nil, for owner: uid_t = geteuid()
    ) throws(Errno) -> Entry {
        var texts = Self.texts(uri, version)
        if isHanded { texts.append(Self.handed) }
        if let parts { texts.append((Self.parts, parts.text)) }
        try write(PngTexts.replacing(texts, in: image), uri, size.rawValue, for: owner)
        remove(uri, Self.failures)
        guard let entry = entry(of: uri, version, size) else { throw .ioError }
        return entry
    }

    /// Notes that a content cannot be rendered, so that nobody tries again: for so many seconds, or for as long as nobody else
    /// renders.
    public func storeRefusal(
        _ reason: String, of uri: String, _ version: ThumbnailVersion, seconds: Int? = nil, for owner: uid_t = geteuid()
    ) throws(Errno) {
        let plain = reason.unicodeScalars.filter { $0.value >= 0x20 && $0.value < 0x7f }
        var texts = Self.texts(uri, version)
        texts += [("Quire::Reason", String(String.UnicodeScalarView(plain))), ("Quire::Providers", providers())]
        if let seconds { texts.append(("Quire::Until", "\(time(nil) + seconds)")) }
        try write(PngTexts.replacing(texts, in: Self.nothing), uri, Self.failures, for: owner)
    }

    static func texts(_ uri: String, _ version: ThumbnailVersion) -> [(key: String, value: String)] {
        [
            ("Thumb::URI", uri), ("Thumb::MTime", version.seconds), ("Thumb::Size", "\(version.size)"),
            ("Quire::Version", version.exact), ("Software", "Quire"),
        ]
    }

    /// Forgets all of a document: its thumbnails of all sizes, and that it could not be rendered.
    /// Returns whether there was anything.
    @discardableResult
    public func remove(_ uri: String) -> Bool {
        Self.kinds.map { remove(uri, $0) }.contains(true)
    }

    /// Forgets the thumbnail of one size.
    @discardableResult
    public func remove(_ uri: String, _ size: ThumbnailSize) -> Bool { remove(uri, size.rawValue) }

    /// Forgets the thumbnails of all that is below a folder's URI. Reads the beginning of every thumbnail there is.
    public func removeAll(below uri: String) {
        for kind in Self.kinds {
            for name in ProviderTable.names(in: "\(folder)/\(kind)") where name.hasSuffix(".png") {
                let path = "\(folder)/\(kind)/\(name)"
                guard let file = try? Descriptor(opening: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
                    let (texts, _) = Self.read(file), texts["Thumb::URI"]?.hasPrefix(uri + "/") == true
                else { continue }
                remove(path: path)
            }
        }
    }

    /// What was rendered of a document, which is `owner`'s, goes on as that of its new name.
    public func move(_ uri: String, to newURI: String, _ version: ThumbnailVersion, for owner: uid_t = geteuid()) {
        for size in ThumbnailSize.allCases {
            guard let entry = entry(of: uri, version, size), let image = try? contents(entry, of: uri, size) else { continue }
            _ = try? store(image, of: newURI, version, size, isHanded: entry.isHanded, entry.parts, for: owner)
        }
        remove(uri)
    }

    /// A whole thumbnail file.
    func contents(_ entry: Entry, of uri: String, _ size: ThumbnailSize) throws(Errno) -> [UInt8] {
        let file = try open(entry, of: uri, size)
        let length = Int(entry.length)
        guard length > 0, length <= Self.largest else { throw .fileTooLarge }
        var bytes = [UInt8](repeating: 0, count: length)
        let count = bytes.withUnsafeMutableBytes { pread(file.number, $0.baseAddress, $0.count, 0) }
        guard count == length else { throw .ioError }
        return bytes
    }

    @discardableResult
    private func remove(_ uri: String, _ kind: String) -> Bool { remove(path: path(uri, kind)) }

    @discardableResult
    private func remove(path: String) -> Bool {
        // Most documents that are removed have no picture of most sizes: one system call for each then.
        var status = cl_status()
        guard cl_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) == 0 else { return false }
        return changing(path) { unlink(path) == 0 }
    }

    private func changing<Result>(_ path: String, _ change: () -> Result) -> Result {
        if let bounds { return bounds.changing(path, change) }
        return change()
    }

    /// Under another name first: a reader meets a whole file or none.
    private func write(_ bytes: [UInt8], _ uri: String, _ kind: String, for owner: uid_t) throws(Errno) {
        let (path, name) = (path(uri, kind), folder + "/" + kind)
        let temporary = "\(name)/.quire-\(getpid())-\(Self.count.add(1, ordering: .relaxed).newValue)"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        let file: Descriptor
        do throws(Errno) {
            file = try Descriptor(opening: temporary, flags: flags, mode: 0o600)
        } catch .noSuchFileOrDirectory {
            try makeFolders(name)
            file = try Descriptor(opening: temporary, flags: flags, mode: 0o600)
        }
        do throws(Errno) {
            try bounds?.give(file, to: owner)
            let written = bytes.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            guard written == bytes.count else { throw written < 0 ? Errno(rawValue: errno) : .noSpace }
            let error = changing(path) { rename(temporary, path) == 0 ? 0 : errno }
            if error != 0 { throw Errno(rawValue: error) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private func makeFolders(_ path: String) throws(Errno) {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/" + part
            guard mkdir(made, 0o700) == 0 || errno == EEXIST else { throw Errno(rawValue: errno) }
        }
    }

    private func path(_ uri: String, _ kind: String) -> String { "\(folder)/\(kind)/\(DesktopURI.md5(uri)).png" }

    /// The same of a thumbnail, which is asked for often: computing the sum takes longer than looking at the file.
    private func path(_ uri: String, _ size: ThumbnailSize) -> String {
        let key = Key(uri: uri, size: size)
        if let path = paths.withLock({ $0[key] }) { return path }
        let path = path(uri, size.rawValue)
        paths.withLock { paths in
            if paths.count >= Self.pathsAtMost { paths.removeAll() }
            paths[key] = path
        }
        return path
    }

    private static let parts = "Quire::Parts"
    private static let handed = (key: "Quire::Source", value: "app")
    private static let failures = "fail/quire-1"
    /// The folders.
    private static let kinds = ThumbnailSize.allCases.map(\.rawValue) + [failures]
    /// A thumbnail of the largest size that compresses badly.
    private static let largest = 8 << 20
    private static let count = Atomic<Int>(0)
    /// One transparent pixel.
    private static let nothing = PngImage.encoded([0, 0, 0, 0], width: 1, height: 1, bands: 4) ?? []
}
