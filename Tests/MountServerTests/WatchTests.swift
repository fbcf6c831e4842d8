import Glibc
import MountClient
import MountProtocol
import MountServer
import TestSupport
import Testing

struct EventServiceTests {
    private static let call = #"{"method":"org.quire.Events.Watch","more":true}"#

    @Test func eventsAreToldAsTheyCome() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            mount.feed.add(2)
            var seen: [UInt64] = []
            let request = WatchRequest(path: DocumentPath("/store/a".utf8), since: 9, kinds: ["changed", "moved"])
            try connection.stream(EventInterface.watch, request) { (found) throws(ServiceCallError) in
                #expect(found.events == found.events.map { StubFeed.event($0.seq) } && found.next == found.events.last?.seq)
                seen += found.events.map(\.seq)
                // More than one reply holds.
                if seen.count == 2 { mount.feed.add(450) }
                if seen.count == 452 { mount.feed.add(1) }
                return seen.count < 453
            }
            #expect(seen == Array(1...453))
            #expect(mount.asked.withLock { $0 } == [#"watch /store/a 9 ["changed", "moved"]"#])
        }
    }

    @Test func aReplySaysThatMoreCome() throws {
        try withServer { socket, mount in
            let peer = RawPeer(socket)
            peer.send(Self.call)
            eventually { mount.feed.wake.withLock { $0 != nil } }
            mount.feed.add(1)
            let event =
                #"{"seq":1,"kind":"changed","id":7,"path":"/store/1","generation":1,"time":1.5,"pid":42,"uid":1000,"process":"vim"}"#
            #expect(peer.receive() == #"{"parameters":{"events":[\#(event)],"overflow":false,"next":1},"continues":true}"#)
        }
    }

    @Test func aCallForOneReplyIsRefused() throws {
        try withServer { socket, mount in
            let peer = RawPeer(socket)
            for call in [#"{"method":"org.quire.Events.Watch"}"#, #"{"method":"org.quire.Events.Watch","more":false}"#] {
                peer.send(call)
                #expect(peer.receive() == #"{"error":"org.varlink.service.ExpectedMore","parameters":{}}"#)
            }
            peer.send(#"{"method":"org.quire.Events.Watch","more":true,"parameters":{"kinds":["wrong"]}}"#)
            #expect(
                peer.receive() == #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"kinds"}}"#)
            // The connection goes on.
            peer.send(#"{"method":"org.quire.Mount.UndoTagRemoval"}"#)
            #expect(peer.receive() == #"{"parameters":{"restored":4}}"#)
        }
    }

    @Test(arguments: [false, true])
    func whoGoesIsToldNoMore(sendingOnly: Bool) throws {
        try withServer { socket, mount in
            var peer: RawPeer? = RawPeer(socket)
            peer?.send(Self.call)
            eventually { mount.feed.wake.withLock { $0 != nil } }
            if sendingOnly { peer?.shutDownSending() } else { peer = nil }
            eventually { mount.feed.isEnded.load(ordering: .relaxed) }
            if let peer { #expect(peer.isClosed()) }
            mount.feed.add(1)
        }
    }

    @Test func whoTakesItsTimeIsWaitedForAndHoldsNobodyUp() throws {
        var limits = ConnectionLimits()
        limits.replyTimeout = .milliseconds(100)
        limits.idleTimeout = .milliseconds(100)
        try withServer(limits: limits) { socket, mount in
            let peer = RawPeer(socket)
            peer.send(Self.call)
            eventually { mount.feed.wake.withLock { $0 != nil } }
            mount.feed.add(50_000)
            usleep(400_000)
            let isEnded = mount.feed.isEnded.load(ordering: .relaxed)
            #expect(!isEnded)
            #expect(try ServiceConnection(to: socket).call(MountInterface.undoTagRemoval).restored == 4)
            var last = ""
            while !last.contains(#""next":50000"#) { last = try #require(peer.receive()) }
        }
    }

    @Test func theServiceEndsUnderItsWatchers() throws {
        var feed: StubFeed?
        try withServer { socket, mount in
            feed = mount.feed
            let peer = RawPeer(socket)
            peer.send(Self.call)
            eventually { mount.feed.wake.withLock { $0 != nil } }
            mount.feed.add(10)
            #expect(peer.receive() != nil)
        }
        let isEnded = feed?.isEnded.load(ordering: .relaxed)
        #expect(isEnded == true)
    }
}
