import CLinux
import DocumentStore
import Foundation
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage
import TestSupport
import Testing

@Suite(.serialized, .enabled(if: isRoot)) struct SharedStoreTests {
    /// A file system that never answers, mounted at a place until the object goes.
    private final class Silent {
        private let device: Descriptor
        /// By which it is unmounted, wherever its folder has been moved.
        private let root: Descriptor

        /// - Parameter type: what follows the dot whoever mounts it may choose.
        init(at place: String, type: String = "fuse.silent") throws {
            device = try Descriptor(opening: "/dev/fuse", flags: O_RDWR)
            let options = "fd=\(device.number),rootmode=40000,user_id=0,group_id=0,allow_other"
            try #require(mount("none", place, type, 0, options) == 0)
            root = try Descriptor(opening: place, flags: CL_O_PATH)
        }

        deinit { umount2("/proc/self/fd/\(root.number)", Int32(truncatingIfNeeded: MNT_DETACH)) }
    }

    private func path(_ text: String) throws -> StorePath { try #require(StorePath(text)) }

    /// A thread that asks while another one reads the table of mounts does not go by that of before.
    @Test func aMountIsKnownOnceItIsMade() throws {
        let folder = try TestFolder()
        try folder.shell("mkdir -p inner/file")
        let isOver = Atomic(false)
        defer { isOver.store(true, ordering: .relaxed) }
        for _ in 0..<3 { Thread.detachNewThread { while !isOver.load(ordering: .relaxed) { _ = MountKinds.current.kind(ofMount: 0) } } }
        for _ in 0..<300 {
            let silent = try Silent(at: "\(folder.path)/inner")
            #expect(throws: Errno.improperLink) { try folder.store.held(self.path("inner")) }
            withExtendedLifetime(silent) {}
        }
    }

    /// Wherever it has come to be, and however it is called.
    @Test(arguments: ["fuse.silent", "fuse.quire", "fuse.\u{301}x", "fuse"])
    func nothingIsAskedOfIt(type: String) throws {
        let folder = try TestFolder()
        try folder.shell("mkdir -p a/inner/x beside/inner/x disk; mount -t tmpfs none disk; mkdir -p disk/inner/x; echo text >disk/file")
        defer { _ = try? folder.shell("umount -l disk") }
        let mounts = try ["a", "beside", "disk"].map { try Silent(at: "\(folder.path)/\($0)/inner", type: type) }
        try folder.shell("mkdir store; mv beside a store; mkdir store/disk; mount --rbind disk store/disk")
        defer { _ = try? folder.shell("umount -l store/disk") }
        let store = SharedStore(try Descriptor(opening: "\(folder.path)/store", flags: CL_O_PATH | O_DIRECTORY))
        for place in ["a", "beside", "disk"] {
            for name in ["inner", "inner/x"] {
                #expect(throws: Errno.improperLink) { try store.held(self.path("\(place)/\(name)")) }
                #expect(throws: Errno.improperLink) { try store.folder(self.path("\(place)/\(name)")) }
            }
            let parent = try store.folder(path(place))
            let status = try FileStatus(of: "inner", in: parent)
            #expect(status.isFolder && status.isMountRoot)
            #expect(throws: Errno.improperLink) { try Descriptor.named("inner", in: parent, flags: O_RDONLY) }
        }
        let file = try store.open(path("disk/file"), flags: O_RDONLY)
        #expect(try FileStatus(of: file).st.st_size == 5)
        var visited: Set<String> = []
        let walk = FolderWalk(store)
        while let visit = try walk.next() {
            visited.insert(visit.path.description)
            walk.list(visit) { _, _ in true }
        }
        #expect(visited.isSuperset(of: ["a", "beside", "disk"]) && !visited.contains { $0.contains("inner") })
        #expect(walk.skipped == 0)
        withExtendedLifetime(mounts) {}
    }

    @Test func linksAreNotFollowedAndLongPathsAreOpened() throws {
        let folder = try TestFolder()
        let long = "d/" + String(repeating: String(repeating: "n", count: 200) + "/", count: 30) + "end"
        try folder.shell("mkdir -p \(long); mkdir d/x; ln -s d link; ln -s /etc/passwd out")
        #expect(throws: Errno.notDirectory) { try folder.store.folder(self.path("link")) }
        #expect(throws: Errno.tooManySymbolicLinkLevels) { try folder.store.folder(self.path("link/x")) }
        #expect(throws: Errno.tooManySymbolicLinkLevels) { try folder.store.open(self.path("out"), flags: O_RDONLY) }
        #expect(try FileStatus(of: folder.store.held(StorePath(unchecked: Array(long.utf8)))).isFolder)
    }
}
