import MountClient
import MountProtocol
import Testing

struct RecoverInterfaceTests {
    @Test func allVersionsAreListedPageByPage() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            #expect(try connection.keptVersions() == StubMount.versions)
            #expect(
                mount.asked.withLock { $0 } == ["kept all", "kept before 501", "kept before 101", "kept before 1"])
        }
    }

    @Test func oneVersionIsFoundByItsNumber() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            #expect(try connection.keptVersion(42) == StubMount.versions[900 - 42])
            #expect(try connection.keptVersion(0) == nil)
            #expect(try connection.keptVersion(901) == nil)
            #expect(try connection.keptVersion(.max) == nil)
            #expect(mount.asked.withLock { $0 } == ["kept before 43", "kept before 1", "kept before 902"])
        }
    }

    @Test func contentComesInBoundedParts() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            let part = try connection.call(RecoverInterface.read, .init(255, from: 1 << 33))
            #expect(part == RecoveredPart(offset: 1 << 33 + 4, bytes: Array(repeating: 255, count: 256 << 10)))
            #expect(throws: ServiceCallError.refused(VarlinkError(
                name: "org.quire.Mount.Failed", parameters: ["message": .text("too large")]))) {
                try connection.call(RecoverInterface.read, .init(1, from: 0))
            }
            #expect(mount.asked.withLock { $0 } == ["read 255 \(1 << 33) \(256 << 10)", "read 1 0 \(256 << 10)"])
        }
    }

    @Test func contentIsBase64ForOtherClients() throws {
        try withServer { socket, _ in
            let peer = RawPeer(socket)
            peer.send(#"{"method":"org.quire.Recover.Read","parameters":{"id":65,"offset":0,"count":4}}"#)
            #expect(peer.receive() == #"{"parameters":{"offset":4,"content":"QUFBQQ=="}}"#)
            for (parameters, wrong) in [
                (#"{"id":65,"offset":-1}"#, "offset"), (#"{"id":65,"offset":0,"count":0}"#, "count"),
                (#"{"offset":0}"#, "id"),
            ] {
                peer.send(#"{"method":"org.quire.Recover.Read","parameters":\#(parameters)}"#)
                #expect(
                    peer.receive()
                        == #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"\#(wrong)"}}"#)
            }
        }
    }

    @Test func versionsAreDroppedAndMade() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            try connection.call(RecoverInterface.drop, .init(5))
            #expect(throws: ServiceCallError.refused(VarlinkError(
                name: "org.quire.Mount.NotFound", parameters: ["what": .text("version 1")]))) {
                try connection.call(RecoverInterface.drop, .init(1))
            }
            #expect(try connection.call(RecoverInterface.keep, .init(DocumentPath("/a".utf8))).id == 12)
            #expect(try connection.call(RecoverInterface.keep, .init(DocumentPath([0x2f, 0xff]))).id == nil)
            #expect(mount.asked.withLock { $0 } == ["drop 5", "drop 1", "keep /a", "keep file:///%FF"])
        }
    }
}
