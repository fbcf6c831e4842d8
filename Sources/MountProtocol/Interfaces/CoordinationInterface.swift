/// `org.quire.Coordination`: what `quire coordinate` and file coordinators ask for. A claim ends with its connection.
public enum CoordinationInterface {
    package static let name = "org.quire.Coordination"

    /// Answered when the claim is granted: a client waits longer than the request says.
    public static let claim = ServiceMethod<ClaimCall, GrantedClaim>(name, "Claim")
    public static let release = ServiceMethod<ReleaseRequest, Empty>(name, "Release", timeout: .seconds(600))

    package static let mostClaims = 100
    package static let mostPurposeBytes = 255

    public struct ReleaseRequest: Codable, Sendable {
        package let claim: UInt64
        package let discard: Bool?
        package let keep: Bool?
        package let thumbnails: [DocumentPicture]?

        /// Publishes what was saved within the claim, or drops that, and with `keeps` keeps what is dropped for `quire recover`.
        /// - Parameter pictures: become the thumbnails of what is published.
        public init(_ claim: GrantedClaim, discards: Bool = false, keeps: Bool = false, pictures: [DocumentPicture] = []) {
            (self.claim, discard, keep) = (claim.claim, discards ? true : nil, keeps ? true : nil)
            thumbnails = pictures.isEmpty ? nil : pictures
        }
    }

    package static let text = """
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
