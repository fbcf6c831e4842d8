import CLinux
import DocumentRendering
import Glibc
import StorePrimitives
import TestSupport
import Testing

/// What the cache of several users' pictures may take. Files are made with the owners that they count for, so by root alone.
@Suite(.enabled(if: geteuid() == 0))
struct CacheBoundsTests {
    private let folder: TemporaryFolder
    private let shares: UserShares
    private let cache: ThumbnailCache
    private let version = CacheFixture.version(1_700_000_000)
    private static let (alice, bob, carol): (UInt32, UInt32, UInt32) = (61001, 61002, 61003)

    /// Each picture takes a block of 4,096 bytes.
    private static func shares(_ forUser: Int, _ forAll: Int) -> UserShares {
        UserShares(bounds: [.thumbnailBytes: .init(forUser: forUser * 4_096, forAll: forAll * 4_096)])
    }

    init() throws {
        folder = try TemporaryFolder()
        // An eighth of these is a whole number of pictures.
        shares = Self.shares(16, 32)
        cache = ThumbnailCache(folder: folder.path("thumbnails"), shares: shares)
    }

    private func uri(_ name: String) -> String { "file:///docs/\(name)" }

    private func path(_ name: String, _ kind: String = "normal") -> String { "\(cache.folder)/\(kind)/\(DesktopURI.md5(uri(name))).png" }

    /// Renders a document, and has its picture be as old as told.
    private func render(_ name: String, _ owner: UInt32, age: Int, in cache: ThumbnailCache? = nil) throws {
        try (cache ?? self.cache).store(CacheFixture.picture, of: uri(name), version, .normal, for: owner)
        try setTimes(name, read: age, rendered: age)
    }

    private func setTimes(_ name: String, read: Int, rendered: Int) throws {
        let now = time(nil)
        let times = [timespec(tv_sec: now - read, tv_nsec: 0), timespec(tv_sec: now - rendered, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, path(name), times, 0) == 0)
    }

    private func has(_ name: String) -> Bool { access(path(name), F_OK) == 0 }

    private func blocks(_ user: UInt32) -> Int { shares.use(of: .thumbnailBytes, by: user) / 4_096 }

    @Test func aPictureCountsForTheDocumentsOwner() throws {
        try render("a", Self.alice, age: 0)
        try render("b", Self.bob, age: 0)
        try cache.storeRefusal("it is damaged", of: uri("c"), version, for: Self.bob)
        var status = stat()
        #expect(stat(path("a"), &status) == 0 && status.st_uid == Self.alice && status.st_mode & 0o7777 == 0o600)
        #expect(blocks(Self.alice) == 1 && blocks(Self.bob) == 2)
        // In the place of the one there was, moved to another name, and gone.
        try render("a", Self.alice, age: 0)
        cache.move(uri("b"), to: uri("d"), version, for: Self.carol)
        #expect(blocks(Self.alice) == 1 && blocks(Self.bob) == 1 && blocks(Self.carol) == 1)
        for name in ["a", "c", "d"] { cache.remove(uri(name)) }
        #expect(shares.use(of: .thumbnailBytes) == 0)
    }

    @Test func aUserOverTheShareLosesWhatWasNotUsedForLongest() throws {
        for number in 1...17 { try render("a\(number)", Self.alice, age: 10_000 * number) }
        for number in 1...9 { try render("b\(number)", Self.bob, age: 1_000_000 * number) }
        // One of the oldest was looked at since.
        try setTimes("a17", read: 5, rendered: 170_000)
        cache.trim()
        // Down to seven eighths of the share.
        #expect((1...17).filter { has("a\($0)") } == Array(1...13) + [17])
        #expect((1...9).allSatisfy { has("b\($0)") })
        #expect(blocks(Self.alice) == 14 && blocks(Self.bob) == 9)
    }

    @Test func whereAllHaveTooMuchWhoHasMostLosesTheOldest() throws {
        for number in 1...15 { try render("a\(number)", Self.alice, age: 10 * number) }
        for number in 1...14 { try render("b\(number)", Self.bob, age: 1_000 + number) }
        for number in 1...4 { try render("c\(number)", Self.carol, age: 1_000_000) }
        cache.trim()
        #expect(blocks(Self.alice) == 12 && blocks(Self.bob) == 12 && blocks(Self.carol) == 4)
        #expect((1...15).filter { has("a\($0)") } == Array(1...12))
        #expect((1...14).filter { has("b\($0)") } == Array(1...12))
        #expect((1...4).allSatisfy { has("c\($0)") })
    }

    @Test func theIdsOfAnAccountHaveOneShare() throws {
        let shares = UserShares(
            bounds: [.thumbnailBytes: .init(forUser: 16 * 4_096, forAll: 32 * 4_096)],
            accounts: Accounts(parsing: "\(Self.alice):100000:65536") { _ in nil })
        let cache = ThumbnailCache(folder: folder.path("thumbnails"), shares: shares)
        for number in 1...17 { try render("a\(number)", number % 3 == 0 ? Self.alice : 100_000 + UInt32(number), age: 10_000 * number, in: cache) }
        for number in 1...9 { try render("b\(number)", Self.bob, age: 1_000_000 * number, in: cache) }
        cache.trim()
        #expect((1...17).filter { has("a\($0)") } == Array(1...14))
        #expect((1...9).allSatisfy { has("b\($0)") })
        #expect(shares.use(of: .thumbnailBytes, by: Self.alice) == 14 * 4_096)
    }

    /// Another daemon's, and one's own after a restart.
    @Test func daemonsThatShareTheCacheCountTheSame() throws {
        let otherShares = Self.shares(16, 32)
        let other = ThumbnailCache(folder: cache.folder, shares: otherShares)
        for number in 1...9 { try render("a\(number)", Self.alice, age: 100 - number) }
        for number in 10...18 { try render("a\(number)", Self.alice, age: 100 - number, in: other) }
        #expect(blocks(Self.alice) == 9)
        cache.trim()
        other.trim()
        #expect(blocks(Self.alice) == 14 && otherShares.use(of: .thumbnailBytes, by: Self.alice) == 14 * 4_096)
        let later = Self.shares(16, 32)
        ThumbnailCache(folder: cache.folder, shares: later).trim()
        #expect(later.use(of: .thumbnailBytes, by: Self.alice) == 14 * 4_096)
        #expect((1...18).filter { has("a\($0)") } == Array(5...18))
    }

    @Test func whatIsNoPictureStaysAndWhatACrashLeftGoes() throws {
        try render("a", Self.alice, age: 0)
        folder.makeFile("thumbnails/normal/notes.txt", String(repeating: "x", count: 200_000))
        folder.makeFile("thumbnails/normal/.quire-1-1", "half")
        folder.makeFile("thumbnails/normal/.quire-2-2", "half")
        let old = [timespec(tv_sec: time(nil) - 7_200, tv_nsec: 0), timespec(tv_sec: time(nil) - 7_200, tv_nsec: 0)]
        utimensat(AT_FDCWD, folder.path("thumbnails/normal/.quire-1-1"), old, 0)
        symlink("/etc/passwd", "\(cache.folder)/normal/\(DesktopURI.md5("link")).png")
        cache.trim()
        #expect(shares.use(of: .thumbnailBytes) == 4_096)
        #expect(["notes.txt", ".quire-2-2"].allSatisfy { access("\(cache.folder)/normal/\($0)", F_OK) == 0 })
        #expect(access("\(cache.folder)/normal/.quire-1-1", F_OK) != 0)
    }

    /// A desktop's own cache is its user's business.
    @Test func withoutSharesNothingIsRemovedAndTheOwnerStays() throws {
        let own = ThumbnailCache(folder: folder.path("own"))
        for number in 1...40 { try own.store(CacheFixture.picture, of: uri("\(number)"), version, .normal, for: Self.alice) }
        own.trim()
        var status = stat()
        #expect((1...40).allSatisfy { stat("\(own.folder)/normal/\(DesktopURI.md5(uri("\($0)"))).png", &status) == 0 && status.st_uid == 0 })
    }

    @Test func theBoundIsATenthOfTheFileSystem() {
        let most = BoundedResource.thumbnailBytes.bound
        var status = statvfs()
        #expect(statvfs("/tmp", &status) == 0)
        let tenth = Int(clamping: UInt64(status.f_blocks) &* UInt64(status.f_frsize) / 10)
        let bound = ThumbnailCache.bound(for: "/tmp/not/there/yet")
        #expect(bound.forAll == min(most.forAll, tenth) && bound.forUser == min(most.forUser, bound.forAll / 4))
        #expect(ThumbnailCache.bound(for: "/dev/null/thumbnails") == most)
    }
}
