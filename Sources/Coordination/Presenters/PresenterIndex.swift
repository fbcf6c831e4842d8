import StorePrimitives

/// Presenters by the items that they show, those of each account apart, and those of folders with what is in them.
///
/// Events are told to all presenters of an item. Opens and claims look at the nearest of each user, so that a lookup costs the
/// length of the path and the users, however much one of these presents.
struct PresenterIndex: Sendable {
    private var users: [UInt32: CoveringIndex<PresenterID>] = [:]

    var isEmpty: Bool { users.isEmpty }

    mutating func insert(_ id: PresenterID, _ presenter: Presenter) {
        users[presenter.account, default: CoveringIndex()].insert(id, at: presenter.path, coversContents: presenter.coversContents)
    }

    mutating func remove(_ id: PresenterID, _ presenter: Presenter) {
        let user = presenter.account
        users[user]?.remove(id, at: presenter.path)
        if users[user]?.isEmpty == true { users[user] = nil }
    }

    /// Whether an item has any, or a folder that holds it.
    func shows(_ path: StorePath) -> Bool { users.values.contains { $0.covers(path) } }

    /// Of each user so many of an item's at most, and of the folders that hold it with what is in them, the nearest first. With
    /// `contents` also those of what is in it.
    func nearest(_ path: StorePath, contents: Bool = false, mostOfUser most: Int) -> [PresenterID] {
        users.values.flatMap { user in
            let near = Array(user.covering(path).lazy.joined().prefix(most))
            guard contents, near.count < most else { return near }
            return Array((near + user.items.inside(path, limit: most).lazy.joined().prefix(most)).prefix(most))
        }
    }

    func hasAny(of user: UInt32) -> Bool { users[user] != nil }

    /// All of a user's of an item, and of the folders that hold it with what is in them. Linear in these.
    func showing(_ path: StorePath, of user: UInt32) -> [PresenterID] { users[user].map { Array($0.covering(path).joined()) } ?? [] }

    /// All of a user's of a folder and of what is in it. Linear in these.
    func within(_ folder: StorePath, of user: UInt32) -> [PresenterID] {
        users[user].map { Array($0.items[folder]) + $0.items.inside(folder).joined() } ?? []
    }
}
