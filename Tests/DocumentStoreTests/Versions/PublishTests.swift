import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage
import Testing

struct PublishTests {
    private let document = EntryName("doc")

    @Test(arguments: VersionSetting.all)
    func thePublishedVersionTakesTheNameAndTheOldOneStaysWithWhoHasItOpen(_ setting: VersionSetting) throws {
        let store = try VersionFixture(on: setting.base)
        try store.write("old", to: "doc")
        let before = try store.identity("doc")
        let reader = try Descriptor(opening: store.path + "/doc", flags: O_RDONLY)
        let copy = try store.copy(of: "doc", "the new one", unnamed: setting.unnamed)
        #expect(try store.read("doc") == "old")
        #expect(try store.names.count == (setting.unnamed ? 1 : 2))
        #expect(try store.names.filter { HiddenName.isHidden($0) }.count == (setting.unnamed ? 0 : 1))
        try copy.publishFully(as: document, in: store.root)
        #expect(try store.read("doc") == "the new one")
        #expect(try store.identity("doc") == copy.identity)
        #expect(copy.documentIdentity == before)
        #expect(try store.names == ["doc"])
        var old = [UInt8](repeating: 0, count: 8)
        #expect(cl_pread(reader.number, &old, 8, 0) == 3 && old.starts(with: Array("old".utf8)))
    }

    @Test(arguments: VersionSetting.all)
    func aDiscardedCopyLeavesNothing(_ setting: VersionSetting) throws {
        let store = try VersionFixture(on: setting.base)
        try store.write("old", to: "doc")
        try store.copy(of: "doc", unnamed: setting.unnamed).discard()
        #expect(try store.names == ["doc"])
        #expect(try store.read("doc") == "old")
    }

    @Test(arguments: VersionSetting.all)
    func aNameThatWasRemovedStaysRemoved(_ setting: VersionSetting) throws {
        let store = try VersionFixture(on: setting.base)
        try store.write("old", to: "doc")
        let copy = try store.copy(of: "doc", unnamed: setting.unnamed)
        try store.shell("rm doc")
        #expect(throws: PublishFailure.removed) { try copy.publishFully(as: document, in: store.root) }
        copy.discard()
        #expect(try store.names == [])
    }

    @Test(arguments: VersionSetting.all)
    func aNameGivenToAnotherFileKeepsIt(_ setting: VersionSetting) throws {
        let store = try VersionFixture(on: setting.base)
        try store.write("old", to: "doc")
        let copy = try store.copy(of: "doc", unnamed: setting.unnamed)
        try store.shell("echo other >x; mv x doc")
        #expect(throws: PublishFailure.replaced) { try copy.publishFully(as: document, in: store.root) }
        copy.discard()
        #expect(try store.read("doc") == "other\n")
        #expect(try store.names == ["doc"])
        // Known to be the newest version, as the one of a save that ended first, it is replaced.
        let later = try store.copy(of: "doc", "later", unnamed: setting.unnamed)
        let sooner = try store.copy(of: "doc", "sooner", unnamed: setting.unnamed)
        try sooner.publishFully(as: document, in: store.root)
        try later.publishFully(as: document, in: store.root, replacing: sooner.identity)
        #expect(try store.read("doc") == "later")
    }

    @Test func aDocumentWithASecondNameIsNotReplaced() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        let copy = try store.copy(of: "doc")
        try store.shell("ln doc doc2")
        #expect(throws: PublishFailure.linked) { try copy.publishFully(as: document, in: store.root) }
        #expect(try store.identity("doc") == store.identity("doc2"))
        #expect(try store.names == ["doc", "doc2"])
    }

    @Test(arguments: VersionSetting.all)
    func aDocumentThatWasMovedIsPublishedAtItsNewPlace(_ setting: VersionSetting) throws {
        let store = try VersionFixture(on: setting.base)
        try store.write("old", to: "doc")
        let copy = try store.copy(of: "doc", unnamed: setting.unnamed)
        try store.shell("mkdir sub; mv doc sub/moved")
        let folder = try Descriptor(opening: store.path + "/sub", flags: CL_O_PATH | O_DIRECTORY)
        try copy.publishFully(as: EntryName("moved"), in: folder)
        #expect(try store.read("sub/moved") == "new")
        #expect(try store.names == ["sub"])
        #expect(try store.output("ls -A sub") == "moved")
    }

    @Test(.enabled(if: isRoot)) func aPublishThatFailsLeavesTheDocumentAndNoHiddenName() throws {
        let store = try VersionFixture(on: "/tmp")
        try store.write("old", to: "doc")
        let copy = try store.copy(of: "doc")
        try #require(try store.shell("chattr +i doc") == 0)
        defer { _ = try? store.shell("chattr -i doc") }
        #expect(throws: PublishFailure.nameRefused) { try copy.publishFully(as: document, in: store.root) }
        #expect(try store.names == ["doc"])
        #expect(try store.read("doc") == "old")
    }

    @Test(arguments: TestFolder.bases) func publishingDurablyPublishes(_ base: String) throws {
        let store = try VersionFixture(on: base)
        try store.write("old", to: "doc")
        try store.copy(of: "doc").publishFully(as: document, in: store.root, durably: true)
        #expect(try store.read("doc") == "new")
    }

    @Test(.enabled(if: cl_has_capability(Int32(CL_CAP_SYS_ADMIN)) != 0))
    func aFileSystemWithoutAttributesFlagsAndHolesWillDo() throws {
        let store = try VersionFixture(on: "/tmp")
        try #require(try store.test.shell("mount -t ramfs none store") == 0)
        defer { _ = try? store.test.shell("umount -l store") }
        let root = try Descriptor(opening: store.path, flags: CL_O_PATH | O_DIRECTORY)
        try store.write(String(repeating: "old", count: 10_000), to: "doc")
        let document = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
        for (isInPlace, text) in [(false, "published"), (true, "in place")] {
            let copy = try store.versions.workingCopy(of: document, in: root, by: .daemon)
            try store.put(text, into: copy)
            if isInPlace {
                let current = try Descriptor(opening: store.path + "/doc", flags: O_RDWR)
                try copy.publishInPlace(at: StorePath("doc")!, in: root, into: current)
            } else {
                try copy.publishFully(as: self.document, in: root)
            }
            #expect(try store.output("cat doc; ls -A | wc -l") == text + "1")
        }
    }

    @Test func aLatePublicationIsSeenByItsTime() throws {
        let store = try VersionFixture(on: "/tmp")
        for (pause, keeping, isNow) in [(0, false, false), (80_000, false, true), (80_000, true, false)] {
            try store.write("old", to: "doc")
            let copy = try store.copy(of: "doc")
            var written = cl_status()
            _ = try check(cl_statx_fd(copy.file.number, &written))
            usleep(UInt32(pause))
            let start = cl_realtime_coarse_ns()
            try copy.publishFully(as: document, in: store.root, keepingTimes: keeping)
            let modified = saturatedNanoseconds(try store.status("doc").st.st_mtim)
            if isNow {
                #expect(modified >= start)
            } else {
                #expect(modified == saturatedNanoseconds(written.st.st_mtim))
            }
        }
    }

    @Test func manySaversOfOneDocumentLeaveNothingButTheDocument() async throws {
        let store = try VersionFixture(on: "/dev/shm")
        try store.write("old", to: "doc")
        let versions = store.versions, root = store.root
        let path = store.path
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    for _ in 0..<200 {
                        guard let document = try? Descriptor(opening: path + "/doc", flags: O_WRONLY),
                            let copy = try? versions.workingCopy(of: document, in: root, by: .daemon)
                        else { continue }
                        let text = [UInt8](repeating: UInt8(ascii: "a") + UInt8(number), count: 1_000)
                        _ = cl_pwrite(copy.file.number, text, text.count, 0)
                        do { try copy.publishFully(as: EntryName("doc"), in: root) } catch { copy.discard() }
                    }
                }
            }
        }
        let content = try store.bytes("doc")
        #expect(content.count == 1_000 && Set(content).count == 1)
        #expect(try store.names == ["doc"])
    }
}
