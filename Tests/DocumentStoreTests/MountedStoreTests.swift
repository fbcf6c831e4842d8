import CLinux
import DocumentStore
import Glibc
import Logging
import StorePrimitives
import SystemPackage
import TestSupport
import Testing

/// Stores with mounts over and inside them. Mounting needs privilege: an ordinary user has no such store to test with.
@Suite(.serialized, .enabled(if: cl_has_capability(Int32(CL_CAP_SYS_ADMIN)) != 0))
struct MountedStoreTests {
    /// Unmounts at the end of a test.
    private final class Mounted {
        private let folder: TestFolder
        private let name: String

        init(_ folder: TestFolder, _ name: String, _ arguments: String = "-t tmpfs none") throws {
            self.folder = folder
            self.name = name
            #expect(try folder.shell("mount \(arguments) '\(folder.path)/\(name)'") == 0)
        }

        deinit { _ = try? folder.shell("umount -l '\(folder.path)/\(name)' 2>&-", in: "/") }
    }

    @Test(arguments: WatchedSetting.all)
    func aStoreCoveredByAMountIsWatchedAllTheSame(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir -p store/sub")
        let root = try Descriptor(opening: "\(folder.path)/store", flags: CL_O_PATH | O_DIRECTORY)
        let recorder = try ChangeRecorder(root, setting.method)
        let mounted = try Mounted(folder, "store")
        try folder.shell("touch \(folder.link(to: root))/sub/beneath; mkdir store/sub; touch store/sub/above")
        _ = try #require(recorder.first { $0.tells(.appeared, "sub/beneath") }, "\(recorder.changes)")
        usleep(50_000)
        #expect(!recorder.changes.contains { $0.name == EntryName("above") })
        withExtendedLifetime(mounted) {}
    }

    @Test(arguments: WatchedSetting.all)
    func fileSystemsMountedInsideAreWatched(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir -p 'early mount' late")
        let early = try Mounted(folder, "early mount")
        try folder.shell("mkdir 'early mount/sub'")
        let recorder = try ChangeRecorder(folder.root, setting.method)
        #expect(recorder.watcher.coverage == .all)
        try folder.shell("touch 'early mount/sub/file'")
        _ = try #require(recorder.first { $0.tells(.appeared, "early mount/sub/file") }, "\(recorder.changes)")

        let late = try Mounted(folder, "late")
        _ = try #require(recorder.first { $0.kind == .overflow }, "what a mount covers or shows is to be looked at again")
        try folder.shell("mkdir late/sub")
        _ = try #require(recorder.first { $0.tells(.appeared, "late/sub") }, "\(recorder.changes)")
        usleep(50_000)
        try folder.shell("touch late/sub/file")
        _ = try #require(recorder.first { $0.tells(.appeared, "late/sub/file") }, "\(recorder.changes)")
        // Without -l: nothing here holds it, but for the moment in which a change is looked at.
        try eventually { try folder.shell("umount late 2>&-") == 0 }
        withExtendedLifetime((early, late)) {}
    }

    @Test(arguments: WatchedSetting.all)
    func aStoreSeenThroughABindMountIsWatched(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        try folder.shell("mkdir -p real/sub bound outside")
        let bound = try Mounted(folder, "bound", "--bind '\(folder.path)/real'")
        let root = try Descriptor(opening: "\(folder.path)/bound", flags: CL_O_PATH | O_DIRECTORY)
        let recorder = try ChangeRecorder(root, setting.method)
        try folder.shell("touch outside/unseen; touch real/sub/file; touch bound/last")
        _ = try #require(recorder.first { $0.tells(.appeared, "last") }, "\(recorder.changes)")
        #expect(recorder.changes.contains { $0.tells(.appeared, "sub/file") }, "\(recorder.changes)")
        #expect(!recorder.changes.contains { $0.name == EntryName("unseen") })
        withExtendedLifetime(bound) {}
    }

    @Test(arguments: WatchedSetting.fanotify)
    func aMountOfOnesOwnIsAStoreToo(_ setting: WatchedSetting) throws {
        let folder = try TestFolder(on: setting.base)
        let elsewhere = try TestFolder(on: setting.base)
        try folder.shell("mkdir sub; touch sub/file")
        let own = Descriptor(owning: try check(cl_clone_mount(folder.root.number, 0)))
        let recorder = try ChangeRecorder(own, .fanotify) { $0.ownMount = own }
        try elsewhere.shell("mkdir sub; touch sub/unseen unseen")
        try folder.shell("echo x >> \(folder.link(to: own))/sub/file; touch marker")
        _ = try #require(recorder.first { $0.tells(.appeared, "marker") }, "\(recorder.changes)")
        #expect(recorder.changes.allSatisfy { $0.name == EntryName("marker") }, "\(recorder.changes)")
        try folder.shell("echo x >> sub/file")
        _ = try #require(recorder.first { $0.tells(.contentChanged, "sub/file") }, "\(recorder.changes)")
    }

    @Test func aBindMountOfTheStoreInsideItselfIsScannedOnce() throws {
        let folder = try TestFolder()
        try folder.shell("mkdir -p a/loop; touch a/file")
        let loop = try Mounted(folder, "a/loop", "--bind '\(folder.path)'")
        let scan = StoreScan(folder.store)
        #expect(try scan.run(lowPriority: false) { _ in true })
        #expect(scan.counts == StoreScan.Counts(folders: 2, documents: 1, skipped: 1))
        withExtendedLifetime(loop) {}
    }

    @Test func aFileSystemWithoutUserXattrsIsRecognised() throws {
        let folder = try TestFolder()
        try folder.shell("mkdir store")
        let mounted = try Mounted(folder, "store", "-t ramfs none")
        let root = try Descriptor(opening: "\(folder.path)/store", flags: CL_O_PATH | O_DIRECTORY)
        #expect(try !XattrSupport.probe(root))
        withExtendedLifetime(mounted) {}
    }
}
