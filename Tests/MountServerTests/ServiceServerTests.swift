import CLinux
import Glibc
import Logging
import MountClient
import MountProtocol
import MountServer
import StorePrimitives
import SystemPackage
import TestSupport
import Testing

/// Runs `body` against a server on a socket in a folder of its own, and takes both away.
func withServer(
    access: ServiceAccess = .everyone, limits: ConnectionLimits = ConnectionLimits(), shares: UserShares = UserShares(),
    _ body: (_ socket: String, _ mount: StubMount) throws -> Void
) throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let socket = folder.path("socket")
    let mount = StubMount()
    let server = try ServiceServer(
        socketPath: socket, access: access, service: mount, version: "1.2", limits: limits, shares: shares, log: Logger(label: "test"))
    defer { server.stop() }
    try body(socket, mount)
}

private let statusCall = #"{"method":"org.quire.Mount.Status"}"#

struct ServiceServerTests {
    @Test func everyMethodMakesTheRoundTrip() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            #expect(try connection.call(MountInterface.status).status == StubMount.status)
            try connection.call(MountInterface.renameTag, .init("old", to: "new"))
            try connection.call(MountInterface.renameTag, .init("old", to: "new", merge: true))
            #expect(try connection.call(MountInterface.undoTagRemoval).restored == 4)
            #expect(try connection.call(MountInterface.recents, .init(limit: 3)).entries == [RecentDocument(path: DocumentPath("/store/é".utf8), used: 1.5)])
            #expect(try connection.call(MountInterface.recents, .init(limit: nil)).entries.count == 1)
            try connection.call(MountInterface.forgetRecents, .init([DocumentPath("/a b".utf8), DocumentPath([0x2f, 0xff, 0x25])]))
            try connection.call(MountInterface.noteUses, .init([RecentDocument(path: DocumentPath("/u".utf8), used: 1.5)]))
            #expect(try connection.call(MountInterface.favorites).entries == [FavoriteItem(path: DocumentPath([0x2f, 0xff]), folder: true, added: 1.5)])
            #expect(try connection.call(MountInterface.addFavorites, .init([DocumentPath("/a".utf8)])).failures == [])
            let failures = try connection.call(MountInterface.removeFavorites, .init([DocumentPath([0x2f, 0xff])])).failures
            #expect(failures == [PathFailure(path: DocumentPath([0x2f, 0xff]), message: "is no favorite")])
            #expect(try connection.call(BookmarkInterface.create, .init(DocumentPath("/a".utf8))).bookmark == "mark-of-/a")
            let resolved = try connection.call(BookmarkInterface.resolve, .init("a"))
            #expect(resolved == ResolvedBookmark(state: .stale, path: DocumentPath([0x2f, 0xff])))
            #expect(try connection.call(BookmarkInterface.resolve, .init("b")) == ResolvedBookmark(state: .forged))
            let granted = try connection.call(GrantInterface.grant, .init(DocumentPath([0x2f, 0xff]), readOnly: true, seconds: nil))
            #expect(granted.path == DocumentPath([0x2f, 0xff]) && granted.readOnly && granted.seconds == nil)
            #expect(try connection.call(GrantInterface.list).grants == [granted])
            #expect(try connection.call(GrantInterface.revoke, .init(token: "token")).revoked == 2)
            #expect(try connection.call(GrantInterface.revoke, .init(path: DocumentPath([0x2f, 0xff]))).revoked == 2)
            #expect(try connection.call(MountInterface.tags).tags.count == 20_000)
            #expect(
                mount.asked.withLock { $0 } == [
                    "status", "rename old new", "merge old new", "recents 3", "recents 50", #"forget ["/a b", "file:///%FF%25"]"#, #"uses ["/u"]"#, #"mark ["/a"]"#, "revoke token -",
                    "revoke - file:///%FF",
                ])
        }
    }

    @Test func aSearchSaysWhatIsWrongWithAQueryAndWhere() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            let found = try connection.call(SearchInterface.search, .init(query: "a b", limit: 1_000_000, order: "name"))
            #expect(found == FoundDocuments(documents: [StubMount.found], more: true))
            #expect(try connection.call(SearchInterface.search, .init(query: "x")).more)
            #expect(mount.asked.withLock { $0 } == ["search a b 20000 name", "search x 100 -"])
            let wrong = VarlinkError(
                name: "org.quire.Search.InvalidQuery",
                parameters: ["message": .text("this parenthesis is not closed"), "start": .number(0), "end": .number(1)])
            #expect(throws: ServiceCallError.refused(wrong)) { try connection.call(SearchInterface.search, .init(query: "(")) }
            #expect(throws: ServiceCallError.self) { try connection.call(SearchInterface.search, .init(query: "a", limit: 0)) }
        }
    }

    @Test func theStateOfTextsMakesTheRoundTrip() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            let state = try connection.call(SearchInterface.textState, .init(DocumentPath("/a".utf8)))
            #expect(state == TextStateReply(state: "failed", reason: "it took too long", time: 1.5, length: 0, attempts: 2))
            let status = try connection.call(SearchInterface.textStatus)
            #expect(status.current == DocumentPath([0x2f, 0xff]) && status.failed == 1 && status.trouble == nil)
            try connection.call(SearchInterface.pauseTexts, .init(true))
            #expect(mount.asked.withLock { $0 } == ["text /a", "pause true"])
            #expect(throws: ServiceCallError.self) { try connection.call(SearchInterface.rebuildTexts) }
        }
    }

    /// Another user's socket may be served by anything.
    @Test func aReplyWithoutEndIsCutOff() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("socket")
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        try #require(bound == 0 && listen(listener, 1) == 0)
        let server = NamedThread("endless") {
            let peer = accept(listener, nil, nil)
            let bytes = [UInt8](repeating: 0x20, count: 1 << 20)
            while send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 {}
            close(peer)
        }
        do {
            let connection = try ServiceConnection(to: path)
            #expect(throws: ServiceCallError.malformedReply) { try connection.call(MountInterface.status) }
        }
        server.join()
        close(listener)
    }

    @Test func thePeerIsWhoConnected() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            _ = try connection.call(MountInterface.status)
            var groups = [gid_t](repeating: 0, count: Int(getgroups(0, nil)))
            getgroups(Int32(groups.count), &groups)
            for peer in [mount.lastPeer.withLock { $0 }, connection.server] {
                let found = try #require(peer)
                #expect(found.uid == getuid() && found.gid == getgid() && found.groups == groups.sorted() && found.pid == getpid())
                #expect(found.start == ProcessStat(of: getpid())?.start)
            }
        }
    }

    /// A thread of root's may take groups of its own, which are then what it connects with.
    @Test(.enabled(if: getuid() == 0), arguments: [0, 1, 3, 4000])
    func aPeersGroupsAreThoseItConnectedWith(count: Int) throws {
        try withServer { socket, mount in
            let groups = (0..<count).map { gid_t(61_000 + $0) }
            var own = [gid_t](repeating: 0, count: Int(getgroups(0, nil)))
            getgroups(Int32(own.count), &own)
            #expect(cl_set_groups(groups.count, groups) == 0)
            let connected = Result { try ServiceConnection(to: socket) }
            #expect(cl_set_groups(own.count, own) == 0)
            _ = try connected.get().call(MountInterface.status)
            #expect(mount.lastPeer.withLock { $0?.groups } == groups)
        }
    }

    @Test func failuresAreTypedErrors() throws {
        try withServer { socket, _ in
            let connection = try ServiceConnection(to: socket)
            let missing = VarlinkError(name: "org.quire.Mount.NotFound", parameters: ["what": .text("missing")])
            #expect(throws: ServiceCallError.refused(missing)) { try connection.call(MountInterface.renameTag, .init("missing", to: "b")) }
            let denied = VarlinkError(name: "org.quire.Mount.PermissionDenied", parameters: ["what": .text("foreign")])
            #expect(throws: ServiceCallError.refused(denied)) { try connection.call(MountInterface.renameTag, .init("foreign", to: "b")) }
        }
    }

    @Test(arguments: [
        (#"{"method":"org.quire.Mount.Nothing"}"#, "MethodNotFound", #"{"method":"org.quire.Mount.Nothing"}"#),
        (#"{"method":"org.example.Other"}"#, "InterfaceNotFound", #"{"interface":"org.example"}"#),
        (#"{"method":"Status"}"#, "InterfaceNotFound", #"{"interface":"Status"}"#),
        (#"{"method":"org.quire.Mount.RenameTag"}"#, "InvalidParameter", #"{"parameter":"old"}"#),
        (#"{"method":"org.quire.Mount.RenameTag","parameters":{"old":1}}"#, "InvalidParameter", #"{"parameter":"old"}"#),
        (#"{"method":"org.quire.Mount.RenameTag","parameters":[]}"#, "InvalidParameter", #"{"parameter":"parameters"}"#),
        (#"{"method":"org.quire.Mount.Recents","parameters":{"limit":0}}"#, "InvalidParameter", #"{"parameter":"limit"}"#),
        (
            #"{"method":"org.quire.Mount.ForgetRecents","parameters":{"paths":["relative"]}}"#, "InvalidParameter",
            #"{"parameter":"paths"}"#
        ),
    ])
    func aCallThatIsNoneIsAnsweredAndTheConnectionGoesOn(call: String, error: String, parameters: String) throws {
        try withServer { socket, _ in
            let peer = RawPeer(socket)
            peer.send(call)
            #expect(peer.receive() == #"{"error":"org.varlink.service.\#(error)","parameters":\#(parameters)}"#)
            peer.send(statusCall)
            #expect(peer.receive()?.hasPrefix(#"{"parameters":{"status":"#) == true)
        }
    }

    @Test(arguments: ["", "x", "[]", "{}", #"{"method":7}"#, #"{"method":"a.b""#, String(repeating: "[", count: 100_000)])
    func whatIsNoCallIsAnsweredAndTheConnectionCloses(message: String) throws {
        try withServer { socket, _ in
            let peer = RawPeer(socket)
            peer.send(message)
            #expect(peer.receive() == #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"call"}}"#)
            #expect(peer.isClosed())
        }
    }

    @Test func anOversizedMessageIsAnsweredAndTheConnectionCloses() throws {
        var limits = ConnectionLimits()
        limits.messageSize = 10_000
        try withServer(limits: limits) { socket, _ in
            let peer = RawPeer(socket)
            peer.send([UInt8](repeating: 0x20, count: 100_000))
            #expect(peer.receive() == #"{"error":"org.quire.Mount.MessageTooLarge","parameters":{"limit":10000}}"#)
            #expect(peer.isClosed())
        }
    }

    @Test func aMessageUpToTheLimitIsTaken() throws {
        try withServer { socket, _ in
            let peer = RawPeer(socket)
            peer.send(statusCall + String(repeating: " ", count: (1 << 20) - statusCall.utf8.count))
            #expect(peer.receive()?.hasPrefix(#"{"parameters":{"status":"#) == true)
        }
    }

    @Test func halfAMessageAndThenSilenceIsDropped() throws {
        var limits = ConnectionLimits()
        limits.messageTimeout = .milliseconds(200)
        try withServer(limits: limits) { socket, _ in
            let peer = RawPeer(socket)
            peer.send(Array(#"{"method":"#.utf8))
            #expect(peer.isClosed())
        }
    }

    @Test func moreBytesDoNotExtendAMessagesTime() throws {
        var limits = ConnectionLimits()
        limits.messageTimeout = .milliseconds(300)
        try withServer(limits: limits) { socket, _ in
            let peer = RawPeer(socket)
            eventually {
                usleep(20_000)
                return !peer.send([0x20])
            }
        }
    }

    @Test func anIdlePeerIsDropped() throws {
        var limits = ConnectionLimits()
        limits.idleTimeout = .milliseconds(200)
        try withServer(limits: limits) { socket, _ in
            let peer = RawPeer(socket)
            peer.send(statusCall)
            #expect(peer.receive() != nil)
            #expect(peer.isClosed())
        }
    }

    @Test func aPeerThatDoesNotReadIsDropped() throws {
        var limits = ConnectionLimits()
        limits.replyTimeout = .milliseconds(200)
        try withServer(limits: limits) { socket, _ in
            let peer = RawPeer(socket)
            for _ in 0..<4 { peer.send(#"{"method":"org.quire.Mount.ListTags"}"#) }
            eventually {
                usleep(20_000)
                return !peer.send(statusCall)
            }
        }
    }

    @Test func callsSentTogetherAreAnsweredInOrder() throws {
        try withServer { socket, _ in
            let peer = RawPeer(socket)
            let undo = #"{"method":"org.quire.Mount.UndoTagRemoval"}"#
            let oneway = #"{"method":"org.quire.Mount.UndoTagRemoval","oneway":true}"#
            peer.send(Array("\(undo)\0\(oneway)\0\(statusCall)\0\(undo)\0".utf8))
            peer.shutDownSending()
            #expect(peer.receive() == #"{"parameters":{"restored":4}}"#)
            #expect(peer.receive()?.hasPrefix(#"{"parameters":{"status":"#) == true)
            #expect(peer.receive() == #"{"parameters":{"restored":4}}"#)
            #expect(peer.isClosed())
        }
    }

    @Test func connectionsOfOneUserAreLimited() throws {
        try withServer(shares: UserShares(bounds: [.connections: .init(forUser: 32, forAll: 64)])) { socket, _ in
            let peers = (0..<32).map { _ in RawPeer(socket) }
            for peer in peers {
                peer.send(statusCall)
                #expect(peer.receive() != nil)
            }
            let oneTooMany = RawPeer(socket)
            #expect(oneTooMany.receive() == #"{"error":"org.quire.Mount.TooManyConnections","parameters":{"limit":32}}"#)
            #expect(oneTooMany.isClosed())
            withExtendedLifetime(peers) {}
        }
    }

    /// The later ones wait for their turn, with what they have asked already.
    @Test func manyConnectionsAtOnceAreAllServed() throws {
        try withServer { socket, _ in
            let peers = (0..<700).map { _ in RawPeer(socket) }
            for peer in peers { peer.send(statusCall) }
            for peer in peers.reversed() { #expect(peer.receive() != nil) }
        }
    }

    /// Not even the same user's.
    @Test func callsThatTakeLongKeepNoOthersWaiting() throws {
        try withServer { socket, mount in
            defer { mount.mayGoOn.store(true, ordering: .relaxed) }
            let long = (0..<5).map { _ in RawPeer(socket) }
            for peer in long {
                peer.send(#"{"method":"org.quire.Thumbnails.Clear","parameters":{"path":"/long"}}"#)
                // A message that is decoded elsewhere for its size is no way around.
                peer.send(#"{"method":"org.quire.Thumbnails.Clear","parameters":{"path":"/long"}}"# + String(repeating: " ", count: 3_000))
            }
            eventually(within: .seconds(20)) { mount.asked.withLock { $0.contains("clear /long") } }
            for _ in 0..<20 {
                let recents = try ServiceConnection(to: socket).call(MountInterface.recents, .init(limit: 1)).entries
                #expect(recents.count == 1)
            }
            #expect(mount.asked.withLock { $0.count { $0 == "clear /long" } } == 1)
            mount.mayGoOn.store(true, ordering: .relaxed)
            for peer in long { for _ in 0..<2 { #expect(peer.receive() == #"{"parameters":{"documents":3}}"#) } }
        }
    }

    @Test func connectionsThatEndMakeRoom() throws {
        try withServer { socket, _ in
            for _ in 0..<500 {
                let connection = try ServiceConnection(to: socket)
                #expect(try connection.call(MountInterface.undoTagRemoval).restored == 4)
            }
        }
    }

    @Test func theServiceDescribesItself() throws {
        try withServer { socket, _ in
            let peer = RawPeer(socket)
            peer.send(#"{"method":"org.varlink.service.GetInfo","parameters":{}}"#)
            let info = try #require(peer.receive())
            #expect(info.contains(#""interfaces":["org.varlink.service","org.quire.Mount","org.quire.Recover","org.quire.Events","org.quire.Coordination","org.quire.Presenters","org.quire.Thumbnails","org.quire.Search","org.quire.Bookmarks","org.quire.Grants"]"#))
            #expect(info.contains(#""version":"1.2""#))
            peer.send(
                #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.quire.Mount"}}"#)
            let description = try #require(peer.receive())
            for method in ["Status", "RenameTag", "UndoTagRemoval", "Recents", "ForgetRecents", "ListTags"] {
                #expect(description.contains("method \(method)("))
            }
            peer.send(
                #"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.quire.Recover"}}"#)
            let recover = try #require(peer.receive())
            for method in ["List", "Read", "Drop", "Keep"] { #expect(recover.contains("method \(method)(")) }
            peer.send(#"{"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"a.b"}}"#)
            #expect(
                peer.receive() == #"{"error":"org.varlink.service.InterfaceNotFound","parameters":{"interface":"a.b"}}"#)
        }
    }

    @Test func theSocketsModeFollowsTheAccess() throws {
        for (access, mode) in [(ServiceAccess.owner(uid: getuid()), 0o600), (.everyone, 0o666)] {
            try withServer(access: access) { socket, _ in
                var status = stat()
                #expect(lstat(socket, &status) == 0)
                #expect(status.st_mode & 0o777 == mode_t(mode))
                _ = try ServiceConnection(to: socket).call(MountInterface.status)
            }
        }
    }

    @Test func aStaleSocketIsReplacedAndAnotherFileIsNot() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let socket = folder.path("socket")
        func serve() throws -> ServiceServer {
            try ServiceServer(
                socketPath: socket, access: .everyone, service: StubMount(), version: "1", log: Logger(label: "test"))
        }
        let first = try serve()
        let second = try serve()
        _ = try ServiceConnection(to: socket).call(MountInterface.status)
        first.stop()
        _ = try ServiceConnection(to: socket).call(MountInterface.status)
        second.stop()
        #expect(throws: ServiceCallError.unreachable(socket: socket, .noSuchFileOrDirectory)) {
            try ServiceConnection(to: socket)
        }
        close(creat(socket, 0o600))
        #expect(throws: Errno.fileExists) { try serve() }
        #expect(throws: Errno.fileNameTooLong) {
            try ServiceServer(
                socketPath: folder.path(String(repeating: "s", count: 100)), access: .everyone, service: StubMount(),
                version: "1", log: Logger(label: "test"))
        }
    }

    @Test func aClientInPythonNeedsNothingButASocket() throws {
        try withServer { socket, _ in
            let program = """
                import json, socket, sys
                s = socket.socket(socket.AF_UNIX)
                s.connect(sys.argv[1])
                s.sendall(json.dumps({"method": "org.quire.Mount.Recents", "parameters": {"limit": 1}}).encode() + b"\\0")
                data = b""
                while not data.endswith(b"\\0"):
                    data += s.recv(4096)
                assert json.loads(data[:-1]) == {"parameters": {"entries": [{"path": "/store/é", "used": 1.5}]}}, data
                """
            let result = try runProgram("python3", ["-c", program, socket])
            #expect(result.status == 0, "\(result)")
        }
    }
}

struct ServiceConnectionTests {
    @Test func aServiceThatIsSilentTimesOut() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let path = folder.path("silent")
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        listen(listener, 1)
        let connection = try ServiceConnection(to: path)
        #expect(throws: ServiceCallError.timedOut) {
            try connection.call(MountInterface.status, timeout: .milliseconds(200))
        }
    }
}

struct DocumentPathTests {
    @Test(arguments: [[0x2f], [0x2f, 0x61], [0x2f, 0xff, 0x25, 0x20], Array("/é".utf8)] as [[UInt8]])
    func everyPathSurvivesTheWire(bytes: [UInt8]) {
        #expect(DocumentPath(wire: DocumentPath(bytes).wire)?.bytes == bytes)
    }

    @Test(arguments: ["", "a", "file://", "file://host/a", "file:///%", "file:///%4", "file:///%zz", "/\0", "file:///%00"])
    func whatIsNoAbsolutePathIsRefused(text: String) { #expect(DocumentPath(wire: text) == nil) }
}
