import FuseServer
import Glibc
import StorePrimitives

/// An O_PATH descriptor by which a node is found that has no name any more, or none yet.
///
/// It is held until the kernel forgets the node, so as long as any app has it open with O_PATH, as working folder or mapped: a user
/// can have half a million of them. So each counts (`BoundedResource.removedFiles`) for whoever had the file lose its name, since
/// nobody can so use up what is another's: the file's owner may have nothing to do with it, and who has it open the kernel does not
/// tell. Whoever has as many as one may gets no more: requests for such a node then find it by its open handles alone, or answer
/// ESTALE.
struct Pin {
    let file: Descriptor
    /// Nil for a descriptor that counts elsewhere.
    private let share: TakenShare?

    /// A descriptor that something else holds as well, which counts for it.
    init(counted file: Descriptor) { (self.file, share) = (file, nil) }

    /// Nil if the user has as many as one may.
    init?(_ file: Descriptor?, for user: uid_t, of shares: UserShares) {
        guard let file, let share = TakenShare(.removedFiles, of: shares, for: user) else { return nil }
        (self.file, self.share) = (file, share)
    }
}
