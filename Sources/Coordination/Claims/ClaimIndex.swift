import StorePrimitives

/// Claims by the items that they name, those that cover what is in a folder apart: a lookup of an item meets only the claims
/// that concern it.
struct ClaimIndex: Sendable {
    private var claims = CoveringIndex<ClaimID>()

    var isEmpty: Bool { claims.isEmpty }

    mutating func insert(_ id: ClaimID, _ intent: ClaimIntent) {
        claims.insert(id, at: intent.path, coversContents: intent.coversContents)
    }

    mutating func remove(_ id: ClaimID, at path: StorePath) { claims.remove(id, at: path) }

    /// The claims on an item, or on a folder with all that is in it. O(length of the path).
    func meeting(_ path: StorePath) -> [Set<ClaimID>] { claims.covering(path) }

    /// What the lookup for a request has met already: claims that meet several of its items are met once.
    struct Visit {
        fileprivate var items: Set<StorePath> = []
        fileprivate var above: Set<StorePath> = []
        fileprivate var inside = ItemIndex<Bool>()
    }

    /// The claims that meet an intent, each with an item that it has in common with that, but for those met before; intents are to
    /// come in the order of their paths' lengths.
    func meeting(_ intent: ClaimIntent, _ visit: inout Visit) -> [(item: StorePath, claims: Set<ClaimID>)] {
        guard !claims.isEmpty else { return [] }
        var found: [(StorePath, Set<ClaimID>)] = []
        if visit.items.insert(intent.path).inserted { found.append((intent.path, claims.items[intent.path])) }
        for place in claims.folders.placesAbove(intent.path) where visit.above.insert(place.path).inserted {
            found.append((intent.path, place.elements))
        }
        if intent.coversContents, visit.inside[intent.path].isEmpty, visit.inside.above(intent.path).isEmpty {
            visit.inside.insert(true, at: intent.path)
            found += claims.items.paths(inside: intent.path).map { ($0, claims.items[$0]) }
        }
        return found
    }

    /// Whether any meets an intent. O(length of the path).
    func meets(_ intent: ClaimIntent) -> Bool {
        meets(intent.path) || intent.coversContents && !claims.items.paths(inside: intent.path, limit: 1).isEmpty
    }

    /// Whether there is any on an item, or a folder with all that is in it.
    func meets(_ path: StorePath) -> Bool { claims.covers(path) }
}
