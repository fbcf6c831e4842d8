import Synchronization

/// `org.quire.Coordination`: what `quire coordinate` and file coordinators ask for.
enum CoordinationInterface {
    static let name = "org.quire.Coordination"

    static let mostClaims = 100
    static let mostPurposeBytes = 255

    struct ReleaseRequest: Codable, Sendable {
        let claim: UInt64
        let discard: Bool?
        let keep: Bool?
        var thumbnails: [DocumentPicture]?
    }

    static func interface(_ service: any ClaimService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod("Claim", isBrief: { service.isBrief($0, for: $1) }) { (request: ClaimCall, connection, wake) in
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
                VarlinkMethod("Release", isBrief: { (request: ReleaseRequest, connection) in
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

    static let text = """
        # Claims on documents and folders of one mounted store: who may read and write
        # them, and who waits for whom. Paths are as in org.quire.Mount.
        #
        # A claim lives as long as its connection, or until it is released. Programs
        # that know nothing of claims take part: who opens for writing what somebody
        # else claims for writing waits, and then gets EBUSY.
        interface org.quire.Coordination

        # access: reading or writing. options, of readers: immediately (what was
        # published last, without a wait), withoutChanges (presenters are not asked to
        # save), metadataOnly, live; of writers: merging (presenters save first), replacing,
        # moving, deleting, contents (of a folder: all that is in it too, as the three before
        # do), metadataOnly. Nothing needs to be at path.
        type Intent (path: string, access: string, options: ?[]string)

        # Answered when all items are the caller's, who came first being served first.
        # Claims of one purpose and user never wait for each other. within: a claim of
        # the same connection, which is held until this one is decided. timeout: in seconds,
        # else as long as the mount has opens wait (coordination-timeout). snapshots: for
        # each intent in order, where what is read stands as it was when the claim was
        # granted, whoever writes it meanwhile; gone when the claim ends. Null for what is
        # written, and for metadataOnly.
        method Claim(intents: []Intent, purpose: ?string, within: ?int, timeout: ?float)
          -> (claim: int, snapshots: []?string)

        # Ends a claim of this connection. What its maker, and what that started, saved of
        # the claimed documents meanwhile was theirs alone: now it is published, all at
        # once, or with discard dropped; keep: what is dropped is kept for
        # org.quire.Recover, as it is when a connection ends without this. thumbnails: of
        # what is published, images (in base64, 512 KiB in all) that its thumbnails are
        # made of instead of its content.
        method Release(claim: int, discard: ?bool, keep: ?bool, thumbnails: ?[]Picture) -> ()

        type Picture (path: string, image: string)

        # The claim was not granted in time; message says who is in the way.
        error TimedOut (message: string)

        # What was saved within the claim could not be published, and none of it was: it
        # is kept for org.quire.Recover. message says why.
        error NotPublished (message: string)

        # What is to be read cannot be kept as it is: message says why.
        error NoSnapshot (message: string)

        # Who is in the way waits for the caller.
        error Deadlock (message: string)

        """
}
