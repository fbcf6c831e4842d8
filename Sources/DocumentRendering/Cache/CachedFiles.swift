import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// The files of a cache, as its folders list them.
struct CachedFiles {
    /// A folder and a name in it, which is a sum of 32 hexadecimal digits.
    private struct Place: Hashable {
        let kind: Int
        let sum: (high: UInt64, low: UInt64)

        static func == (left: Place, right: Place) -> Bool { left.kind == right.kind && left.sum == right.sum }

        func hash(into hasher: inout Hasher) {
            hasher.combine(sum.low)
            hasher.combine(kind)
        }
    }
    /// One picture, or the note that something cannot be rendered.
    private struct File {
        let place: Place
        /// The account that it counts for.
        let owner: uid_t
        let bytes: Int
        /// When it was rendered or read last, as far as the file system notes that (atime), in nanoseconds since 1970.
        let used: Int64
    }

    private let folders: [String]
    private let accounts: Accounts
    private var files: [File] = []
    /// The bytes of each account.
    private(set) var amounts: [uid_t: Int] = [:]

    /// Each takes whole blocks.
    static func bytes(_ status: cl_status) -> Int { Int(clamping: Int64(status.st.st_size)).adding(clamping: 4_095) / 4_096 * 4_096 }

    static func status(_ path: String) -> cl_status? {
        var status = cl_status()
        return cl_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) == 0 && status.isRegular ? status : nil
    }

    /// What a crash of a daemon left half written is removed an hour later.
    private static let leftoverSeconds = 3_600

    /// Reads the folders; files of other names are passed over. O(files), a system call each.
    /// - Parameter goesOn: asked now and then; what was found is not whole if it said no.
    init(in folders: [String], of accounts: Accounts, goesOn: () -> Bool) {
        (self.folders, self.accounts) = (folders, accounts)
        for (kind, folder) in folders.enumerated() {
            guard let stream = opendir(folder) else { continue }
            defer { closedir(stream) }
            while let entry = readdir(stream) {
                if files.count % 1_000 == 0, !goesOn() { return }
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
                guard name.utf8.count > 4, let status = Self.status("\(folder)/\(name)") else { continue }
                if let sum = Self.sum(name) {
                    add(Place(kind: kind, sum: sum), status)
                } else if name.hasPrefix(".quire-"), status.st.st_mtim.tv_sec < time(nil) - Self.leftoverSeconds {
                    unlink("\(folder)/\(name)")
                }
            }
        }
    }

    private mutating func add(_ place: Place, _ status: cl_status) {
        let used = max(saturatedNanoseconds(status.st.st_mtim), saturatedNanoseconds(status.st.st_atim))
        let file = File(place: place, owner: accounts.owner(of: status.st.st_uid), bytes: Self.bytes(status), used: used)
        files.append(file)
        amounts[file.owner] = (amounts[file.owner] ?? 0).adding(clamping: file.bytes)
    }

    /// Has those right that were changed since the folders began to be read.
    mutating func refresh(at paths: Set<String>) {
        guard !paths.isEmpty else { return }
        var changed: [Place: String] = [:]
        for path in paths {
            guard let kind = folders.firstIndex(where: { path.hasPrefix($0 + "/") }),
                let sum = Self.sum(path.dropFirst((folders[kind] + "/").count))
            else { continue }
            changed[Place(kind: kind, sum: sum)] = path
        }
        for file in files where changed[file.place] != nil { amounts[file.owner] = (amounts[file.owner] ?? 0) - file.bytes }
        files.removeAll { changed[$0.place] != nil }
        for (place, path) in changed { if let status = Self.status(path) { add(place, status) } }
    }

    /// Removes what is over the bounds, and an eighth of the bound with it, so that it is not exceeded again at once: of a user over
    /// the share the files that were not used for longest; then, if all together have too much, those of whoever has most.
    ///
    /// Another daemon may do the same at the same time: both remove the same files. One that was rendered anew since it was listed
    /// goes too, and is rendered again.
    mutating func trim(to bound: BoundedResource.Bound) {
        let over = amounts.filter { $0.value > bound.forUser }.map(\.key)
        var total = amounts.values.reduce(0) { $0.adding(clamping: $1) }
        guard !over.isEmpty || total > bound.forAll else { return }
        // The oldest last.
        var byOwner = Dictionary(grouping: files, by: \.owner).mapValues { $0.sorted { $0.used > $1.used } }
        func removeOldest(of owner: uid_t) -> Bool {
            guard let file = byOwner[owner]?.popLast() else { return false }
            unlink("\(folders[file.place.kind])/\(Self.name(file.place.sum))")
            amounts[owner] = (amounts[owner] ?? 0) - file.bytes
            total -= file.bytes
            return true
        }
        for owner in over { while (amounts[owner] ?? 0) > bound.forUser / 8 * 7, removeOldest(of: owner) {} }
        if total > bound.forAll {
            while total > bound.forAll / 8 * 7, let most = amounts.max(by: { ($0.value, $0.key) < ($1.value, $1.key) })?.key,
                removeOldest(of: most) {}
        }
        files = byOwner.values.flatMap { $0 }
    }

    private static func sum(_ name: some StringProtocol) -> (high: UInt64, low: UInt64)? {
        guard name.utf8.count == 36, name.hasSuffix(".png"), let high = UInt64(name.prefix(16), radix: 16),
            let low = UInt64(name.dropFirst(16).prefix(16), radix: 16), Self.name((high, low)) == name
        else { return nil }
        return (high, low)
    }

    private static func name(_ sum: (high: UInt64, low: UInt64)) -> String {
        func half(_ number: UInt64) -> String {
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        return half(sum.high) + half(sum.low) + ".png"
    }
}
