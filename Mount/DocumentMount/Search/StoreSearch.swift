import DocumentIndex
import Glibc
import QueryLanguage
import StorePrimitives

/// Searches, for the users who ask: a user finds the documents that the user may read.
final class StoreSearch: Sendable {
    private let indexer: Indexer
    let access: AccessChecker
    private let types = DocumentTypeMatcher()
    /// Keeps the texts that are searched; nil on a mount without.
    /// Safe: set before the mount serves.
    nonisolated(unsafe) var texts: TextIndexer?

    /// How long the evaluation may take, and then the look at who may read what was found.
    private static let longest = Duration.seconds(5)
    /// Of so many documents it is found out at once whether the user may read them.
    private static let batch = 1_000

    init(indexer: Indexer, access: AccessChecker) {
        self.indexer = indexer
        self.access = access
    }

    func mayRead(_ document: StorePath, _ caller: Credentials) -> Bool { access.may(caller, document, R_OK) }

    /// The documents that meet a query, `limit` at most, and whether there are more. Has what was written through the mount until
    /// the last `Indexer.catchUp`, which the caller calls with no lock held.
    func documents(
        _ query: Query, order: SearchOrder, limit: Int, _ caller: Credentials, remembering memory: SearchMemory? = nil
    ) throws(IndexError) -> (documents: [Document], hasMore: Bool) {
        indexer.noteSearch()
        let deadline = ContinuousClock.now + Self.longest
        var rest = try ids(query, order, caller, memory)[...]
        var found: [Document] = []
        while !rest.isEmpty {
            guard ContinuousClock.now < deadline else { throw .searchTooLong }
            // One more than is wanted tells that there are more.
            let part = rest.prefix(max(min(limit - found.count + 1, Self.batch), 1))
            rest = rest.dropFirst(part.count)
            let documents = try indexer.index.documents(part)
            for (document, isAccessible) in zip(documents, access.filter(documents.map(\.path), caller)) where isAccessible {
                guard found.count < limit else { return (found, true) }
                found.append(document)
            }
        }
        return (found, false)
    }

    private func ids(_ query: Query, _ order: SearchOrder, _ caller: Credentials, _ memory: SearchMemory?) throws(IndexError) -> [DocumentID] {
        let users = users(of: query, caller)
        do throws(IndexError) {
            return try indexer.index.search(query, in: texts?.textIndex, order: order, types: types, for: users, remembering: memory, within: Self.longest)
        } catch .textCorrupt {
            // Names go on to be searched.
            texts?.noteDamage()
            return try indexer.index.search(query, order: order, types: types, for: users, within: Self.longest)
        }
    }

    /// A name that no user has is left out.
    private func users(of query: Query, _ caller: Credentials) -> SearchUsers {
        var named: [String: UserID] = [:]
        for name in query.expression.writers {
            named[name] = name == "me" ? UserID(caller.uid) : (known(name) ?? uid_t(name)).map { UserID($0) }
        }
        return SearchUsers(asker: UserID(caller.uid), named: named)
    }

    /// The user of a name, as it was found a moment ago.
    private func known(_ name: String) -> uid_t? {
        let now = Clock.now
        if let known = names.withLock({ $0[name] }), now - known.since < Self.nameLifetime { return known.user }
        let user = Self.user(named: name)
        names.withLock { names in
            if names.count >= Self.mostNames { names.removeAll() }
            names[name] = (user, now)
        }
        return user
    }

    /// Users who were named in queries. Leaf lock.
    private let names = Locked<[String: (user: uid_t?, since: Int64)]>([:])
    private static let mostNames = 1_000
    private static let nameLifetime: Int64 = 60_000_000_000

    /// The user of a name (getpwnam_r(3)); nil if there is none. May ask a directory service.
    private static func user(named name: String) -> uid_t? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            var (account, found): (passwd, UnsafeMutablePointer<passwd>?) = (passwd(), nil)
            guard getpwnam_r(name, &account, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else { return nil }
            return account.pw_uid
        }
    }
}
