import Glibc

/// Whose permissions count: a user, with the groups that go with it (credentials(7)).
public struct Credentials: Hashable, Sendable {
    public let uid: uid_t
    public let gid: gid_t
    /// Supplementary groups.
    public let groups: [gid_t]

    public init(uid: uid_t, gid: gid_t, groups: [gid_t]) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }
}
