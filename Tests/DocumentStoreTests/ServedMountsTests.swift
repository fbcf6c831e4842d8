import DocumentStore
import Foundation
import Glibc
import StorePrimitives
import Synchronization
import TestSupport
import Testing

struct ServedMountsTests {
    /// A thread that asks while another one reads the table of mounts does not go by that of before.
    @Test(.enabled(if: isRoot)) func aMountIsKnownOnceItIsMade() throws {
        let folder = try TestFolder()
        try folder.shell("mkdir inner")
        let served = ServedMounts(inside: folder.root)
        let inner = try #require(StorePath("inner"))
        let isOver = Atomic(false)
        defer { isOver.store(true, ordering: .relaxed) }
        for _ in 0..<3 { Thread.detachNewThread { while !isOver.load(ordering: .relaxed) { _ = served.contain(inner) } } }
        for _ in 0..<300 {
            // Nothing is asked of it.
            let device = try Descriptor(opening: "/dev/fuse", flags: O_RDWR)
            let place = "\(folder.path)/inner"
            try #require(mount("none", place, "fuse.none", 0, "fd=\(device.number),rootmode=40000,user_id=0,group_id=0") == 0)
            let isKnown = served.contain(inner)
            try #require(umount2(place, Int32(truncatingIfNeeded: MNT_DETACH)) == 0)
            #expect(isKnown)
        }
    }
}
