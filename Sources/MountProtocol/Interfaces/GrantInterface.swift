/// `org.quire.Grants`: what `quire grant` asks for.
public enum GrantInterface {
    package static let name = "org.quire.Grants"

    public static let grant = ServiceMethod<Request, GrantedScope>(name, "Grant")
    public static let revoke = ServiceMethod<Revocation, Revoked>(name, "Revoke")
    public static let list = ServiceMethod<Empty, Grants>(name, "List")

    public struct Request: Codable, Sendable {
        package let path: DocumentPath
        package let readOnly: Bool?
        package let seconds: Double?
        public init(_ path: DocumentPath, readOnly: Bool, seconds: Double?) { (self.path, self.readOnly, self.seconds) = (path, readOnly, seconds) }
    }
    public struct Revocation: Codable, Sendable {
        package let token: String?
        package let path: DocumentPath?
        /// With neither, all are revoked.
        public init(token: String? = nil, path: DocumentPath? = nil) { (self.token, self.path) = (token, path) }
    }
    public struct Revoked: Codable, Sendable {
        public let revoked: Int
        public init(_ revoked: Int) { self.revoked = revoked }
    }
    public struct Grants: Codable, Sendable {
        public let grants: [GrantedScope]
        public init(_ grants: [GrantedScope]) { self.grants = grants }
    }

    package static let text = """
        # Grants: folders of the mount that show one document, or one folder with all in it,
        # and nothing else, to be bound into a sandbox or a container.
        #
        # Paths are as in org.quire.Mount. Grants are seen by the users who made them, and by
        # root. They end with the mount.
        interface org.quire.Grants

        # place: what was granted, in the grant's folder, whose name is the token. path: where
        # it is in the mount. seconds: how long the grant holds still; for as long as the
        # mount if there are none.
        type Scope (token: string, place: string, path: string, readOnly: bool, seconds: ?float)

        method Grant(path: string, readOnly: ?bool, seconds: ?float) -> (
          token: string,
          place: string,
          path: string,
          readOnly: bool,
          seconds: ?float
        )

        # Ends grants, for what is opened and what was: of a token; of a document or folder,
        # by its path or its place; or all. Returns how many.
        method Revoke(token: ?string, path: ?string) -> (revoked: int)

        # The latest first.
        method List() -> (grants: []Scope)

        """
}
