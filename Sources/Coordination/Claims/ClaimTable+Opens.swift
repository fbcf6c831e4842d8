public import StorePrimitives

/// Opens for writing, of programs that know nothing of claims.
extension ClaimTable {
    /// The claim that keeps a process from writing an item; nil if it may. O(depth of the path) without a claim on the way.
    public func exclusion(of opener: Claimant, writing path: StorePath) -> ClaimID? {
        guard excludesWriters else { return nil }
        let intent = ClaimIntent(path, .writing([]))
        return (items[path] + items.above(path)).first { id in
            let claim = claims[id]!
            guard claim.phase != .queued, claim.excludesContent(of: intent) else { return false }
            return !claim.serves(opener) && !claim.isGuest(opener)
        }
    }

    /// Whether anybody claims an item or a folder that holds it. O(depth).
    public func isClaimed(_ path: StorePath) -> Bool { !items[path].isEmpty || !items.above(path).isEmpty }

    /// Whether a claim that has begun awaits the end of what a process writes in an item: it does not work for the claim.
    public func awaits(_ writer: Claimant, writing path: StorePath, for id: ClaimID) -> Bool {
        guard let claim = claims[id] else { return false }
        return !claim.serves(writer) && claim.request.concernsContent(of: path)
    }

    /// The claim in whose name a process writes an item, so that what it saves is published with the claim; nil if there is
    /// none. Of several the one granted last.
    /// - Parameter ending: those that are not asked any more.
    public func workspace(of writer: Claimant, writing path: StorePath, besides ending: Set<ClaimID> = []) -> ClaimID? {
        workspaces(writing: path).filter { !ending.contains($0) && claims[$0]!.serves(writer) }.max()
    }

    /// The claim within which another was asked for, and in whose name the same item is written; nil if there is none.
    public func outerWorkspace(of id: ClaimID, writing path: StorePath) -> ClaimID? {
        guard let inner = claims[id]?.request else { return nil }
        return workspaces(writing: path).filter { $0 < id && isWithin(inner, $0) }.max()
    }

    private func workspaces(writing path: StorePath) -> [ClaimID] {
        guard excludesWriters else { return [] }
        let intent = ClaimIntent(path, .writing([]))
        return (items[path] + items.above(path)).filter { claims[$0]!.phase == .granted && claims[$0]!.excludesContent(of: intent) }
    }

    /// Whether a claim is for moving or deleting an item, and not for its content alone.
    public func moves(_ path: StorePath, for id: ClaimID) -> Bool {
        let intent = ClaimIntent(path, .writing([]))
        return claims[id]?.request.intents.contains { own in
            guard case .writing(let options) = own.access else { return false }
            return own.meets(intent) && !options.isDisjoint(with: [.moving, .deleting])
        } ?? false
    }

    /// Whether a process works for a claim: it is its maker, or was started by it since.
    public func serves(_ other: Claimant, _ id: ClaimID) -> Bool { claims[id]?.serves(other) ?? false }

    /// Lets processes write that were asked to save for a claim that has begun, until it is granted.
    public mutating func admit(_ guests: Set<SaveProcess>, to id: ClaimID) {
        guard claims[id]?.phase == .begun else { return }
        claims[id]!.guests.formUnion(guests)
        hosts.insert(id)
    }

    /// Something was moved: claims on it, and in it, go with it. A claim on the place it was moved to stays there.
    public mutating func moved(from old: StorePath, to new: StorePath) {
        guard !isEmpty else { return }
        for id in Set(items[old] + items.inside(old)) {
            let intents = claims[id]!.request.intents
            let moved = intents.map { ClaimIntent($0.path.moved(from: old, to: new) ?? $0.path, $0.access) }
            for (before, after) in zip(intents, moved) where before.path != after.path {
                items.remove(id, at: before.path)
                items.insert(id, at: after.path)
            }
            claims[id]!.request.intents = moved
        }
    }
}

extension Claim {
    /// Whether it claims the content of an item for writing.
    fileprivate func excludesContent(of intent: ClaimIntent) -> Bool {
        request.intents.contains { own in
            own.isWriting && own.concernsContent && own.meets(intent)
        }
    }
}
