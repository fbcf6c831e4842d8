import CLinux
import DocumentRendering
import Glibc
import StorePrimitives
import SystemPackage
import TestSupport
import Testing

/// A cache in a folder of its own, and a document with a version.
struct CacheFixture {
    let folder: TemporaryFolder
    let cache: ThumbnailCache
    let uri = "file:///home/ada/a%20letter.txt"
    static let picture = PngImage.encoded([UInt8](repeating: 9, count: 4 * 3 * 3), width: 4, height: 3, bands: 3)!

    init() throws {
        folder = try TemporaryFolder()
        cache = ThumbnailCache(folder: folder.path("thumbnails"))
    }

    /// The version of a document of `size` bytes that was changed at a time.
    static func version(_ seconds: Int, _ nanoseconds: Int = 0, size: Int = 10) -> ThumbnailVersion {
        var status = cl_status()
        status.st.st_mtim = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        status.st.st_size = off_t(size)
        return ThumbnailVersion(status)
    }

    func path(_ kind: String) -> String { "\(cache.folder)/\(kind)/\(DesktopURI.md5(uri)).png" }

    func texts(_ kind: String) throws -> [String: String] {
        let bytes = try #require(FileBytes.of(path(kind)))
        return try #require(PngTexts.read(bytes)).texts
    }
}

enum FileBytes {
    static func of(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }
}

/// The desktop's cache (Thumbnail Managing Standard).
struct ThumbnailCacheTests {
    private let version = CacheFixture.version(1_700_000_000, 123_456_789)

    @Test func whatIsStoredIsFoundForItsVersionAlone() throws {
        let fixture = try CacheFixture()
        #expect(fixture.cache.entry(of: fixture.uri, version, .normal) == nil)
        let entry = try fixture.cache.store(CacheFixture.picture, of: fixture.uri, version, .normal)
        #expect(fixture.cache.entry(of: fixture.uri, version, .normal) == entry)
        #expect(fixture.cache.entry(of: fixture.uri, version, .large) == nil)
        #expect(fixture.cache.entry(of: fixture.uri, CacheFixture.version(1_700_000_000, 123_456_788), .normal) == nil)
        #expect(fixture.cache.entry(of: fixture.uri, CacheFixture.version(1_700_000_000, 123_456_789, size: 11), .normal) == nil)
        #expect(fixture.cache.anyEntry(of: fixture.uri, .normal) == entry)
    }

    @Test func anEntryIsAsTheStandardHasIt() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(CacheFixture.picture, of: fixture.uri, version, .large)
        var status = stat()
        #expect(stat(fixture.path("large"), &status) == 0 && status.st_mode & 0o7777 == 0o600)
        #expect(stat("\(fixture.cache.folder)/large", &status) == 0 && status.st_mode & 0o7777 == 0o700)
        let texts = try fixture.texts("large")
        #expect(texts["Thumb::URI"] == fixture.uri)
        #expect(texts["Thumb::MTime"] == "1700000000.123456")
        #expect(texts["Thumb::Size"] == "10")
    }

    /// A time without a fraction is a whole number, as the standard says; the fraction keeps its zeros.
    @Test(arguments: [(0, "1700000000"), (999, "1700000000"), (1_000, "1700000000.000001"), (500_000_000, "1700000000.500000")])
    func theTimeIsInMicroseconds(nanoseconds: Int, text: String) throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(CacheFixture.picture, of: fixture.uri, CacheFixture.version(1_700_000_000, nanoseconds), .normal)
        #expect(try fixture.texts("normal")["Thumb::MTime"] == text)
    }

    /// Other programs note seconds alone, and may render what is being written.
    @Test func whatOthersDrewCountsIfItIsYoungerThanTheDocument() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(CacheFixture.picture, of: fixture.uri, version, .normal)
        func put(_ texts: [(key: String, value: String)]) throws {
            let bytes = PngTexts.replacing(texts, in: CacheFixture.picture)
            let file = try #require(fopen(fixture.path("normal"), "w"))
            fwrite(bytes, 1, bytes.count, file)
            fclose(file)
        }
        try put([("Thumb::URI", fixture.uri), ("Thumb::MTime", "1700000000")])
        #expect(fixture.cache.entry(of: fixture.uri, version, .normal) != nil)
        #expect(fixture.cache.entry(of: fixture.uri, CacheFixture.version(1_700_000_001), .normal) == nil)
        try put([("Thumb::URI", "file:///other"), ("Thumb::MTime", "1700000000")])
        #expect(fixture.cache.entry(of: fixture.uri, version, .normal) == nil)
        try put([("Thumb::URI", fixture.uri)])
        #expect(fixture.cache.entry(of: fixture.uri, version, .normal) == nil)
        var past = [timespec(tv_sec: 1_600_000_000, tv_nsec: 0), timespec(tv_sec: 1_600_000_000, tv_nsec: 0)]
        try put([("Thumb::URI", fixture.uri), ("Thumb::MTime", "1700000000")])
        utimensat(AT_FDCWD, fixture.path("normal"), &past, 0)
        #expect(fixture.cache.entry(of: fixture.uri, version, .normal) == nil)
    }

    @Test func aRefusalHoldsForItsVersionUntilSomethingIsRendered() throws {
        let fixture = try CacheFixture()
        try fixture.cache.storeRefusal("it is damaged", of: fixture.uri, version)
        #expect(fixture.cache.refusal(of: fixture.uri, version) == "it is damaged")
        #expect(fixture.cache.refusal(of: fixture.uri, CacheFixture.version(1_700_000_001)) == nil)
        try fixture.cache.store(CacheFixture.picture, of: fixture.uri, version, .normal)
        #expect(fixture.cache.refusal(of: fixture.uri, version) == nil)
    }

    @Test func aMovedDocumentKeepsItsPictures() throws {
        let fixture = try CacheFixture()
        for size in [ThumbnailSize.normal, .doubleExtraLarge] {
            try fixture.cache.store(CacheFixture.picture, of: fixture.uri, version, size)
        }
        let other = "file:///home/ada/other"
        fixture.cache.move(fixture.uri, to: other, version)
        #expect(ThumbnailSize.allCases.map { fixture.cache.entry(of: other, version, $0) != nil } == [true, false, false, true])
        #expect(ThumbnailSize.allCases.allSatisfy { fixture.cache.anyEntry(of: fixture.uri, $0) == nil })
        #expect(fixture.cache.remove(other))
        #expect(!fixture.cache.remove(other))
    }

    @Test func aFullDiskLeavesNothingBehind() throws {
        let fixture = try CacheFixture()
        let cache = ThumbnailCache(folder: "/dev/full/thumbnails")
        #expect(throws: Errno.notDirectory) { try cache.store(CacheFixture.picture, of: fixture.uri, version, .normal) }
    }

    @Test(arguments: [0, 7, 8, 20, 33, 60])
    func whatIsCutShortIsNoEntry(length: Int) throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(CacheFixture.picture, of: fixture.uri, version, .normal)
        truncate(fixture.path("normal"), off_t(length))
        #expect(fixture.cache.entry(of: fixture.uri, version, .normal) == nil)
    }

    /// The sums that Xfce has for these were taken from it.
    @Test func urisAreEscapedAsGLibDoes() {
        #expect(DesktopURI.uri(ofPath: Array("/a b/ü(1)[2]%.txt".utf8)) == "file:///a%20b/%C3%BC(1)%5B2%5D%25.txt")
        #expect(DesktopURI.uri(ofPath: [0x2f, 0xff]) == "file:///%FF")
        #expect(DesktopURI.md5("file:///home/jens/photos/me.png") == "c6ee772d9e49320e97ec29a7eb5b1697")
    }
}
