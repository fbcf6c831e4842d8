import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage
import TestSupport
import Testing

struct KeptVersionsTests {
    private let place = StorePath("sub/my doc\n%")!
    private let saver = KeptVersion.Saver(pid: 42, name: "my editor", uid: 7)

    /// State folder on the store's file system, and on another.
    private static let bases = [("/tmp", "/tmp"), ("/dev/shm", "/dev/shm"), ("/tmp", "/dev/shm"), ("/dev/shm", "/tmp")]

    private func content(_ id: UInt64, _ kept: KeptVersions, _ uid: UInt32 = 0) throws -> String {
        let file = try kept.content(of: id, for: uid)
        var bytes = [UInt8](repeating: 0, count: 100)
        return String(decoding: bytes[..<(try check(cl_pread(file.number, &bytes, 100, 0)))], as: UTF8.self)
    }

    @Test(arguments: bases) func whatIsKeptCanBeReadAfterTheNextMountToo(_ base: String, _ stateBase: String) throws {
        let store = try VersionFixture(on: base)
        let state = try TestFolder(on: stateBase)
        var versions = try VersionStore(root: store.root, stateFolder: state.path)
        try store.write("old", to: "doc")
        try store.shell("chmod 664 doc; setfacl -m u:nobody:rw doc")
        let document = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        let copy = try versions.workingCopy(of: document, in: store.root)
        try store.put("partial", into: copy)
        let reasons: [KeptVersion.Reason] = [
            .killed(signal: 9), .writeError(.noSpace), .publishError(.ioError), .overtaken, .replaced, .removed, .unpublished,
            .unfinished, .edited,
        ]
        for (index, reason) in reasons.enumerated() {
            let version = try versions.kept.keep(
                copy.file, moving: index == 0, document: place, saver: index == 1 ? nil : saver, reason: reason)
            #expect(version.size == 7 && version.hasContent && version.owner == geteuid())
        }
        versions = try VersionStore(root: store.root, stateFolder: state.path)
        let list = versions.kept.list(for: geteuid())
        #expect(list.map(\.reason) == reasons)
        #expect(list.allSatisfy { $0.document == place })
        #expect(list.map(\.saver) == reasons.indices.map { $0 == 1 ? nil : saver })
        for version in list { #expect(try content(version.id, versions.kept, geteuid()) == "partial") }
        #expect(try state.shell("[ $(find kept -type f -perm 600 | wc -l) = 18 ] && ! getfattr -R -d -m - kept | grep -q acl") == 0)
        #expect(try store.names == ["doc"])
    }

    @Test(.enabled(if: isRoot)) func onlyTheOwnerAndRootAreTold() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        try store.shell("chown 1234 doc")
        let copy = try store.copy(of: "doc")
        for moving in [true, false] {
            try store.versions.kept.keep(copy.file, moving: moving, document: place, saver: nil, reason: .overtaken)
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
        let version = try kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .removed)
        try kept.drop(version.id, for: geteuid())
        expectErrno(.noSuchFileOrDirectory) { try kept.drop(version.id, for: geteuid()) }
        #expect(kept.list(for: geteuid()).isEmpty)
        #expect(try store.output("ls ../state/kept") == "")
    }

    @Test func theOldestGoFirstWhenThereIsTooMuch() throws {
        var limits = KeptVersions.Limits()
        limits.bytes = 3 * 4_096
        let store = try VersionFixture(on: "/tmp", limits: limits)
        try store.write("old", to: "doc")
        let kept = store.versions.kept
        for _ in 0..<5 {
            try kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .overtaken)
        }
        #expect(kept.list(for: geteuid()).map(\.id) == [3, 4, 5])
        #expect(try store.output("ls ../state/kept | wc -l") == "6")
        // One that is larger than all may be: only the fact is kept, and the others stay.
        let large = try store.copy(of: "doc", String(repeating: "x", count: 20_000))
        let version = try kept.keep(large.file, moving: true, document: place, saver: saver, reason: .killed(signal: 11))
        #expect(!version.hasContent && version.size == 20_000)
        expectErrno(.fileTooLarge) { try kept.content(of: version.id, for: geteuid()) }
        #expect(kept.list(for: geteuid()).map(\.id) == [3, 4, 5, 6])
        #expect(try store.remounted().kept.list(for: geteuid()).last == version)
    }

    @Test func theOldGo() throws {
        var limits = KeptVersions.Limits()
        limits.seconds = 100
        let store = try VersionFixture(on: "/tmp", limits: limits)
        try store.write("old", to: "doc")
        let kept = store.versions.kept
        let version = try kept.keep(try store.copy(of: "doc").file, moving: true, document: place, saver: nil, reason: .removed)
        kept.prune(now: version.time + 100_000_000_000)
        #expect(kept.list(for: geteuid()) == [version])
        kept.prune(now: version.time + 101_000_000_000)
        #expect(kept.list(for: geteuid()).isEmpty)
        #expect(try store.output("ls ../state/kept") == "")
    }

    @Test func leftoversOfACrashAreRemovedAndDamagedOnesToo() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        for _ in 0..<3 {
            let copy = try store.copy(of: "doc")
            try store.versions.kept.keep(copy.file, moving: true, document: place, saver: nil, reason: .removed)
        }
        try store.shell("cd ../state/kept; echo x >7; echo x >8.part; rm 2; sed -i s/removed/overtaken/ 3.about")
        #expect(try store.remounted().kept.list(for: geteuid()).map(\.id) == [1])
        #expect(try store.output("ls ../state/kept") == "1\n1.about")
    }

    @Test(arguments: TestFolder.bases) func restoringReplacesTheDocumentAsASaveDoes(_ base: String) throws {
        let store = try VersionFixture(on: base)
        try store.write("old", to: "doc")
        let kept = store.versions.kept
        let copy = try store.copy(of: "doc", "partial")
        let version = try kept.keep(copy.file, moving: true, document: place, saver: nil, reason: .removed)
        try store.shell("chmod 640 doc; setfattr -n user.xdg.tags -v work doc")
        let reader = try Descriptor(opening: store.path + "/doc", flags: O_RDONLY)
        try store.versions.restore(version.id, for: geteuid(), as: EntryName("doc"), in: store.root)
        #expect(try store.output("cat doc; stat -c ' %a' doc; getfattr --only-values -n user.xdg.tags doc") == "partial 640\nwork")
        var old = [UInt8](repeating: 0, count: 8)
        #expect(cl_pread(reader.number, &old, 8, 0) == 3)
        // Still there, and where nothing stands it is made anew.
        try store.shell("rm doc")
        try store.versions.restore(version.id, for: geteuid(), as: EntryName("anew"), in: store.root)
        #expect(try store.output("cat anew; stat -c ' %a %u' anew") == "partial 644 \(geteuid())")
        #expect(try store.names == ["anew"])
        try store.shell("mkfifo pipe; ln -s anew link")
        for name in ["pipe", "link"] {
            expectErrno(.invalidArgument) {
                try store.versions.restore(version.id, for: geteuid(), as: EntryName(name), in: store.root)
            }
        }
        expectErrno(.noSuchFileOrDirectory) {
            try store.versions.restore(99, for: geteuid(), as: EntryName("anew"), in: store.root)
        }
    }
}
