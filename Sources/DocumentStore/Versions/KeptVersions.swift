import CLinux
import Glibc
public import StorePrimitives
import Synchronization
public import SystemPackage

/// The versions of a store that can be had back, in the folder `kept` of its state folder: the content in a file `ID`, what
/// is known of it in `ID.about`. One daemon a store: nobody else changes the folder.
///
/// Contents are for the document's owner only, who alone is told of them (and root); on disk they belong, and count against the quota
/// of, who saved them.
public final class KeptVersions: Sendable {
    public struct Limits: Hashable, Sendable {
        /// Seven days: a weekend and a few days to notice. With 0 nothing is kept.
        public var seconds: Int64 = 7 * 24 * 3_600
        /// 1 GiB on disk for all of them, each counted as 8 KiB at least, 4 if only the fact is kept. A version larger than what one
        /// user may have is not kept; that it was there is.
        public var bytes: Int64 = 1 << 30 { didSet { bytesOfUser = bytes } }
        /// Of them for those that one user has saved; all, unless set to less after `bytes`.
        public var bytesOfUser: Int64 = 1 << 30

        public init() {}
    }

    private struct State {
        /// Oldest first.
        var versions: [KeptVersion] = []
        var nextID: UInt64 = 1
        /// Of all of them, as counted, and of each account's.
        var bytes: Int64 = 0
        var bytesOfAccounts: [uid_t: Int64] = [:]
        let shares: UserShares?

        func account(of version: KeptVersion) -> uid_t { shares?.accounts.owner(of: version.charged) ?? version.charged }

        mutating func append(_ version: KeptVersion) {
            versions.append(version)
            count(version, 1)
        }

        mutating func remove(at index: Int) -> KeptVersion {
            let version = versions.remove(at: index)
            count(version, -1)
            return version
        }

        private mutating func count(_ version: KeptVersion, _ times: Int64) {
            let change = KeptVersions.bytes(counted: version) * times
            bytes = bytes.adding(clamping: change)
            let account = account(of: version)
            bytesOfAccounts[account] = (bytesOfAccounts[account] ?? 0).adding(clamping: change)
            shares?.note(.keptBytes, Int(clamping: change), for: version.charged)
        }

        /// The version of the document that was kept in the same minute for this reason: savers in a loop overtake each other many times a second.
        func index(of document: StorePath, for reason: KeptVersion.Reason, at time: Int64) -> Int? {
            // Those of the minute are the last ones.
            for index in versions.indices.reversed() {
                let version = versions[index]
                guard version.time / KeptVersions.minute == time / KeptVersions.minute else { return nil }
                if version.reason == reason, version.document == document { return index }
            }
            return nil
        }

        /// Where one user has too much, or all together, the oldest of whoever has saved the most of what is kept. So nobody who may
        /// write a document of another's can wipe out what that user could have back.
        func indexToGo(_ limits: Limits) -> Int? {
            guard let most = bytesOfAccounts.max(by: { $0.value < $1.value }), bytes > limits.bytes || most.value > limits.bytesOfUser
            else { return nil }
            return versions.firstIndex { account(of: $0) == most.key }
        }
    }

    private static let minute: Int64 = 60_000_000_000

    /// Two files with names are the least that one takes.
    private static func bytes(counted version: KeptVersion) -> Int64 { version.hasContent ? max(version.allocated, 8_192) : 4_096 }

    private let folder: Descriptor
    private let limits: Limits
    /// A leaf; held while files are removed.
    private let state: Mutex<State>
    private let told: @Sendable (KeptVersion, Change) -> Void

    public enum Change: Sendable {
        /// A document has a version that can be had back, or one less.
        case gained, lost
    }

    /// Reads what is kept in `stateFolder`; makes the folder if there is none.
    ///
    /// - Parameter told: called on the thread that makes the change, after it, with no lock of this held but perhaps others': it may take leaves only.
    init(
        in stateFolder: Descriptor, limits: Limits, shares: UserShares? = nil, told: @escaping @Sendable (KeptVersion, Change) -> Void
    ) throws(Errno) {
        self.limits = limits
        self.told = told
        state = Mutex(State(shares: shares))
        let made = cl_mkdirat(stateFolder.number, "kept", 0o700)
        if made < 0, made != -EEXIST { throw Errno(rawValue: -made) }
        folder = try Descriptor(opening: "kept", in: stateFolder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        let versions = try Self.found(in: folder)
        state.withLock { state in
            for version in versions { state.append(version) }
            // A version that is removed leaves its number to no other: what a program knows by it would be another version.
            state.nextID = max(versions.map(\.id).max() ?? 0, Self.lastID(in: folder)) + 1
        }
        prune()
    }

    /// Keeps a version. Its descriptor must be open for reading.
    ///
    /// A working copy that has no name yet is moved at no cost if it is on the state folder's file system (`moving`: its mode
    /// becomes 0600 for whoever still has it open); everything else is copied, with shared blocks where the file system can.
    /// Throws ENOSPC and the like: then nothing is kept. What is over the limits goes: what is too old, then the oldest of
    /// whoever has saved more than one user may, or most of it, so that one user's many do not push out the others'. Of the versions
    /// of one document that were overtaken in one minute the newest stays. `user` makes the files; `payer` is who saved the version,
    /// if it is another than `saver`. `time`: when the version was overtaken or lost.
    @discardableResult
    public func keep(
        _ file: Descriptor, moving: Bool, document: StorePath, saver: KeptVersion.Saver?, reason: KeptVersion.Reason,
        by user: ActingUser, chargedTo payer: UInt32? = nil, at time: Int64 = cl_realtime_coarse_ns()
    ) throws(Errno) -> KeptVersion {
        try user.assume()
        let status = try FileStatus(of: file)
        let allocated = max(status.allocatedBytes, status.st.st_size > 0 ? 1 : 0)
        let id = state.withLock { state in
            defer { state.nextID += 1 }
            return state.nextID
        }
        let version = KeptVersion(
            id: id, payer: payer, document: document, owner: status.st.st_uid, group: status.st.st_gid, mode: status.st.st_mode & 0o7777,
            time: time, saver: saver, reason: reason, size: Int64(status.st.st_size),
            allocated: allocated > limits.bytesOfUser || limits.seconds <= 0 ? 0 : allocated)
        let about = try Descriptor(opening: Self.about(id), in: folder, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        do throws(Errno) {
            try WholeFile.write(version.record.bytes, to: about)
            // A file with other names is somebody's document.
            let moving = moving && status.st.st_nlink <= 1
            if version.hasContent { try store(file, moving: moving, as: "\(id)", owner: version.charged) }
        } catch {
            remove(id)
            throw error
        }
        let replaced = state.withLock { state -> KeptVersion? in
            guard reason == .overtaken, let index = state.index(of: document, for: reason, at: version.time) else {
                state.append(version)
                return nil
            }
            let other = state.remove(at: index)
            let (newer, older) = other.time > version.time ? (other, version) : (version, other)
            remove(older.id)
            state.append(newer)
            return older
        }
        let pruned = pruned(now: cl_realtime_coarse_ns())
        if let replaced, replaced.id != version.id { told(replaced, .lost) }
        if replaced?.id != version.id, !pruned.contains(where: { $0.id == version.id }) { told(version, .gained) }
        for other in pruned where other.id != version.id { told(other, .lost) }
        return version
    }

    /// Whether a version of the document was kept for this reason within this minute.
    public func wasJustKept(_ document: StorePath, for reason: KeptVersion.Reason) -> Bool {
        state.withLock { $0.index(of: document, for: reason, at: cl_realtime_coarse_ns()) != nil }
    }

    /// Whether a file is on the file system that versions are kept on, so that one without a name is kept at no cost.
    public func isBeside(_ file: Descriptor) -> Bool {
        guard let kept = try? FileStatus(of: folder), let other = try? FileStatus(of: file) else { return false }
        return kept.st.st_dev == other.st.st_dev
    }

    /// What this user may have back, oldest first; root all.
    public func list(for uid: UInt32) -> [KeptVersion] {
        prune()
        return state.withLock { $0.versions.filter { uid == 0 || $0.owner == uid } }
    }

    /// The content, open for reading. Throws ENOENT if there is no such version for this user, EFBIG if it was too large to be
    /// kept.
    public func content(of id: UInt64, for uid: UInt32) throws(Errno) -> Descriptor {
        let version = try version(id, for: uid)
        guard version.hasContent else { throw .fileTooLarge }
        return try Descriptor(opening: "\(id)", in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    }

    /// Throws ENOENT if there is no such version for this user.
    public func version(_ id: UInt64, for uid: UInt32) throws(Errno) -> KeptVersion {
        guard let version = list(for: uid).first(where: { $0.id == id }) else { throw .noSuchFileOrDirectory }
        return version
    }

    /// Throws ENOENT if there is no such version for this user.
    public func drop(_ id: UInt64, for uid: UInt32) throws(Errno) {
        _ = try version(id, for: uid)
        let dropped = removing { state in state.versions.firstIndex { $0.id == id }.map { [state.remove(at: $0)] } ?? [] }
        for version in dropped { told(version, .lost) }
    }

    /// Removes what is over the limits, see `keep`. Also done by each `keep` and `list`.
    public func prune(now: Int64 = cl_realtime_coarse_ns()) {
        for version in pruned(now: now) { told(version, .lost) }
    }

    private func pruned(now: Int64) -> [KeptVersion] {
        removing { state in
            var gone: [KeptVersion] = []
            while let first = state.versions.first, limits.seconds <= 0 || (now &- first.time) / 1_000_000_000 > limits.seconds {
                gone.append(state.remove(at: 0))
            }
            while let index = state.indexToGo(limits) { gone.append(state.remove(at: index)) }
            return gone
        }
    }

    /// Removes the files of what `body` takes out, and returns it.
    private func removing(_ body: (inout State) -> [KeptVersion]) -> [KeptVersion] {
        state.withLock { state in
            let gone = body(&state)
            if gone.contains(where: { $0.id + 1 == state.nextID }) { noteLastID(state.nextID - 1) }
            for version in gone { remove(version.id) }
            return gone
        }
    }

    /// The highest number that a version ever had, if that version is gone.
    private static let lastIDName = "last"

    private static func lastID(in folder: Descriptor) -> UInt64 {
        let text = (try? WholeFile.read(lastIDName, in: folder)) ?? []
        return UInt64(String(decoding: text, as: UTF8.self)).flatMap { $0 < KeptVersion.idLimit ? $0 : nil } ?? 0
    }

    private func noteLastID(_ id: UInt64) {
        // Without room for it the number is given once more after the next start.
        try? WholeFile.replace(Self.lastIDName, in: folder, with: Array("\(id)".utf8))
    }

    private func remove(_ id: UInt64) {
        _ = cl_unlinkat(folder.number, "\(id)", 0)
        _ = cl_unlinkat(folder.number, Self.about(id), 0)
    }

    private static func about(_ id: UInt64) -> String { "\(id).about" }

    private func store(_ file: Descriptor, moving: Bool, as name: String, owner: uid_t) throws(Errno) {
        if moving, cl_link_open_file(file.number, folder.number, name) == 0 {
            _ = cl_fremovexattr(file.number, ExtendedAttribute.accessList)
            _ = cl_fchown(file.number, owner, .max)
            _ = cl_fchmod(file.number, 0o600)
            return
        }
        // Under its own name only when it is whole.
        let part = name + ".part"
        let copy = try Descriptor(opening: part, in: folder, flags: O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
        do throws(Errno) {
            try FileCopy.copy(file, to: copy)
            // The thread may act as somebody else; an ordinary user's daemon keeps what is its own.
            _ = cl_fchown(copy.number, owner, .max)
            _ = try check(cl_renameat2(folder.number, part, folder.number, name, 0))
        } catch {
            _ = cl_unlinkat(folder.number, part, 0)
            throw error
        }
    }

    /// What the folder holds, oldest first; leftovers of a crash are removed.
    private static func found(in folder: Descriptor) throws(Errno) -> [KeptVersion] {
        var names: Set<String> = []
        try FolderListing.read(folder) { name, _ in
            names.insert(String(cString: name))
            return true
        }
        var versions: [KeptVersion] = []
        var known: Set<String> = []
        for name in names where name.hasSuffix(".about") {
            guard let text = try? WholeFile.read(name, in: folder), let record = RecordLine(parsing: text.dropLast()),
                let version = KeptVersion(record), name == about(version.id),
                !version.hasContent || names.contains("\(version.id)")
            else { continue }
            versions.append(version)
            known.formUnion([name, "\(version.id)"])
        }
        for name in names.subtracting(known) where name != lastIDName { _ = cl_unlinkat(folder.number, name, 0) }
        return versions.sorted { ($0.time, $0.id) < ($1.time, $1.id) }
    }
}
