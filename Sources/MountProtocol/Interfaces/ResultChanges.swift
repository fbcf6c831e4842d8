/// What leads from the results that were told before to those of now; see `ListDifference` for the order in which it is applied.
public struct ResultChanges: Codable, Hashable, Sendable {
    /// The first scan of the store has met all documents.
    public var complete: Bool
    /// There are more than the limit.
    public var more: Bool
    /// Places in the list before, rising.
    public var removed: [Int]
    /// By the places in the new list, rising.
    public var moved: [PlaceChange]
    /// At places of the new list, rising.
    public var inserted: [PlacedDocument]
    /// Documents that were in the list and have another path, size or time: as they are now, at their places in the new list.
    public var changed: [PlacedDocument]

    public init(
        complete: Bool, more: Bool, removed: [Int], moved: [PlaceChange], inserted: [PlacedDocument], changed: [PlacedDocument]
    ) {
        (self.complete, self.more, self.removed, self.moved) = (complete, more, removed, moved)
        (self.inserted, self.changed) = (inserted, changed)
    }

    /// The results of now, made of those before. Places that are none are passed over: any program may serve a socket.
    public func applied<Item>(to old: [Item], _ make: (FoundDocument) -> Item) -> [Item] {
        var items = old
        let moves = moved.filter { old.indices.contains($0.from) }
        for place in (removed + moves.map(\.from)).sorted().reversed() where items.indices.contains(place) { items.remove(at: place) }
        let added = inserted.map { (place: $0.at, item: make($0.document)) } + moves.map { (place: $0.to, item: old[$0.from]) }
        for (place, item) in added.sorted(by: { $0.place < $1.place }) where (0...items.count).contains(place) { items.insert(item, at: place) }
        for change in changed where items.indices.contains(change.at) { items[change.at] = make(change.document) }
        return items
    }
}

/// From a place in the list before to one in the new list.
public struct PlaceChange: Codable, Hashable, Sendable {
    public var from, to: Int

    public init(from: Int, to: Int) { (self.from, self.to) = (from, to) }
}

public struct PlacedDocument: Codable, Hashable, Sendable {
    public var at: Int
    public var document: FoundDocument

    public init(at place: Int, document: FoundDocument) { (at, self.document) = (place, document) }
}
