import DocumentStore
import Glibc
import StorePrimitives
import Synchronization

/// For whom a snapshot is, and what it takes of that user's share: a descriptor for each file and folder, until `end`.
///
/// Copies of contents, which may outlive the claim, are `FrozenContent`.
final class SnapshotShare: Sendable {
    let holder: Credentials
    /// Whoever copies of contents are made by, and count for on disk.
    let actingUser: ActingUser
    private let shares: UserShares
    private let files = Atomic<Int>(0)

    init(_ holder: Credentials, actingUser: ActingUser, _ shares: UserShares) {
        (self.holder, self.actingUser, self.shares) = (holder, actingUser, shares)
    }

    deinit { end() }

    /// Counts one more descriptor; false if the holder has as many as one may.
    func takeFile() -> Bool {
        guard shares.take(.snapshotFiles, for: holder.uid) else { return false }
        files.add(1, ordering: .relaxed)
        return true
    }

    /// The descriptors are closed. Nothing is taken afterwards.
    func end() {
        let taken = files.exchange(0, ordering: .relaxed)
        if taken > 0 { shares.giveBack(.snapshotFiles, taken, for: holder.uid) }
    }

    /// What is to count for the holder of a copy of `bytes`; nil if that is more than there may be. What shares its blocks with the
    /// document (`bytes` is 0) counts by its descriptor alone.
    fileprivate func shareOfCopy(_ bytes: Int64) -> (TakenShare, TakenShare)? {
        guard let file = TakenShare(.snapshotFiles, of: shares, for: holder.uid),
            let content = TakenShare(.snapshotBytes, Int(clamping: bytes), of: shares, for: holder.uid)
        else { return nil }
        return (file, content)
    }
}

/// A copy of a document's content, made for the snapshots of one user that show it. Counts for that user until it goes.
final class FrozenContent: Sendable {
    let file: Descriptor
    private let shares: (TakenShare, TakenShare)

    /// - Parameters:
    ///   - document: open for reading.
    ///   - folder: on the same file system; O_PATH will do.
    ///   - isStill: nobody writes the document meanwhile.
    init(
        of document: Descriptor, in folder: Descriptor, isStill: Bool, for share: SnapshotShare, _ versions: VersionStore
    ) throws(FrozenCopyFailure) {
        var taken: (TakenShare, TakenShare)?
        file = try versions.frozenCopy(of: document, in: folder, isStill: isStill, by: share.actingUser) { bytes in
            // What was taken for a smaller size first, so that a document of the whole share's size can be counted anew.
            taken = nil
            taken = share.shareOfCopy(bytes)
            return taken != nil
        }
        guard let taken else { throw .overShare }
        shares = taken
    }
}
