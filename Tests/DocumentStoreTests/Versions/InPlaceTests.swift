import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage
import Testing

struct InPlaceTests {
    private let place = StorePath("doc")!

    @Test(arguments: VersionSetting.all) func theContentGoesIntoTheDocumentsOwnInode(_ setting: VersionSetting) throws {
        for (old, new) in [("old", "the longer one"), ("the longer one", "new"), ("same", "size"), ("old", "")] {
            let store = try VersionFixture(on: setting.base)
            try store.write(old, to: "doc")
            try store.shell("ln doc doc2")
            let before = try store.identity("doc")
            let copy = try store.copy(of: "doc", new, unnamed: setting.unnamed)
            try copy.publishInPlace(at: place, in: store.root)
            copy.discard()
            #expect(try store.identity("doc") == before)
            #expect(try store.read("doc2") == new)
            #expect(try store.names == ["doc", "doc2"])
            #expect(try store.output("cat ../state/intents") == "")
        }
    }

    @Test(arguments: TestFolder.bases) func holesStayHoles(_ base: String) throws {
        let store = try VersionFixture(on: base)
        try store.shell("head -c 3000000 /dev/urandom >doc")
        let copy = try store.copy(of: "doc", "head")
        let tail = Array("tail".utf8)
        _ = try check(cl_pwrite(copy.file.number, tail, 4, 2_500_000))
        _ = try check(cl_ftruncate(copy.file.number, 4_000_000))
        try copy.publishInPlace(at: place, in: store.root)
        let content = try store.bytes("doc")
        #expect(content.count == 4_000_000)
        #expect(content.starts(with: "head".utf8) && content[2_500_000..<2_500_004].elementsEqual(tail))
        #expect(content.count { $0 != 0 } == 8)
        #expect(try store.status("doc").st.st_blocks * 512 < 100_000)
    }

    @Test func whatTheSaverChangedOfTheAttributesIsDoneToTheDocument() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        try store.shell("setfattr -n user.a -v base doc")
        let copy = try store.copy(of: "doc")
        _ = try check(cl_fchmod(copy.file.number, 0o751))
        _ = try check(cl_fsetxattr(copy.file.number, "user.b", "own", 3, 0))
        try store.shell("setfattr -n user.a -v theirs doc")
        let times = [timespec(tv_sec: 1_000, tv_nsec: 5), timespec(tv_sec: 2_000, tv_nsec: 6)]
        _ = try check(cl_futimens(copy.file.number, times))
        try copy.publishInPlace(at: place, in: store.root, keepingTimes: true)
        #expect(try store.output("stat -c '%a %X %Y' doc; getfattr --only-values -n user.a doc; getfattr --only-values -n user.b doc")
            == "751 1000 2000\ntheirsown")
    }

    @Test func aDocumentWithoutANameIsWrittenToo() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        let open = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        let copy = try store.copy(of: "doc")
        try store.shell("rm doc")
        try copy.publishInPlace(at: place, in: store.root, into: open)
        var content = [UInt8](repeating: 0, count: 8)
        #expect(cl_pread(open.number, &content, 8, 0) == 3 && content.starts(with: "new".utf8))
        #expect(try store.names == [])
    }

    @Test(.enabled(if: cl_has_capability(Int32(CL_CAP_SYS_ADMIN)) != 0))
    func withoutRoomTheDocumentIsNotTouched() throws {
        let store = try VersionFixture(on: "/tmp")
        try #require(try store.test.shell("mount -t tmpfs -o size=1m none store") == 0)
        defer { _ = try? store.test.shell("umount -l store") }
        let root = try Descriptor(opening: store.path, flags: CL_O_PATH | O_DIRECTORY)
        try store.write("old", to: "doc")
        let document = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        let copy = try store.versions.workingCopy(of: document, in: root, by: .daemon)
        let bytes = [UInt8](repeating: 1, count: 600_000)
        _ = try check(cl_pwrite(copy.file.number, bytes, bytes.count, 0))
        #expect(throws: PublishFailure.failed(.noSpace)) { try copy.publishInPlace(at: place, in: root) }
        #expect(try store.output("cat doc ../state/intents; ls -A") == "olddoc")
    }
}
