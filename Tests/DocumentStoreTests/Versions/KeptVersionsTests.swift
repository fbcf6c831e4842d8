import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage
import TestSupport
import Testing

struct KeptVersionsTests {
    private let place = StorePath("sub/my doc\n%")!
    private let saver = KeptVersion.Saver(pid: 42, name: "my editor", uid: geteuid())

    /// State folder on the store's file system, and on another.
    private static let bases = [("/tmp", "/tmp"), ("/dev/shm", "/dev/shm"), ("/tmp", "/dev/shm"), ("/dev/shm", "/tmp")]

    private func content(_ id: UInt64, _ kept: KeptVersions, _ uid: UInt32 = 0) throws -> String {
        let file = try kept.content(of: id, for: uid)
        var bytes = [UInt8](repeating: 0, count: 100)
        return String(decoding: bytes[..<(try check(cl_pread(file.number, &bytes, 100, 0)))], as: UTF8.self)
    }

    @Test(.enabled(if: isRoot)) func whoHasMostKeptLosesTheOldest() throws {
        var limits = KeptVersions.Limits()
        limits.bytes = 3 * 8_192
        let store = try VersionFixture(on: "/tmp", limits: limits)
        let kept = store.versions.kept
        for owner in [1234, 1235, 1235, 1235, 1235] {
            try store.shell("rm -f doc; echo old >doc; chown \(owner) doc")
            try kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .replaced, by: .daemon)
        }
        #expect(kept.list(for: 0).map(\.id) == [1, 4, 5])
    }

    /// Of what all may have together, and of what one may.
    @Test(.enabled(if: isRoot)) func aUserOverTheShareLosesItsOwnOldest() throws {
        var limits = KeptVersions.Limits()
        limits.bytes = 6 * 8_192
        limits.bytesOfUser = limits.bytes / 2
        let shares = UserShares()
        let store = try VersionFixture(on: "/tmp", limits: limits, shares: shares)
        let kept = store.versions.kept
        try store.write("old", to: "doc")
        func keep(_ payer: UInt32, _ text: String = "new") throws -> KeptVersion {
            try kept.keep(
                try store.copy(of: "doc", text).file, moving: true, document: place, saver: nil, reason: .replaced, by: .daemon, chargedTo: payer)
        }
        for payer: UInt32 in [1235, 1234, 1235, 1235, 1235, 1235] { _ = try keep(payer) }
        #expect(kept.list(for: 0).map(\.id) == [2, 4, 5, 6])
        #expect(shares.use(of: .keptBytes, by: 1235) == 3 * 8_192 && shares.use(of: .keptBytes, by: 1234) == 8_192)
        // More than one user may have: only the fact is kept.
        let large = try keep(1236, String(repeating: "x", count: 30_000))
        #expect(!large.hasContent && shares.use(of: .keptBytes, by: 1236) == 4_096)
        try kept.drop(4, for: 0)
        #expect(shares.use(of: .keptBytes, by: 1235) == 2 * 8_192)
        // The next daemon counts the same.
        let later = UserShares()
        let next = try VersionStore(SharedStore(store.root), stateFolder: store.statePath, limits: limits, shares: later)
        #expect(next.kept.list(for: 0).map(\.id) == [2, 5, 6, 7])
        #expect([1234, 1235, 1236].map { later.use(of: .keptBytes, by: $0) } == [8_192, 2 * 8_192, 4_096])
    }

    /// Whoever has many user ids has no more for it, and does not push out what others have kept.
    @Test(.enabled(if: isRoot)) func theIdsOfAnAccountHaveOneShare() throws {
        var limits = KeptVersions.Limits()
        limits.bytes = 6 * 8_192
        limits.bytesOfUser = limits.bytes / 2
        let shares = UserShares(accounts: Accounts(parsing: "1235:100000:65536") { _ in nil })
        let store = try VersionFixture(on: "/tmp", limits: limits, shares: shares)
        let kept = store.versions.kept
        try store.write("old", to: "doc")
        for payer: UInt32 in [1234, 1234, 100_000, 100_001, 100_002, 100_003, 1235, 165_535] {
            let copy = try store.copy(of: "doc", "new").file
            _ = try kept.keep(copy, moving: true, document: place, saver: nil, reason: .replaced, by: .daemon, chargedTo: payer)
        }
        #expect(kept.list(for: 0).map(\.id) == [1, 2, 6, 7, 8])
        #expect(shares.use(of: .keptBytes, by: 1235) == 3 * 8_192 && shares.use(of: .keptBytes, by: 1234) == 2 * 8_192)
    }

    /// A program that knows a version by its number restores no other one.
    @Test func aVersionThatWasRemovedLeavesItsNumberToNoOther() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        func keep(_ versions: VersionStore) throws -> UInt64 {
            try versions.kept.keep(
                try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .replaced, by: .daemon).id
        }
        #expect(try keep(store.versions) == 1 && keep(store.versions) == 2)
        try store.versions.kept.drop(2, for: 0)
        try store.versions.kept.drop(1, for: 0)
        #expect(try keep(store.remounted()) == 3)
        let next = try store.remounted()
        #expect(next.kept.list(for: 0).map(\.id) == [3])
        for damage in ["", "x", "18446744073709551615"] {
            try store.shell("printf %s '\(damage)' >../state/kept/last")
            #expect(try store.remounted().kept.list(for: 0).map(\.id) == [3])
        }
        #expect(try keep(store.remounted()) == 4)
    }

    @Test func eachVersionThatIsKeptOrGoesIsTold() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        let told = Mutex<[String]>([])
        var limits = KeptVersions.Limits()
        limits.bytes = 2 * 8_192
        let versions = try VersionStore(SharedStore(store.root), stateFolder: store.statePath, limits: limits) { version, change in
            told.withLock { $0.append("\(change) \(version.id)") }
        }
        func keep(_ reason: KeptVersion.Reason) throws {
            try versions.kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: reason, by: .daemon)
        }
        for _ in 0..<3 { try keep(.replaced) }
        try versions.kept.drop(2, for: 0)
        #expect(told.withLock { $0 } == ["gained 1", "gained 2", "gained 3", "lost 1", "lost 2"])
    }

    @Test(arguments: bases) func whatIsKeptCanBeReadAfterTheNextMountToo(_ base: String, _ stateBase: String) throws {
        let store = try VersionFixture(on: base)
        let state = try TestFolder(on: stateBase)
        var versions = try VersionStore(SharedStore(store.root), stateFolder: state.path)
        try store.write("old", to: "doc")
        try store.shell("chmod 664 doc; setfacl -m u:nobody:rw doc")
        let document = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        let copy = try versions.workingCopy(of: document, in: store.root, by: .daemon)
        try store.put("partial", into: copy)
        let reasons: [KeptVersion.Reason] = [
            .killed(signal: 9), .writeError(.noSpace), .publishError(.ioError), .overtaken, .replaced, .removed, .unpublished,
            .unfinished, .edited, .restored,
        ]
        for (index, reason) in reasons.enumerated() {
            let version = try versions.kept.keep(
                copy.file, moving: index == 0, document: place, saver: index == 1 ? nil : saver, reason: reason,
                by: .daemon)
            #expect(version.size == 7 && version.hasContent && version.owner == geteuid())
        }
        versions = try VersionStore(SharedStore(store.root), stateFolder: state.path)
        let list = versions.kept.list(for: geteuid())
        #expect(list.map(\.reason) == reasons)
        #expect(list.allSatisfy { $0.document == place })
        #expect(list.map(\.saver) == reasons.indices.map { $0 == 1 ? nil : saver })
        for version in list { #expect(try content(version.id, versions.kept, geteuid()) == "partial") }
        #expect(try state.shell("[ $(find kept -type f -perm 600 | wc -l) = 20 ]; [ $(getfattr -R -d -m - kept | grep -c acl) = 0 ]") == 0)
        #expect(try store.names == ["doc"])
    }

    @Test(.enabled(if: isRoot)) func onlyTheOwnerAndRootAreTold() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        try store.shell("chown 1234 doc")
        let copy = try store.copy(of: "doc")
        for moving in [true, false] {
            try store.versions.kept.keep(copy.file, moving: moving, document: place, saver: nil, reason: .replaced, by: .daemon)
        }
        let kept = store.versions.kept
        let id = try #require(kept.list(for: 1234).first?.id)
        #expect(kept.list(for: 1234).count == 2 && kept.list(for: 0).count == 2 && kept.list(for: 1235).isEmpty)
        expectErrno(.noSuchFileOrDirectory) { try kept.content(of: id, for: 1235) }
        expectErrno(.noSuchFileOrDirectory) { try kept.drop(id, for: 1235) }
        #expect(try store.output("stat -c '%u %a' ../state/kept/[12]") == "1234 600\n1234 600")
    }

    @Test func droppingRemoves() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        let kept = store.versions.kept
        let version = try kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .removed, by: .daemon)
        try kept.drop(version.id, for: geteuid())
        expectErrno(.noSuchFileOrDirectory) { try kept.drop(version.id, for: geteuid()) }
        #expect(kept.list(for: geteuid()).isEmpty)
        #expect(try store.output("ls -I last ../state/kept") == "")
    }

    @Test func theOldestGoFirstWhenThereIsTooMuch() throws {
        var limits = KeptVersions.Limits()
        limits.bytes = 3 * 8_192 + 4_096
        let store = try VersionFixture(on: "/tmp", limits: limits)
        try store.write("old", to: "doc")
        let kept = store.versions.kept
        for _ in 0..<5 {
            try kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .replaced, by: .daemon)
        }
        #expect(kept.list(for: geteuid()).map(\.id) == [3, 4, 5])
        #expect(try store.output("ls ../state/kept | wc -l") == "6")
        // One that is larger than all may be: only the fact is kept, and the others stay.
        let large = try store.copy(of: "doc", String(repeating: "x", count: 40_000))
        let version = try kept.keep(large.file, moving: true, document: place, saver: saver, reason: .killed(signal: 11), by: .daemon)
        #expect(!version.hasContent && version.size == 40_000)
        expectErrno(.fileTooLarge) { try kept.content(of: version.id, for: geteuid()) }
        #expect(kept.list(for: geteuid()).map(\.id) == [3, 4, 5, 6])
        #expect(try store.remounted().kept.list(for: geteuid()).last == version)
    }

    /// Savers in a loop overtake each other many times a second.
    @Test func ofWhatWasOvertakenTheNewestOfAMinuteStays() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        let kept = store.versions.kept
        var last: KeptVersion?
        for number in 0..<50 {
            let copy = try store.copy(of: "doc", "version \(number)")
            last = try kept.keep(copy.file, moving: true, document: place, saver: nil, reason: .overtaken, by: .daemon)
        }
        let other = try kept.keep(
            try store.copy(of: "doc").file, moving: true, document: try #require(StorePath("other")), saver: nil,
            reason: .overtaken, by: .daemon)
        try kept.keep(
            try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .killed(signal: 9), by: .daemon)
        let all = kept.list(for: geteuid())
        let overtaken = all.filter { $0.document == place && $0.reason == .overtaken }
        #expect(overtaken.last == last)
        #expect(Set(overtaken.map { $0.time / 60_000_000_000 }).count == overtaken.count)
        #expect(all.contains(other))
        #expect(all.count == overtaken.count + 2)
        #expect(try store.remounted().kept.list(for: geteuid()) == all)
    }

    @Test func nothingIsKeptForNoTime() throws {
        var limits = KeptVersions.Limits()
        limits.seconds = 0
        let store = try VersionFixture(on: "/tmp", limits: limits)
        try store.write("old", to: "doc")
        let kept = store.versions.kept
        try kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .replaced, by: .daemon)
        #expect(kept.list(for: 0).isEmpty)
        #expect(try store.output("ls -I last ../state/kept") == "")
    }

    @Test func theOldGo() throws {
        var limits = KeptVersions.Limits()
        limits.seconds = 100
        let store = try VersionFixture(on: "/tmp", limits: limits)
        try store.write("old", to: "doc")
        let kept = store.versions.kept
        let version = try kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .removed, by: .daemon)
        kept.prune(now: version.time + 100_000_000_000)
        #expect(kept.list(for: geteuid()) == [version])
        kept.prune(now: version.time + 101_000_000_000)
        #expect(kept.list(for: geteuid()).isEmpty)
        #expect(try store.output("ls -I last ../state/kept") == "")
    }

    @Test func leftoversOfACrashAreRemovedAndDamagedOnesToo() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        for _ in 0..<3 {
            let copy = try store.copy(of: "doc")
            try store.versions.kept.keep(copy.file, moving: true, document: place, saver: nil, reason: .removed, by: .daemon)
        }
        try store.shell("cd ../state/kept; echo x >7; echo x >8.part; rm 2; sed -i s/removed/overtaken/ 3.about")
        #expect(try store.remounted().kept.list(for: geteuid()).map(\.id) == [1])
        #expect(try store.output("ls ../state/kept") == "1\n1.about")
    }

    @Test(arguments: TestFolder.bases) func contentIsReadInPartsWithoutItsHoles(_ base: String) throws {
        let store = try VersionFixture(on: base)
        try store.write("old", to: "doc")
        let copy = try store.copy(of: "doc", "begin")
        try #require(cl_pwrite(copy.file.number, "end", 3, 10 << 20) == 3)
        try #require(cl_ftruncate(copy.file.number, 20 << 20) == 0)
        let kept = store.versions.kept
        let id = try kept.keep(copy.file, moving: true, document: place, saver: nil, reason: .removed, by: .daemon).id
        let uid = geteuid()
        #expect(try kept.read(id, at: 0, count: 3, for: uid) == .init(offset: 0, bytes: Array("beg".utf8)))
        #expect(try kept.read(id, at: 3, count: 2, for: uid) == .init(offset: 3, bytes: Array("in".utf8)))
        let second = try kept.read(id, at: 1 << 20, count: 100, for: uid)
        #expect(second.offset > 9 << 20 && second.offset <= 10 << 20)
        let end = try kept.read(id, at: 10 << 20, count: 3, for: uid)
        #expect(end == .init(offset: 10 << 20, bytes: Array("end".utf8)))
        for offset in [15 << 20, 20 << 20, Int64.max] as [Int64] {
            #expect(try kept.read(id, at: offset, count: 10, for: uid) == .init(offset: 20 << 20, bytes: []))
        }
        expectErrno(.invalidArgument) { try kept.read(id, at: -1, count: 10, for: uid) }
        expectErrno(.noSuchFileOrDirectory) { try kept.read(99, at: 0, count: 10, for: uid) }
    }

    /// Who may write others' documents fills only their own share of what is kept.
    @Test func whatAnotherUserSavedPushesOutNothingOfTheOwners() throws {
        var limits = KeptVersions.Limits()
        limits.bytes = 4 * 8_192
        let store = try VersionFixture(on: "/tmp", limits: limits)
        let versions = store.versions
        try store.write("content", to: "doc")
        let document = try Descriptor(opening: store.path + "/doc", flags: O_RDONLY)
        let own = KeptVersion.Saver(pid: 1, name: "own", uid: 61_001), others = KeptVersion.Saver(pid: 2, name: "other", uid: 61_002)
        let first = try versions.kept.keep(
            document, moving: false, document: place, saver: own, reason: .killed(signal: 9), by: .daemon)
        for _ in 0..<20 {
            try versions.kept.keep(document, moving: false, document: place, saver: others, reason: .killed(signal: 9), by: .daemon)
        }
        #expect(versions.kept.list(for: 0).contains { $0.id == first.id })
        #expect(versions.kept.list(for: 0).count == 4)
    }

}
