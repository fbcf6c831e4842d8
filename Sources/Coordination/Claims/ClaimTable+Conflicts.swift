import StorePrimitives

extension ClaimTable {
    /// Where a request stands among the claims there are.
    struct Place {
        /// Those that it has to wait for: of the claims that meet its items, writers that it does not belong with. A reader
        /// waits for those that have begun.
        var blockers: Set<ClaimID> = []
        /// Those that have to wait for it although they came before: they wait for a claim that waits for its claimant.
        var overtaken: Set<ClaimID> = []
        /// Of the blockers that are other users' claims: the items for which they block it.
        var foreign: [ClaimID: Set<StorePath>] = [:]
    }

    func place(of request: ClaimRequest, besides powerless: Set<ClaimID>) -> Place {
        var place = Place()
        let hosts = self.hosts(of: request.claimant)
        // As a rule nobody else claims any of its items.
        guard !hosts.isEmpty || request.intents.contains(where: writers.meets) else { return place }
        var passed = hosts.union(powerless)
        let chain = self.chain(of: request)
        for isWriting in [false, true] {
            let intents = request.intents.filter { $0.isWriting == isWriting && !$0.isImmediate }
            var visit = ClaimIndex.Visit()
            for intent in intents.sorted(by: { $0.path.bytes.count < $1.path.bytes.count }) {
                for (item, ids) in writers.meeting(intent, &visit) {
                    for id in ids where !passed.contains(id) {
                        guard let claim = claims[id], isWriting || claim.phase != .queued else { continue }
                        if claim.request.claimant.user != request.claimant.user { place.foreign[id, default: []].insert(item) }
                        guard !place.blockers.contains(id) else { continue }
                        // It never waits for a claim of whom it works for, nor for one that is held while it waits.
                        if chain.contains(id) || claim.serves(request.claimant) {
                            passed.insert(id)
                            place.foreign[id] = nil
                        } else {
                            place.blockers.insert(id)
                        }
                    }
                }
            }
        }
        guard !hosts.isEmpty else { return place }
        place.overtaken = place.blockers.intersection(followers(of: hosts))
        place.blockers.subtract(place.overtaken)
        return place
    }

    /// The claims of other users that a request would wait for, each with the items for which it would.
    public func others(before request: ClaimRequest) -> [ClaimID: Set<StorePath>] { place(of: request, besides: []).foreign }

    /// The claims that wait for a process at this moment, having asked it to save.
    private func hosts(of claimant: Claimant) -> Set<ClaimID> {
        hosts.isEmpty ? [] : hosts.filter { claims[$0]?.isGuest(claimant) == true }
    }

    /// The claims that wait for one of these, directly or through others.
    private func followers(of ids: Set<ClaimID>) -> Set<ClaimID> {
        var found: Set<ClaimID> = []
        var next = Array(ids)
        while let id = next.popLast() {
            for follower in claims[id]?.followers ?? [] where found.insert(follower).inserted { next.append(follower) }
        }
        return found
    }

    /// The claims that are held for as long as a request waits: those it was asked for within, and those of processes that have
    /// started its claimant. Linear in the claims.
    private func outers(of request: ClaimRequest) -> Set<ClaimID> {
        var found = chain(of: request)
        guard !request.claimant.ancestors.isEmpty else { return found }
        for (id, claim) in claims where claim.hasStarted(request.claimant) { found.insert(id) }
        return found
    }

    private func chain(of request: ClaimRequest) -> Set<ClaimID> {
        var found: Set<ClaimID> = []
        var outer = request.within
        while let claim = outer, let next = claims[claim], found.insert(claim).inserted { outer = next.request.within }
        return found
    }

    /// Whether a claim is held for as long as a request waits.
    func isWithin(_ request: ClaimRequest, _ id: ClaimID) -> Bool {
        var outer = request.within
        while let claim = outer {
            if claim == id { return true }
            outer = claims[claim]?.request.within
        }
        return claims[id]?.hasStarted(request.claimant) ?? false
    }

    /// The claims on the way of a request that would wait for itself; nil if it would not.
    ///
    /// Who waits for a claim waits for what that waits for, and for what is asked for within it. Linear in the claims, and in those
    /// that the ones reached wait for.
    func cycle(closedBy request: ClaimRequest, at place: Place) -> [ClaimID]? {
        guard !place.blockers.isEmpty else { return nil }
        let outers = self.outers(of: request)
        guard !outers.isEmpty || !place.overtaken.isEmpty else { return nil }
        let waiting = waitingWithin()
        // Claims that must end before this one begins, and claims that must begin before those can end.
        var (ends, beginnings) = (place.blockers, Set<ClaimID>())
        var next = Array(place.blockers)
        while let holder = next.popLast() {
            var waits = claims[holder]?.blockers ?? []
            for id in waiting[holder] ?? [] where beginnings.insert(id).inserted { waits.formUnion(claims[id]?.blockers ?? []) }
            for id in waits where ends.insert(id).inserted { next.append(id) }
        }
        let way = ends.union(beginnings)
        guard !place.overtaken.isDisjoint(with: way) || !ends.isDisjoint(with: outers) else { return nil }
        return way.sorted()
    }

    /// The claims that wait while another one is held, by that one.
    private func waitingWithin() -> [ClaimID: [ClaimID]] {
        var held: [SaveProcess: [ClaimID]] = [:]
        for (id, claim) in claims {
            if let process = claim.request.claimant.process { held[process, default: []].append(id) }
        }
        var found: [ClaimID: [ClaimID]] = [:]
        for (id, claim) in claims where claim.phase == .queued {
            var outers = chain(of: claim.request)
            for ancestor in claim.request.claimant.ancestors {
                outers.formUnion((held[ancestor] ?? []).filter { claims[$0]?.hasStarted(claim.request.claimant) == true })
            }
            for outer in outers { found[outer, default: []].append(id) }
        }
        return found
    }
}

extension Claim {
    func serves(_ other: Claimant) -> Bool { request.claimant.includes(other, since: request.moment) }

    func hasStarted(_ other: Claimant) -> Bool { request.claimant.hasStarted(other, since: request.moment) }

    /// Whether a process was asked to save for it.
    func isGuest(_ other: Claimant) -> Bool {
        guard !guests.isEmpty else { return false }
        return other.process.map(guests.contains) ?? false || other.ancestors.contains(where: guests.contains)
    }
}
