import CLinux
import DocumentStore
import Foundation
import Glibc
import StorePrimitives
import SystemPackage
import Testing

struct StoreScanTests {
    private static func scan(
        _ folder: TestFolder, from start: StorePath = .root
    ) throws -> ([FileFacts], StoreScan.Counts) {
        let scan = StoreScan(folder.store, startingAt: start)
        var all: [FileFacts] = []
        let finished = try scan.run(lowPriority: false) { batch in
            all.append(contentsOf: batch)
            return true
        }
        #expect(finished)
        return (all, scan.counts)
    }

    @Test(arguments: TestFolder.bases)
    func everyRegularFileIsHandedOverOnce(_ base: String) throws {
        let folder = try TestFolder(on: base)
        try folder.shell("mkdir -p a/b c; touch one a/two a/b/three; ln -s one link; mkfifo pipe; ln -s a folder-link")
        let (facts, counts) = try Self.scan(folder)
        #expect(facts.map(\.path.description).sorted() == ["a/b/three", "a/two", "one"])
        #expect(counts == StoreScan.Counts(folders: 4, documents: 3, skipped: 0))
    }

    @Test(arguments: TestFolder.bases)
    func factsAreThoseOfTheFile(_ base: String) throws {
        let folder = try TestFolder(on: base)
        try folder.write("twelve bytes", to: "file")
        try folder.shell("touch -d '2001-02-03 04:05:06.123456789 UTC' file")
        let supported = try XattrSupport.probe(folder.root)
        if supported {
            let tags = Array("urgent, work".utf8)
            #expect(cl_setxattr("\(folder.path)/file", "user.xdg.tags", tags, tags.count, 0) == 0)
        }
        let facts = try #require(try FileFacts.read(in: folder.root, name: EntryName("file"), path: StorePath("file")!))
        #expect(facts.path == StorePath("file"))
        #expect(facts.identity == (try folder.identity(of: "file")))
        #expect(facts.size == 12)
        #expect(facts.modified == 981_173_106_123_456_789)
        #expect(facts.tagsValue == (supported ? Array("urgent, work".utf8) : nil))
        #expect(try Self.scan(folder).0 == [facts])
        if cl_has_capability(Int32(CL_CAP_DAC_READ_SEARCH)) != 0 {
            let root = try Descriptor(opening: folder.path, flags: O_RDONLY | O_DIRECTORY)
            let reopened = cl_open_by_handle(root.number, facts.handle, facts.handle.count, CL_O_PATH)
            let file = Descriptor(owning: try check(reopened))
            var status = cl_status()
            #expect(cl_statx_fd(file.number, &status) == 0)
            #expect(FileIdentity(status) == facts.identity)
        }
    }

    @Test func tagsLongerThanUsualAreReadWhole() throws {
        let folder = try TestFolder()
        try folder.write("", to: "file")
        let tags = [UInt8](repeating: UInt8(ascii: "t"), count: 3_000)
        #expect(cl_setxattr("\(folder.path)/file", "user.xdg.tags", tags, tags.count, 0) == 0)
        #expect(try Self.scan(folder).0.first?.tagsValue == tags)
    }

    @Test func onlyRegularFilesHaveFacts() throws {
        let folder = try TestFolder()
        try folder.shell("mkdir folder; ln -s x link")
        #expect(try FileFacts.read(in: folder.root, name: EntryName("folder"), path: .root) == nil)
        #expect(try FileFacts.read(in: folder.root, name: EntryName("link"), path: .root) == nil)
        #expect(throws: Errno.noSuchFileOrDirectory) {
            try FileFacts.read(in: folder.root, name: EntryName("missing"), path: .root)
        }
    }

    @Test func aFolderOfTheStoreCanBeScannedAlone() throws {
        let folder = try TestFolder()
        try folder.shell("mkdir -p a/b c; touch a/one a/b/two c/three")
        let (facts, _) = try Self.scan(folder, from: try #require(StorePath("a")))
        #expect(facts.map(\.path.description).sorted() == ["a/b/two", "a/one"])
        #expect(throws: Errno.noSuchFileOrDirectory) { try Self.scan(folder, from: StorePath("missing")!) }
    }

    @Test func batchesHoldAsManyAsAskedAndMayStopTheScan() throws {
        let folder = try TestFolder()
        try folder.shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do touch file-$i; done")
        var sizes: [Int] = []
        let whole = StoreScan(folder.store, batchSize: 5)
        let finished = try whole.run(lowPriority: false) { batch in
            sizes.append(batch.count)
            return true
        }
        #expect(finished)
        #expect(sizes == [5, 5, 2])
        sizes = []
        let stopped = StoreScan(folder.store, batchSize: 5)
        let finishedToo = try stopped.run(lowPriority: false) { batch in
            sizes.append(batch.count)
            return false
        }
        #expect(!finishedToo)
        #expect(sizes == [5])
        #expect(stopped.counts.documents == 5)
    }

    @Test(arguments: TestFolder.bases)
    func aTreeOfAThousandLevelsIsScannedWithFewDescriptors(_ base: String) throws {
        let folder = try TestFolder(on: base)
        // Every level has a side branch, which is visited on the way back up, when the level is long closed.
        var level = folder.root
        let levels = 1_000
        for _ in 0..<levels {
            for name in ["de", "si"] { #expect(cl_mkdirat(level.number, name, 0o755) == 0) }
            _ = try Descriptor(opening: "si/file", in: level, flags: O_WRONLY | O_CREAT, mode: 0o644)
            level = try Descriptor(opening: "de", in: level, flags: CL_O_PATH)
        }
        var most = 0
        let scan = StoreScan(folder.store, batchSize: 10)
        _ = try scan.run(lowPriority: false) { _ in
            most = max(most, Self.descriptors(in: folder))
            return true
        }
        #expect(scan.counts == StoreScan.Counts(folders: 2 * levels + 1, documents: levels, skipped: 0))
        #expect(most < 200)
    }

    @Test func whatHasNoPathIsLeftOut() throws {
        let folder = try TestFolder()
        var level = folder.root
        let name = String(repeating: "n", count: 255)
        for _ in 0..<20 {
            #expect(cl_mkdirat(level.number, name, 0o755) == 0)
            _ = try Descriptor(opening: "file", in: level, flags: O_WRONLY | O_CREAT, mode: 0o644)
            level = try Descriptor(opening: name, in: level, flags: CL_O_PATH)
        }
        var longest = 0
        let scan = StoreScan(folder.store)
        _ = try scan.run(lowPriority: false) { batch in
            longest = max(longest, batch.map { $0.path.bytes.count }.max() ?? 0)
            return true
        }
        // 16 names of 256 bytes with their slashes would be a path of 4,095; the file in there has none.
        #expect(scan.counts == StoreScan.Counts(folders: 17, documents: 16, skipped: 2))
        #expect(longest <= StorePath.longest)
    }

    /// How many of this process's descriptors lead into a folder. Other tests run beside this one and have their own.
    private static func descriptors(in folder: TestFolder) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.count { name in
            var path = [CChar](repeating: 0, count: Int(PATH_MAX))
            let length = readlink("/proc/self/fd/" + name, &path, path.count)
            // So deep that the path cannot be told: then by the file system, of which each run of the test has its own.
            if length < 0 { return errno == ENAMETOOLONG && device(of: Int32(name)!) == device(of: folder.root.number) }
            return path.prefix(length).starts(with: folder.path.utf8.map { CChar(bitPattern: $0) })
        }
    }

    private static func device(of descriptor: Int32) -> dev_t? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_dev : nil
    }

    @Test func filesThatComeAndGoWhileWalkingDoNotDisturb() throws {
        let folder = try TestFolder()
        try folder.shell("for a in 1 2 3 4 5 6 7 8 9; do mkdir $a; touch $a/stays; done")
        let stop = folder.path + "/stop"
        let busy = Thread {
            _ = try? folder.shell(
                """
                while [ ! -e '\(stop)' ]; do
                    for a in 1 2 3 4 5 6 7 8 9; do mkdir -p $a/t; touch $a/t/x $a/y; rm -r $a/t $a/y; done
                done
                """)
        }
        busy.start()
        for _ in 0..<100 {
            let (facts, _) = try Self.scan(folder)
            #expect(facts.count { $0.path.lastName == EntryName("stays") } == 9)
        }
        try folder.write("", to: "stop")
        while busy.isExecuting { usleep(1_000) }
    }

    @Test func anUnreadableFolderIsSkippedAndCounted() throws {
        let folder = try TestFolder()
        try folder.shell("mkdir open closed; touch open/file closed/file; chmod 000 closed; chmod 755 .")
        guard getuid() == 0 else {
            let (facts, counts) = try Self.scan(folder)
            #expect(facts.map(\.path.description) == ["open/file"])
            #expect(counts.skipped == 1)
            return
        }
        // Root may read everything: another user's rights for this thread.
        let result = try OtherUser.run { try Self.scan(folder) }
        #expect(result.0.map(\.path.description) == ["open/file"])
        #expect(result.1 == StoreScan.Counts(folders: 2, documents: 1, skipped: 1))
    }

    @Test func namesThatAreNotTextAreScanned() throws {
        let folder = try TestFolder()
        try folder.shell(#"touch "$(printf '\377\nx')""#)
        #expect(try Self.scan(folder).0.map(\.path.bytes) == [[0xFF, 0x0A, 0x78]])
    }

    @Test func probingForXattrsLeavesNothingBehind() throws {
        let folder = try TestFolder()
        #expect(try XattrSupport.probe(folder.root))
        #expect(cl_attribute_list_size(folder.root.number, ".") == 0)
        let without = try Descriptor(opening: "/proc", flags: O_RDONLY | O_DIRECTORY)
        #expect(try !XattrSupport.probe(without))
    }
}
