/// The methods of `org.quire.Grants`, as the daemon carries them out.
public protocol GrantService: Sendable {
    /// Throws `.notFound` for what is no document or folder that the peer's user may read.
    /// - Parameter seconds: how long it holds; nil: for as long as the mount.
    func grant(_ path: DocumentPath, readOnly: Bool, seconds: Double?, for peer: Peer) throws(ServiceFailure) -> GrantedScope

    /// Ends the grants of the peer's user that have the token, or are of what is at the path, or all with neither; returns how many.
    func revokeGrants(token: String?, path: DocumentPath?, for peer: Peer) throws(ServiceFailure) -> Int

    func grants(for peer: Peer) throws(ServiceFailure) -> [GrantedScope]
}

/// The use of one document or folder by a path of its own.
public struct GrantedScope: Codable, Hashable, Sendable {
    public var token: String
    /// Where it is used.
    public var place: DocumentPath
    /// Where the document or folder is.
    public var path: DocumentPath
    public var readOnly: Bool
    /// How long it holds still; nil: for as long as the mount.
    public var seconds: Double?

    public init(token: String, place: DocumentPath, path: DocumentPath, readOnly: Bool, seconds: Double?) {
        (self.token, self.place, self.path, self.readOnly, self.seconds) = (token, place, path, readOnly, seconds)
    }
}
