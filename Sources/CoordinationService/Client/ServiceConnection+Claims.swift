/// The methods of `org.quire.Coordination`, each as one blocking call. A claim ends with its connection.
extension ServiceConnection {
    /// Asks for a claim and waits until it is granted; throws `.refused` when it is not. `timeout` bounds the wait besides what
    /// the request says, and is to be longer.
    public func claim(_ request: ClaimCall, timeout: Duration) throws(ServiceCallError) -> GrantedClaim {
        try call("\(CoordinationInterface.name).Claim", request, returning: GrantedClaim.self, timeout: timeout)
    }

    /// Ends a claim: publishes what was saved within it, or drops that, and with `keeps` keeps what is dropped for
    /// `quire recover`. `pictures` become the thumbnails of what is published.
    public func release(
        _ claim: GrantedClaim, discards: Bool = false, keeps: Bool = false, pictures: [DocumentPicture] = []
    ) throws(ServiceCallError) {
        _ = try call(
            "\(CoordinationInterface.name).Release",
            CoordinationInterface.ReleaseRequest(
                claim: claim.claim, discard: discards ? true : nil, keep: keeps ? true : nil, thumbnails: pictures.isEmpty ? nil : pictures),
            returning: Empty.self, timeout: .seconds(600))
    }
}

extension VarlinkError {
    /// A claim was not granted in time.
    public var isClaimTimeout: Bool { name == "\(CoordinationInterface.name).TimedOut" }
}
