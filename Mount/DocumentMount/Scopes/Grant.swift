import CLinux
import FuseServer
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage

/// The right to use one document, or one folder with all in it, by a path of its own: `.scopes/TOKEN`. It ends with the mount.
final class Grant: Sendable {
    /// Tells one grant from all others of this mount; never 0. `Caller.view` of requests that come by it.
    let number: UInt32
    /// The name of its folder in `.scopes`: whoever knows it may use the grant, if it is the owner or root.
    let token: EntryName
    /// The user who has granted.
    let owner: Credentials
    let isReadOnly: Bool
    /// On the clock that goes on while the machine sleeps (CLOCK_BOOTTIME), in nanoseconds; nil: for as long as the mount.
    let expiry: Int64?
    /// The folder that was granted, or the version that the granted document had then.
    var target: Node { held.node }
    private let held: HeldNode
    /// Of a document's grant.
    let files = GrantedFiles()
    private let isRevoked = Atomic<Bool>(false)
    private struct Place {
        var link: Node.Link
        /// The version that has the name, and the folders on the way there.
        var path: [HeldNode]
    }
    /// Where it was last seen. Leaf.
    private let place: Mutex<Place>
    private let table: NodeTable
    private let share: TakenShare

    /// - Parameter path: the folders on the way to the target, and the target.
    fileprivate init?(
        number: UInt32, token: EntryName, owner: Credentials, isReadOnly: Bool, expiry: Int64?, path: [HeldNode], in table: NodeTable, share: TakenShare
    ) {
        guard let held = path.last, let link = held.node.currentLink else { return nil }
        (self.number, self.token, self.owner, self.isReadOnly, self.expiry) = (number, token, owner, isReadOnly, expiry)
        (self.held, self.table, self.share) = (held, table, share)
        place = Mutex(Place(link: link, path: path))
    }

    func revoke() { isRevoked.store(true, ordering: .releasing) }

    /// Whether nothing may be done by it any more: it was revoked, or its time is over.
    var isOver: Bool { isRevoked.load(ordering: .acquiring) || expiry.map { Self.now >= $0 } ?? false }

    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return saturatedNanoseconds(time)
    }

    /// The folder and the name where the document or folder stands now, or stood last.
    var link: Node.Link {
        var node = target
        // Each save puts another version in the document's place.
        if node.currentLink == nil, let published = node.saved.load()?.state.withLock({ $0.published }) { node = published }
        guard let current = node.currentLink else { return place.withLock { $0.link } }
        // The nodes that are let go of here end without the lock: that takes others.
        let (before, isHeld) = place.withLock { place in
            defer { place.link = current }
            return (place.link, place.path.contains { $0.node === node })
        }
        if isHeld, before.parent === current.parent { return current }
        var path = HeldNode.all(from: node, in: table)
        place.withLock { swap(&$0.path, &path) }
        return current
    }
}

/// The grants of a mount.
final class Grants: Sendable {
    private struct State {
        var byToken: [EntryName: Grant] = [:]
        var byNumber: [UInt32: Grant] = [:]
        var last: UInt32 = 0
    }
    /// Leaf.
    private let state = Locked(State())
    private let shares: UserShares
    /// Told of a grant that is over, with nothing held.
    /// Safe: set before the mount serves.
    nonisolated(unsafe) var onEnd: (@Sendable (Grant) -> Void)?

    init(shares: UserShares) { self.shares = shares }

    /// Grants the use of what stands at the end of a path. Throws EDQUOT if the user has as many grants as a user may have.
    func make(
        of path: [HeldNode], in table: NodeTable, by owner: Credentials, isReadOnly: Bool, seconds: Double?
    ) throws(Errno) -> Grant {
        removeThoseThatAreOver()
        guard let share = TakenShare(.grants, 1, of: shares, for: owner.uid) else { throw .diskQuotaExceeded }
        let expiry = seconds.map { Grant.now.adding(clamping: Int64(clamping: $0 * 1e9)) }
        let token = Self.token()
        let number = state.withLock { state in
            state.last = state.last == .max ? 1 : state.last + 1
            return state.last
        }
        let made = Grant(
            number: number, token: token, owner: owner, isReadOnly: isReadOnly, expiry: expiry, path: path, in: table, share: share)
        guard let made else { throw .noSuchFileOrDirectory }
        state.withLock { state in
            state.byToken[token] = made
            state.byNumber[number] = made
        }
        return made
    }

    /// 128 bits that nobody can guess, in letters and digits.
    private static func token() -> EntryName {
        var generator = SystemRandomNumberGenerator()
        let digits = "abcdefghijklmnopqrstuvwxyz234567".utf8
        let letters = (0..<26).compactMap { _ in digits.randomElement(using: &generator) }
        // Letters and digits make a name.
        return EntryName(letters) ?? EntryName("grant")
    }

    /// The grant of a token that holds still.
    func grant(_ token: EntryName) -> Grant? {
        guard let grant = state.withLock({ $0.byToken[token] }) else { return nil }
        guard grant.isOver else { return grant }
        remove([grant])
        return nil
    }

    /// Whether requests may come by the view of this number: that of a grant that holds still.
    func holds(_ view: UInt32) -> Bool { state.withLock { $0.byNumber[view] }.map { !$0.isOver } ?? false }

    /// Those that hold, the latest first.
    var all: [Grant] { state.withLock { Array($0.byToken.values) }.filter { !$0.isOver }.sorted { $0.number > $1.number } }

    func revoke(_ grant: Grant) {
        grant.revoke()
        remove([grant])
    }

    private func removeThoseThatAreOver() { remove(state.withLock { $0.byToken.values.filter(\.isOver) }) }

    private func remove(_ grants: [Grant]) {
        state.withLock { state in
            for grant in grants { (state.byToken[grant.token], state.byNumber[grant.number]) = (nil, nil) }
        }
        for grant in grants { onEnd?(grant) }
    }

    /// Takes the files that programs have made beside documents in a folder, which is to be removed.
    func takeFiles(in folder: FileIdentity) -> [GrantedFiles.File] {
        state.withLock { Array($0.byToken.values) }.flatMap { $0.files.take { $0.folder.identity == folder } }
    }

    /// At the end of the mount.
    func removeAll() { remove(state.withLock { Array($0.byToken.values) }) }
}
