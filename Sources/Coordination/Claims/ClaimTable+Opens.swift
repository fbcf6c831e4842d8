public import StorePrimitives

/// Opens for writing, of programs that know nothing of claims.
extension ClaimTable {
    /// The oldest claim that keeps a process from writing an item; nil if it may. O(length of the path) without a claim on the way.
    /// - Parameter besides: claims that do not count.
    public func exclusion(
        of opener: Claimant, writing path: StorePath, besides isPowerless: (ClaimID) -> Bool = { _ in false }
    ) -> ClaimID? {
        var oldest: ClaimID?
        for ids in items.excluding(path) {
            for id in ids where oldest.map({ id < $0 }) ?? true {
                guard let claim = claims[id], !claim.serves(opener), !claim.isGuest(opener), !isPowerless(id) else { continue }
                oldest = id
            }
        }
        return oldest
    }

    /// Whether a claim that has begun awaits the end of what a process writes in an item: it does not work for the claim.
    public func awaits(_ writer: Claimant, writing path: StorePath, for id: ClaimID) -> Bool {
        guard let claim = claims[id] else { return false }
        return !claim.serves(writer) && claim.request.concernsContent(of: path)
    }

    /// The claim in whose name a process writes an item, so that what it saves is published with the claim; nil if there is
    /// none. Of several the one granted last.
    /// - Parameter ending: those that are not asked any more.
    public func transaction(of writer: Claimant, writing path: StorePath, besides ending: Set<ClaimID> = []) -> ClaimID? {
        transactions(writing: path).filter { !ending.contains($0) && claims[$0]?.serves(writer) == true }.max()
    }

    /// The claim within which another was asked for, and in whose name the same item is written; nil if there is none.
    public func outerTransaction(of id: ClaimID, writing path: StorePath) -> ClaimID? {
        guard let inner = claims[id]?.request else { return nil }
        return transactions(writing: path).filter { $0 < id && isWithin(inner, $0) }.max()
    }

    private func transactions(writing path: StorePath) -> [ClaimID] {
        items.excluding(path).flatMap { $0.filter { claims[$0]?.phase == .granted } }
    }

    /// Whether a claim is for moving or deleting an item, and not for its content alone.
    public func moves(_ path: StorePath, for id: ClaimID) -> Bool {
        let intent = ClaimIntent(path, .writing([]))
        return claims[id]?.request.intents.contains { own in
            guard case .writing(let options) = own.access else { return false }
            return own.meets(intent) && !options.isDisjoint(with: [.moving, .deleting])
        } ?? false
    }

    /// Whether a process works for a claim: it is its claimant, or was started by it since.
    public func serves(_ other: Claimant, _ id: ClaimID) -> Bool { claims[id]?.serves(other) ?? false }

    /// Lets processes write that were asked to save for a claim that has begun, until it is granted.
    public mutating func admit(_ guests: Set<SaveProcess>, to id: ClaimID) {
        guard claims[id]?.phase == .begun else { return }
        claims[id]?.guests.formUnion(guests)
        hosts.insert(id)
    }

    /// Something was moved: claims on it, and in it, go with it. A claim on the place it was moved to stays there. Linear in the
    /// claims that are moved.
    public mutating func moved(from old: StorePath, to new: StorePath) {
        guard !isEmpty else { return }
        items.beginMove(from: old, to: new)
        defer { items.endMove(from: old, to: new) }
        for path in [old] + items.paths(inside: old) {
            guard let moved = path.moved(from: old, to: new) else { continue }
            for id in items[path] { move(id, from: path, to: moved) }
        }
    }

    private mutating func move(_ id: ClaimID, from old: StorePath, to new: StorePath) {
        // After it stands at the new place: it keeps others out throughout.
        defer { leave(id, at: old) }
        guard let indices = claims[id]?.places.removeValue(forKey: old) else { return }
        let hasBegun = claims[id]?.phase != .queued
        for index in indices {
            claims[id]?.request.intents[index].path = new
            if let intent = claims[id]?.request.intents[index] { enter(id, intent, hasBegun: hasBegun) }
        }
        claims[id]?.places[new, default: []] += indices
    }
}
