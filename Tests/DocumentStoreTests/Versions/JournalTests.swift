import CLinux
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage
import Testing

/// Stores on file systems of the test's own, in image files: mounting needs privilege.
@Suite(.serialized, .enabled(if: cl_has_capability(Int32(CL_CAP_SYS_ADMIN)) != 0)) struct JournalTests {
    enum Kind: String, CaseIterable { case ext4, xfs }

    /// A file system in `NAME.img`, mounted at `NAME`.
    private final class Image {
        private let folder: TestFolder
        private let name: String

        init(_ folder: TestFolder, _ name: String, _ kind: Kind, making: String? = nil) throws {
            self.folder = folder
            self.name = name
            let force = kind == .xfs ? "-f" : "-F"
            let making = making.map { "truncate -s 400M \(name).img; mkfs.\(kind) -q \(force) \($0) \(name).img" } ?? "true"
            let options = kind == .xfs ? "loop,nouuid" : "loop"
            try #require(try folder.shell("\(making); mkdir -p \(name); mount -o \(options) \(name).img \(name)") == 0)
        }

        deinit { _ = try? folder.shell("umount -l \(name)") }
    }

    private enum Writing: CaseIterable { case plainly, reservingFirst, onceMore }

    /// The device's content straight after another file's fsync is what a power cut leaves at the worst moment: the rename is
    /// on disk. The file system's own rule for renames leaves zeros or half a version then (seen with each of these).
    @Test(arguments: Kind.allCases) func afterAPowerCutAPublishedVersionIsWhole(_ kind: Kind) throws {
        for writing in Writing.allCases {
            let folder = try TestFolder(on: "/dev/shm")
            let image = try Image(folder, "store", kind, making: "")
            try folder.shell("mkdir state; head -c 100000 /dev/zero | tr '\\0' o >store/doc; sync -f store")
            let root = try Descriptor(opening: folder.path + "/store", flags: CL_O_PATH | O_DIRECTORY)
            let versions = try VersionStore(SharedStore(root), stateFolder: folder.path + "/state")
            let document = try Descriptor(opening: folder.path + "/store/doc", flags: O_WRONLY)
            let copy = try versions.workingCopy(of: document, in: root, by: .daemon)
            let new = [UInt8](repeating: UInt8(ascii: "n"), count: 200_000)
            if writing == .reservingFirst { _ = try check(cl_fallocate(copy.file.number, 0, 0, off_t(new.count))) }
            if writing == .onceMore {
                let draft = [UInt8](repeating: UInt8(ascii: "d"), count: new.count)
                _ = try check(cl_pwrite(copy.file.number, draft, draft.count, 0))
                _ = try check(cl_fsync(copy.file.number, 0))
            }
            _ = try check(cl_pwrite(copy.file.number, new, new.count, 0))
            try copy.publishFully(as: EntryName("doc"), in: root)
            let other = try Descriptor(opening: folder.path + "/store/other", flags: O_WRONLY | O_CREAT, mode: 0o644)
            _ = try check(cl_pwrite(other.number, "x", 1, 0))
            _ = try check(cl_fsync(other.number, 0))
            try folder.shell("cp store.img after.img")
            let after = try Image(folder, "after", kind)
            let isWhole = "[ $(stat -c %s after/doc) = 200000 ]; [ $(tr -d n <after/doc | wc -c) = 0 ]"
            #expect(try folder.shell(isWhole) == 0, "\(writing)")
            withExtendedLifetime((image, after)) {}
        }
    }

    @Test func aVersionBelongsToTheProjectOfItsDocument() throws {
        let folder = try TestFolder(on: "/dev/shm")
        let image = try Image(folder, "store", .xfs, making: "")
        try folder.shell("mkdir state; cd store; echo old >doc; chattr -p 77 doc; mkdir other; chattr -p 55 other; chattr +P other")
        let root = try Descriptor(opening: folder.path + "/store", flags: CL_O_PATH | O_DIRECTORY)
        let versions = try VersionStore(SharedStore(root), stateFolder: folder.path + "/state")
        var document = try Descriptor(opening: folder.path + "/store/doc", flags: O_WRONLY)
        try versions.workingCopy(of: document, in: root, by: .daemon).publishFully(as: EntryName("doc"), in: root)
        #expect(try folder.shell("[ \"$(lsattr -p store/doc | awk '{print $1}')\" = 77 ]") == 0)
        // A folder that hands its project down takes no file of another.
        try folder.shell("cd store/other; echo old >doc; chattr -p 66 doc")
        let other = try Descriptor(opening: folder.path + "/store/other", flags: CL_O_PATH | O_DIRECTORY)
        document = try Descriptor(opening: folder.path + "/store/other/doc", flags: O_WRONLY)
        #expect(throws: WorkingCopyRefusal.attribute(AttributeFailure(.project, .improperLink))) {
            try versions.workingCopy(of: document, in: other, by: .daemon)
        }
        try folder.shell("chattr -p 55 store/other/doc")
        try versions.workingCopy(of: document, in: other, by: .daemon).publishFully(as: EntryName("doc"), in: other)
        #expect(try folder.shell("[ \"$(lsattr -p store/other/doc | awk '{print $1}')\" = 55 ]") == 0)
        withExtendedLifetime(image) {}
    }

    @Test func noInodesLeftIsNoRoom() throws {
        let folder = try TestFolder(on: "/dev/shm")
        let image = try Image(folder, "store", .ext4, making: "-N 16")
        try folder.shell("mkdir state; echo old >store/doc; cd store; i=0; while touch f$i 2>&-; do i=$((i+1)); done")
        let root = try Descriptor(opening: folder.path + "/store", flags: CL_O_PATH | O_DIRECTORY)
        let versions = try VersionStore(SharedStore(root), stateFolder: folder.path + "/state")
        let document = try Descriptor(opening: folder.path + "/store/doc", flags: O_WRONLY)
        #expect(throws: WorkingCopyRefusal.room) { try versions.workingCopy(of: document, in: root, by: .daemon) }
        try folder.shell("rm store/f0")
        try versions.workingCopy(of: document, in: root, by: .daemon).publishFully(as: EntryName("doc"), in: root)
        withExtendedLifetime(image) {}
    }
}

struct FileSystemTraitsTests {
    @Test func whatOrdersNamesAfterDataIsFoundInTheOptions() {
        let journal = "rw\nbsddf\nbarrier\nauto_da_alloc\ndata=ordered\n"
        #expect(FileSystemTraits.hasJournal(Array(journal.utf8)))
        #expect(FileSystemTraits.hasJournal(Array(journal.replacing("ordered", with: "writeback").utf8)))
        #expect(!FileSystemTraits.hasJournal(Array(journal.replacing("data=ordered\n", with: "").utf8)))
        #expect(!FileSystemTraits.hasJournal(Array(journal.replacing("barrier", with: "nobarrier").utf8)))
    }
}
