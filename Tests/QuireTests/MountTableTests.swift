import StorePrimitives
import Testing
import quire

private let table = MountTable(
    parsing: Array(
        #"""
        21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
        30 21 0:25 / /tmp rw,nosuid - tmpfs tmpfs rw
        40 21 0:50 / /home/ann/My\040Docs rw,nosuid,nodev shared:2 master:1 - fuse.quire /home/ann/a\134b rw,user_id=1000,group_id=1000
        41 40 0:51 / /home/ann/My\040Docs rw - fuse.quire /srv rw,user_id=0,group_id=0
        42 41 0:52 / /home/ann/My\040Docs/deep rw - tmpfs none rw
        this is no line of a mount table
        """#.utf8))

struct MountTableTests {
    @Test func fieldsAreParsedAndEscapesDecoded() throws {
        #expect(table.entries.count == 5)
        let entry = table.entries[2]
        #expect(entry.id == 40 && entry.parentID == 21 && entry.major == 0 && entry.minor == 50)
        #expect(entry.mountPoint == Array("/home/ann/My Docs".utf8))
        #expect(entry.source == Array(#"/home/ann/a\b"#.utf8))
        #expect(entry.fileSystemType == "fuse.quire" && entry.isQuire)
        #expect(entry.options == ["rw", "nosuid", "nodev"])
        #expect(entry.owner == 1000)
        #expect(table.entries[0].owner == nil)
    }

    @Test func bytesThatAreNotTextSurvive() {
        let line = Array("9 1 0:9 / /a".utf8) + [0xff] + Array(" rw - fuse.quire /s".utf8) + [0xfe] + Array(" rw".utf8)
        let entry = MountTable(parsing: line).entries.first
        #expect(entry?.mountPoint == [0x2f, 0x61, 0xff])
        #expect(entry?.source == [0x2f, 0x73, 0xfe])
    }

    @Test func theUppermostMountCounts() {
        let path = Array("/home/ann/My Docs".utf8)
        #expect(table.top(at: path)?.id == 41)
        #expect(table.quireMounts.map(\.id) == [41])
        #expect(table.holding(path + Array("/x".utf8))?.id == 41)
        #expect(table.top(at: Array("/home".utf8)) == nil)
    }

    @Test func aPathIsHeldByTheDeepestMountAroundIt() {
        #expect(table.holding(Array("/home/ann/My Docs/deep/x".utf8))?.id == 42)
        #expect(table.holding(Array("/home/ann/My Docs2".utf8))?.id == 21)
        #expect(table.holding(Array("/tmp".utf8))?.id == 30)
    }

    @Test func childrenAreTheMountsOnTop() throws {
        let entry = try #require(table.top(at: Array("/home/ann/My Docs".utf8)))
        #expect(table.children(of: entry).map(\.id) == [42])
    }

    @Test func theRunningSystemHasARootMount() { #expect(MountTable.current().holding([0x2f]) != nil) }
}
