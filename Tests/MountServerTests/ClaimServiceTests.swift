import Foundation
import Glibc
import MountClient
import MountProtocol
import MountServer
import TestSupport
import Testing

struct ClaimServiceTests {
    private static let call = #"{"method":"org.quire.Coordination.Claim","parameters":{"intents":[{"path":"/store/a","access":"writing"}]}}"#

    private func claim(_ number: Int, of mount: StubMount) -> StubClaim {
        eventually { mount.claims.withLock { $0.count } >= number }
        return mount.claims.withLock { $0[number - 1] }
    }

    @Test func aClaimIsAnsweredWhenItIsGranted() throws {
        try withServer { socket, mount in
            let peer = RawPeer(socket)
            peer.send(Self.call)
            let claim = claim(1, of: mount)
            #expect(claim.request.intents == [.init(path: DocumentPath("/store/a".utf8), access: .writing)])
            // Others are served meanwhile.
            let restored = try ServiceConnection(to: socket).call(MountInterface.undoTagRemoval).restored
            #expect(restored == 4)
            claim.decide()
            #expect(peer.receive() == #"{"parameters":{"claim":1,"snapshots":[]}}"#)
            #expect(claim.ended == [])
            peer.send(#"{"method":"org.quire.Coordination.Release","parameters":{"claim":1}}"#)
            #expect(peer.receive() == #"{"parameters":{}}"#)
            #expect(claim.ended == [.published])
            peer.send(#"{"method":"org.quire.Coordination.Release","parameters":{"claim":1}}"#)
            #expect(peer.receive()?.contains("org.quire.Mount.NotFound") == true)
        }
    }

    @Test func whatIsDiscardedIsNotPublished() throws {
        try withServer { socket, mount in
            let connection = try ServiceConnection(to: socket)
            let request = ClaimCall(intents: [.init(path: DocumentPath("/store/a".utf8), access: .reading, options: ["live"])])
            Thread.detachNewThread { claim(1, of: mount).decide() }
            let granted = try connection.call(CoordinationInterface.claim, request, timeout: .seconds(10))
            try connection.call(CoordinationInterface.release, .init(granted, discards: true))
            let ended = claim(1, of: mount)
            #expect(ended.request == request && ended.ended == [.discarded])
        }
    }

    @Test(arguments: [false, true])
    func aClaimEndsWithItsConnection(isGranted: Bool) throws {
        try withServer { socket, mount in
            var peer: RawPeer? = RawPeer(socket)
            peer?.send(Self.call)
            let claim = claim(1, of: mount)
            if isGranted {
                claim.decide()
                _ = peer?.receive()
            }
            peer = nil
            eventually { claim.ended == [.lost] }
        }
    }

    @Test func aRefusalIsAnErrorAndTheConnectionGoesOn() throws {
        try withServer { socket, mount in
            let peer = RawPeer(socket)
            peer.send(Self.call)
            claim(1, of: mount).decide(.timedOut("vim has it"))
            #expect(peer.receive() == #"{"error":"org.quire.Coordination.TimedOut","parameters":{"message":"vim has it"}}"#)
            peer.send(#"{"method":"org.quire.Coordination.Claim","parameters":{"intents":[]}}"#)
            #expect(peer.receive()?.contains("InvalidParameter") == true)
            peer.send(Self.call.replacing(#""parameters":{"#, with: #""parameters":{"purpose":"forbidden","#))
            #expect(peer.receive()?.contains("PermissionDenied") == true)
            peer.send(Self.call)
            claim(2, of: mount).decide()
            #expect(peer.receive() == #"{"parameters":{"claim":2,"snapshots":[]}}"#)
        }
    }

    @Test func whoHoldsAClaimIsNotDroppedForSayingNothing() throws {
        var limits = ConnectionLimits()
        limits.idleTimeout = .milliseconds(100)
        try withServer(limits: limits) { socket, mount in
            let peer = RawPeer(socket)
            peer.send(Self.call)
            usleep(300_000)
            claim(1, of: mount).decide()
            _ = peer.receive()
            usleep(300_000)
            peer.send(#"{"method":"org.quire.Mount.UndoTagRemoval"}"#)
            #expect(peer.receive() == #"{"parameters":{"restored":4}}"#)
            peer.send(#"{"method":"org.quire.Coordination.Release","parameters":{"claim":1}}"#)
            _ = peer.receive()
            #expect(peer.isClosed())
        }
    }

    @Test func callsThatComeMeanwhileAreAnsweredInOrder() throws {
        try withServer { socket, mount in
            let peer = RawPeer(socket)
            peer.send(Self.call)
            peer.send(#"{"method":"org.quire.Mount.UndoTagRemoval"}"#)
            claim(1, of: mount).decide()
            #expect(peer.receive() == #"{"parameters":{"claim":1,"snapshots":[]}}"#)
            #expect(peer.receive() == #"{"parameters":{"restored":4}}"#)
        }
    }
}
