import MountProtocol
import Synchronization

extension CoordinationInterface {
    static func interface(_ service: any ClaimService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(claim, isBrief: { service.isBrief($0, for: $1) }) { request, connection, wake in
                    guard !request.intents.isEmpty else { throw VarlinkError.invalidParameter("intents") }
                    if let outer = request.within, connection.resource(KeptClaim.self, outer) == nil {
                        throw ServiceFailure.notFound("claim \(outer) of this connection")
                    }
                    guard request.purpose?.utf8.count ?? 0 <= mostPurposeBytes else { throw VarlinkError.invalidParameter("purpose") }
                    guard connection.count < mostClaims else {
                        throw ServiceFailure.failed("\(mostClaims) claims on one connection: release some first")
                    }
                    return PendingClaim(try service.claim(request, for: connection.peer, wake: wake), connection)
                },
                VarlinkMethod(release, isBrief: { request, connection in
                    request.thumbnails == nil && connection.resource(KeptClaim.self, request.claim)?.claim.endsAtOnce ?? true
                }, onConnection: { (request, connection) in
                    guard let kept = connection.take(KeptClaim.self, request.claim) else {
                        throw ServiceFailure.notFound("claim \(request.claim) of this connection")
                    }
                    let end: ClaimEnd = request.discard != true ? .published : request.keep == true ? .lost : .discarded
                    try kept.claim.end(end, pictures: request.thumbnails ?? [])
                    return Empty()
                }),
            ])
    }

    /// A claim that waits, and is its connection's when it is granted.
    private final class PendingClaim: ReplyStream {
        private let claim: any ServedClaim
        private let connection: PeerConnection

        init(_ claim: any ServedClaim, _ connection: PeerConnection) { (self.claim, self.connection) = (claim, connection) }

        func next() throws -> StreamedReply? {
            guard let granted = try claim.outcome() else { return nil }
            if !connection.keep(KeptClaim(claim), as: granted.claim) { end() }
            return StreamedReply(parameters: granted, isLast: true)
        }

        func end() { try? claim.end(.lost) }
    }

    /// What was not released when the connection ends is dropped.
    private final class KeptClaim: ConnectionResource {
        let claim: any ServedClaim
        init(_ claim: any ServedClaim) { self.claim = claim }
        func end() { try? claim.end(.lost) }
    }
}
