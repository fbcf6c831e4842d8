import DocumentStore
import StorePrimitives
import Testing

struct InnerMountsTests {
    @Test(arguments: [
        ("30 25 8:2 / /store/usb rw,relatime shared:1 - ext4 /dev/sdb rw", "usb"),
        ("31 25 8:2 / /store/a\\040b\\134c rw - vfat /dev/sdc rw", "a b\\c"),
        ("32 25 8:2 /sub /store/deep/in/it rw master:2 propagate_from:3 - btrfs /dev/sdd rw", "deep/in/it"),
    ])
    func aMountInsideTheStoreIsFound(_ line: String, _ path: String) throws {
        let found = InnerMounts.parse(Array(line.utf8), storedAt: Array("/store".utf8))
        #expect(found.map(\.path.description) == [path])
        #expect(found.map(\.id) == [try #require(UInt64(line.prefix(2)))])
    }

    @Test(arguments: [
        "30 25 8:2 / /store rw - ext4 /dev/sdb rw",
        "30 25 8:2 / /storeroom/usb rw - ext4 /dev/sdb rw",
        "30 25 0:5 / /store/proc rw - proc proc rw",
        "30 25 0:9 / /store/remote rw - nfs4 server:/ rw",
        "30 25 0:9 / /store/fuse rw - fuse.sshfs host:/ rw",
        "30 25 0:9 / /store/cut",
        "",
    ])
    func whatIsNotAFileSystemOfDocumentsInsideTheStoreIsLeftOut(_ line: String) {
        #expect(InnerMounts.parse(Array(line.utf8), storedAt: Array("/store".utf8)).isEmpty)
    }
}
