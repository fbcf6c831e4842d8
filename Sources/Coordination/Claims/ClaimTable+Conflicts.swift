import StorePrimitives

extension ClaimTable {
    /// Where a request stands among the claims there are.
    struct Place {
        /// Those that it has to wait for: of the claims that meet its items, writers that it does not belong with. A reader
        /// waits for those that have begun.
        var blockers: Set<ClaimID> = []
        /// Those that have to wait for it although they came before: they wait for a claim that waits for its maker.
        var overtaken: Set<ClaimID> = []
    }

    func place(of request: ClaimRequest) -> Place {
        var place = Place()
        let hosts = self.hosts(of: request.claimant)
        for intent in request.intents where !intent.isImmediate {
            for id in candidates(for: intent) where !hosts.contains(id) && !place.blockers.contains(id) {
                let claim = claims[id]!
                guard intent.isWriting || claim.phase != .queued, claim.writes(intent), !belongs(request, to: id) else { continue }
                place.blockers.insert(id)
            }
        }
        guard !hosts.isEmpty else { return place }
        place.overtaken = place.blockers.intersection(followers(of: hosts))
        place.blockers.subtract(place.overtaken)
        return place
    }

    /// The claims that wait for a process at this moment, having asked it to save.
    private func hosts(of claimant: Claimant) -> Set<ClaimID> {
        hosts.filter { claims[$0]!.isGuest(claimant) }
    }

    /// The claims that wait for one of these, directly or through others.
    private func followers(of ids: Set<ClaimID>) -> Set<ClaimID> {
        var found: Set<ClaimID> = []
        var next = Array(ids)
        while let id = next.popLast() {
            for follower in claims[id]!.followers where found.insert(follower).inserted { next.append(follower) }
        }
        return found
    }

    /// Claims that may meet an intent.
    private func candidates(for intent: ClaimIntent) -> [ClaimID] {
        let direct = items[intent.path] + items.above(intent.path)
        return intent.coversContents ? direct + items.inside(intent.path) : direct
    }

    /// Whether a request never waits for a claim: it is made by whom the claim serves, or while that is held.
    func belongs(_ request: ClaimRequest, to id: ClaimID) -> Bool {
        isWithin(request, id) || claims[id]!.serves(request.claimant)
    }

    /// Whether a claim is held for as long as a request waits.
    func isWithin(_ request: ClaimRequest, _ id: ClaimID) -> Bool {
        var outer = request.within
        while let claim = outer {
            if claim == id { return true }
            outer = claims[claim]?.request.within
        }
        return claims[id]!.hasStarted(request.claimant)
    }

    /// The claims on the way of a request that would wait for itself; nil if it would not.
    ///
    /// Who waits for a claim waits for what that waits for, and for what is asked for within it. Linear in the claims reached,
    /// times the claims that wait.
    func cycle(closedBy request: ClaimRequest, at place: Place) -> [ClaimID]? {
        guard !place.blockers.isEmpty else { return nil }
        let waiting = claims.filter { $0.value.phase == .queued }
        // Claims that must end before this one begins, and claims that must begin before those can end.
        var (ends, beginnings) = (place.blockers, Set<ClaimID>())
        var next = Array(place.blockers)
        while let holder = next.popLast() {
            var waits = claims[holder]!.blockers
            for (id, claim) in waiting where isWithin(claim.request, holder) && beginnings.insert(id).inserted {
                waits.formUnion(claim.blockers)
            }
            for id in waits where ends.insert(id).inserted { next.append(id) }
        }
        let way = ends.union(beginnings)
        guard !place.overtaken.isDisjoint(with: way) || ends.contains(where: { isWithin(request, $0) }) else { return nil }
        return way.sorted()
    }
}

extension Claim {
    /// Whether it writes what an intent names.
    func writes(_ intent: ClaimIntent) -> Bool { request.intents.contains { $0.isWriting && $0.meets(intent) } }

    func serves(_ other: Claimant) -> Bool { request.claimant.includes(other, since: request.moment) }

    func hasStarted(_ other: Claimant) -> Bool { request.claimant.hasStarted(other, since: request.moment) }

    /// Whether a process was asked to save for it.
    func isGuest(_ other: Claimant) -> Bool {
        guard !guests.isEmpty else { return false }
        return other.process.map(guests.contains) ?? false || other.ancestors.contains(where: guests.contains)
    }
}
