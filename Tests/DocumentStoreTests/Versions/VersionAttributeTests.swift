import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage
import Testing

struct VersionAttributeTests {
    private let document = EntryName("doc")
    /// All that hangs on a document but its content, times and numbers, as text.
    private let shown = "stat -c '%a %u:%g' doc; getfattr -d -m - -e hex doc; lsattr doc; lsattr -p doc"

    /// Things done to a document; with the privilege, as root, those that need it too.
    private static let decorations = [
        "chmod 640 doc", "chmod 1666 doc", "chmod 000 doc; chmod u+w doc", "setfacl -m u:nobody:rw,g:daemon:r doc",
        "setfattr -n user.xdg.tags -v work,urgent doc; setfattr -n user.empty doc",
        "setfattr -n user.large -v $(head -c 900 /dev/zero | tr '\\0' x) doc", "chattr +dA doc",
    ]
    private static let rootDecorations = [
        "chown 1234:4321 doc", "chown 1234 doc; chmod 604 doc; setfacl -m u:4321:w doc", "setfattr -n trusted.t -v x doc",
        "setfattr -n security.test -v x doc",
    ]

    @Test(arguments: VersionSetting.all) func aVersionHasTheAttributesOfTheDocument(_ setting: VersionSetting) throws {
        for decoration in Self.decorations + (isRoot ? Self.rootDecorations : []) {
            let store = try VersionFixture(on: setting.base)
            try store.write("old", to: "doc")
            try #require(try store.shell(decoration) == 0, "\(decoration)")
            let before = try store.output(shown)
            let copy = try store.copy(of: "doc", unnamed: setting.unnamed)
            try copy.publishFully(as: document, in: store.root)
            #expect(try store.output(shown) == before, "\(decoration)")
        }
    }

    @Test(arguments: VersionSetting.all) func whatAFolderHandsDownIsNotGiven(_ setting: VersionSetting) throws {
        for inherited in ["setfacl -d -m u:nobody:rwx .", "chattr +dA .", isRoot ? "chgrp 4321 .; chmod g+s ." : "true"] {
            let store = try VersionFixture(on: setting.base)
            try store.write("old", to: "doc")
            let before = try store.output(shown)
            try #require(try store.shell(inherited) == 0)
            try store.copy(of: "doc", unnamed: setting.unnamed).publishFully(as: document, in: store.root)
            #expect(try store.output(shown) == before, "\(inherited)")
        }
    }

    @Test(arguments: TestFolder.bases) func setIDBitsAndCapabilitiesGoAsWithAnyWrite(_ base: String) throws {
        let store = try VersionFixture(on: base)
        try store.write("old", to: "doc")
        try store.shell("chmod 6755 doc")
        if isRoot {
            try #require(try store.shell("setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 doc") == 0)
        }
        try store.copy(of: "doc").publishFully(as: document, in: store.root)
        #expect(try store.status("doc").st.st_mode & 0o7777 == 0o755)
        #expect(try store.output("getfattr -d -m - doc") == "")
    }

    @Test func theUmaskDoesNotMatter() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        try store.shell("chmod 666 doc")
        try store.copy(of: "doc").publishFully(as: document, in: store.root)
        #expect(try store.status("doc").st.st_mode & 0o7777 == 0o666)
    }

    @Test func aDocumentThatCannotBeReplacedIsRefused() throws {
        guard isRoot else { return }
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        let file = try Descriptor(opening: store.path + "/doc", flags: O_WRONLY)
        try #require(try store.shell("chattr +a doc") == 0)
        defer { _ = try? store.shell("chattr -a doc") }
        #expect(throws: WorkingCopyRefusal.attribute(AttributeFailure(.flags, .notPermitted))) {
            try store.versions.workingCopy(of: file, in: store.root, by: .daemon)
        }
    }

    @Test(arguments: [("chown 0:65534 doc", AttributeFailure.Kind.owner), ("chown 65534:0 doc", .owner)])
    func anOwnerThatCannotBeGivenIsARefusal(_ change: String, _ kind: AttributeFailure.Kind) throws {
        guard isRoot else { return }
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        try store.shell("chmod 777 .; chmod 666 doc; \(change)")
        let file = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        let versions = store.versions, root = store.root
        let refusal = try OtherUser.run { () -> WorkingCopyRefusal? in
            do throws(WorkingCopyRefusal) {
                _ = try versions.workingCopy(of: file, in: root, by: .daemon)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal == .attribute(AttributeFailure(kind, .notPermitted)))
    }

    @Test func aFolderThatTakesNoFileIsARefusal() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        try store.shell("chmod 755 .; chmod 666 doc")
        let file = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        let versions = store.versions, root = store.root
        guard isRoot else { return }
        let refusal = try OtherUser.run { () -> WorkingCopyRefusal? in
            do throws(WorkingCopyRefusal) {
                _ = try versions.workingCopy(of: file, in: root, by: .daemon)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal == .unmade(.permissionDenied))
    }

    @Test(.enabled(if: cl_has_capability(Int32(CL_CAP_SYS_ADMIN)) != 0)) func noRoomForTwoVersionsIsARefusal() throws {
        let store = try VersionFixture(on: "/tmp")
        try #require(try store.test.shell("mount -t tmpfs -o size=1m none store") == 0)
        defer { _ = try? store.test.shell("umount -l store") }
        let root = try Descriptor(opening: store.path, flags: CL_O_PATH | O_DIRECTORY)
        try store.shell("head -c 600000 /dev/zero >doc")
        let file = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        #expect(throws: WorkingCopyRefusal.room) { try store.versions.workingCopy(of: file, in: root, by: .daemon) }
        try store.shell("truncate -s 300000 doc")
        _ = try store.versions.workingCopy(of: file, in: root, by: .daemon)
    }

    // What others change meanwhile.

    private static let changes = [
        "chmod 751 doc", "setfattr -n user.xdg.tags -v urgent doc", "setfattr -x user.comment doc", "setfacl -m u:nobody:rwx doc",
        "chattr +A doc", "chmod 711 doc; setfattr -n user.comment -v other doc; setfattr -n user.third -v 3 doc",
    ]

    @Test(arguments: VersionSetting.all) func whatOthersChangeDuringASaveIsKept(_ setting: VersionSetting) throws {
        for change in Self.changes + (isRoot ? ["chown 1234:4321 doc", "setfattr -n trusted.t -v x doc"] : []) {
            // Both when the document was made just now and when it is old: its change time may or may not tell.
            for pause in [0, 30_000] {
                let store = try VersionFixture(on: setting.base)
                try store.write("old", to: "doc")
                try store.shell("setfattr -n user.comment -v mine doc")
                usleep(UInt32(pause))
                let copy = try store.copy(of: "doc", unnamed: setting.unnamed)
                try #require(try store.shell(change) == 0)
                let changed = try store.output(shown)
                try copy.publishFully(as: document, in: store.root)
                #expect(try store.output(shown) == changed, "\(change)")
                #expect(try store.read("doc") == "new")
            }
        }
    }

    /// As a plain file keeps them, unless it is written once more.
    @Test func timesSetAfterTheLastWriteAreKept() throws {
        let store = try VersionFixture(on: "/tmp")
        for (isWrittenAfterwards, pause) in [(false, 0), (true, 0), (false, 80_000), (true, 80_000)] {
            try store.write("old", to: "doc")
            let copy = try store.copy(of: "doc")
            usleep(20_000)
            let old = try Descriptor(opening: store.path + "/doc", flags: O_WRONLY)
            _ = try check(cl_futimens(old.number, [timespec(tv_sec: 1_000, tv_nsec: 1), timespec(tv_sec: 2_000, tv_nsec: 2)]))
            let times = SetTimes(try store.status("doc"), accessed: true, modified: 5).after(lastWrite: isWrittenAfterwards ? 6 : 4)
            usleep(20_000)
            if isWrittenAfterwards { try store.put("more", into: copy) }
            usleep(UInt32(pause))
            try copy.writeOut()
            try copy.publish(as: document, in: store.root, times)
            let status = try store.status("doc").st
            #expect(status.st_atim.tv_sec == 1_000)
            #expect((status.st_mtim.tv_sec == 2_000) == !isWrittenAfterwards)
        }
    }

    @Test func aChangeInTheSameTickAsTheBeginningIsSeen() throws {
        let store = try VersionFixture(on: "/tmp")
        for _ in 0..<50 {
            try store.write("old", to: "doc")
            let copy = try store.copy(of: "doc")
            let old = try Descriptor(opening: store.path + "/doc", flags: O_WRONLY)
            _ = try check(cl_fsetxattr(old.number, "user.xdg.tags", "x", 1, 0))
            try copy.publishFully(as: document, in: store.root)
            var value: UInt8 = 0
            let new = try Descriptor(opening: store.path + "/doc", flags: O_RDONLY)
            #expect(cl_fgetxattr(new.number, "user.xdg.tags", &value, 1) == 1)
        }
    }

    @Test func whereBothChangedTheSameTheSaversOwnStays() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        try store.shell("chmod 644 doc; setfattr -n user.a -v base doc; setfattr -n user.b -v base doc")
        let copy = try store.copy(of: "doc")
        _ = try check(cl_fchmod(copy.file.number, 0o600))
        _ = try check(cl_fsetxattr(copy.file.number, "user.a", "own", 3, 0))
        try store.shell("chmod 666 doc; setfattr -n user.a -v theirs doc; setfattr -n user.b -v theirs doc")
        try copy.publishFully(as: document, in: store.root)
        #expect(try store.output("stat -c %a doc; getfattr --only-values -n user.a doc; getfattr --only-values -n user.b doc")
            == "600\nowntheirs")
    }

    @Test func whatAVersionPublishedSinceWasGivenIsKeptToo() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        let later = try store.copy(of: "doc", "later")
        let sooner = try store.copy(of: "doc", "sooner")
        try sooner.publishFully(as: document, in: store.root)
        try store.shell("chmod 750 doc; setfattr -n user.xdg.tags -v work doc")
        try later.publishFully(as: document, in: store.root, replacing: sooner.identity)
        #expect(try store.output("cat doc; stat -c ' %a' doc; getfattr --only-values -n user.xdg.tags doc") == "later 750\nwork")
    }
}
