import Coordination
import StorePrimitives
import Testing

/// Random worlds of processes that claim, hold, give up, start others and move things, against a naive account of the same.
struct ClaimWorldTests {
    @Test(arguments: 0..<4 as Range<UInt64>)
    func noClaimIsGrantedWronglyLateOrNever(block: UInt64) throws {
        var seen: [String: Int] = [:]
        for seed in block * 100..<(block + 1) * 100 {
            let world = ClaimWorld(seed: seed)
            try world.run(steps: 150, seed: seed)
            seen.merge(world.seen, uniquingKeysWith: +)
        }
        for event in ["begun", "queued", "refused", "released", "cancelled", "moved", "nested", "started", "admitted", "overtaken", "drained"] {
            #expect(seen[event, default: 0] > 20, "\(event)")
        }
    }
}

extension ClaimWorld {
    private static let paths = ["", "a", "a/b", "a/b/c", "a/x", "ab", "d", "d/e"].map { StorePath($0)! }
    private static let writing: [ClaimWritingOptions] = [[], .merging, .replacing, .moving, .deleting, .metadataOnly]
    private static let reading: [ClaimReadingOptions] = [[], [], .withoutChanges, .immediately, .metadataOnly]

    fileprivate func run(steps: Int, seed: UInt64) throws {
        for _ in 0..<4 { start(by: nil) }
        for step in 0..<steps {
            try act("seed \(seed), step \(step)")
            try check("seed \(seed), step \(step)")
        }
        try drain("seed \(seed)")
    }

    private func one<T>(of list: [T]) -> T { list[Int.random(in: list.indices, using: &numbers)] }
    private func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &numbers) < percent }
    private func meet(_ event: String) { seen[event, default: 0] += 1 }

    private func start(by parent: Process?) {
        let birth = nextBirth()
        let user = parent?.user ?? UInt32.random(in: 1...2, using: &numbers)
        processes.append(Process(SaveProcess(id: Int32(birth), start: 1), parent: parent, user: user, birth: birth))
    }

    private func act(_ place: String) throws {
        let alive = alive
        switch Int.random(in: 0..<100, using: &numbers) {
        case 0..<8:
            start(by: happens(80) ? one(of: processes) : nil)
            meet("started")
        case 8..<45 where !alive.isEmpty: try end(one(of: alive), place)
        case 45..<60 where !alive.isEmpty:
            let claim = one(of: alive)
            #expect(table.grant(claim.id) == (claim.hasBegun && !claim.isGranted), "\(place)")
            claim.isGranted = claim.hasBegun
        case 64..<69 where !alive.isEmpty:
            let (claim, guest) = (one(of: alive), one(of: processes))
            table.admit([guest.identity], to: claim.id)
            if claim.hasBegun, !claim.isGranted {
                claim.guests.append(guest)
                meet("admitted")
            }
        case 60..<64:
            let (old, new) = (one(of: Self.paths), one(of: Self.paths))
            guard !old.isRoot, !new.isRoot, new != old, !new.isInside(old) else { return }
            // Back again, so that the paths of both accounts stay the same.
            let away = StorePath("elsewhere")!
            table.moved(from: old, to: away)
            table.moved(from: away, to: old)
            meet("moved")
        default: try ask(place)
        }
    }

    private func ask(_ place: String) throws {
        let process = one(of: processes)
        let purpose = happens(30) ? PurposeID(one(of: ["p", "q"])) : nil
        let outer = happens(40) ? alive.filter { $0.isGranted && $0.process === process }.last : nil
        if outer != nil { meet("nested") }
        let intents = (0..<Int.random(in: 1...3, using: &numbers)).map { _ in
            ClaimIntent(
                one(of: Self.paths), happens(60) ? .writing(one(of: Self.writing)) : .reading(one(of: Self.reading)))
        }
        let birth = nextBirth()
        let request = ClaimRequest(
            intents,
            by: Claimant(user: process.user, process: process.identity, ancestors: process.ancestors, purpose: purpose),
            at: SaveMoment(ticks: 1, lastProcess: Int32(birth)), within: outer?.id)
        let decision = table.request(request, deadline: UInt64(birth))
        let id: ClaimID? =
            switch decision {
            case .begun(let id), .queued(let id, _): id
            case .refused: nil
            }
        let claim = Claim(
            id: id ?? ClaimID(0), intents: intents, process: process, purpose: purpose, within: outer, birth: birth)
        claim.obstacles = obstacles(of: claim)
        switch decision {
        case .begun:
            try #require(claim.obstacles.isEmpty, "\(place): begun beside others")
            claim.hasBegun = true
            meet("begun")
        case .queued(_, let behind):
            try #require(behind == claim.obstacles.map(\.id).sorted() && !behind.isEmpty, "\(place): behind \(behind)")
            try #require(!neverEnds(with: claim), "\(place): a deadlock")
            meet("queued")
        case .refused(let cycle):
            try #require(neverEnds(with: claim) && !cycle.isEmpty, "\(place): refused without need")
            meet("refused")
            return
        }
        claim.hosts = alive.filter { isGuest(process, of: $0) }
        for other in overtaken(by: claim) {
            other.obstacles.append(claim)
            meet("overtaken")
        }
        claims.append(claim)
    }

    private func end(_ claim: Claim, _ place: String) throws {
        let begun = table.release(claim.id)
        claim.isOver = true
        meet(claim.hasBegun ? "released" : "cancelled")
        let expected = alive.filter { !$0.hasBegun && $0.obstacles.allSatisfy(\.isOver) }
        try #require(begun == expected.map(\.id), "\(place): begun \(begun)")
        for one in expected { one.hasBegun = true }
        #expect(table.release(claim.id) == [], "\(place)")
    }

    /// What must hold at all times.
    private func check(_ place: String) throws {
        let active = alive.filter(\.hasBegun)
        for (index, later) in active.enumerated() {
            for earlier in active[..<index] where !later.belongs(to: earlier) {
                // A reader goes on with its snapshot, and who waits for a presenter lets it write.
                if later.hosts.contains(where: { $0 === earlier }) { continue }
                try #require(!later.conflicts(withWriter: earlier, isReading: false), "\(place): two writers")
            }
        }
        func writesContent(_ intent: ClaimIntent) -> Bool {
            guard case .writing(let options) = intent.access else { return false }
            return !options.contains(.metadataOnly)
        }
        #expect(table.isEmpty == alive.isEmpty && table.excludesWriters == active.contains { $0.intents.contains(where: writesContent) })
        #expect(table.nextDeadline == alive.filter { !$0.isGranted }.map { UInt64($0.birth) }.min())
        let probe = one(of: processes)
        let opener = Claimant(user: probe.user, process: probe.identity, ancestors: probe.ancestors)
        for path in Self.paths {
            let open = ClaimIntent(path, .writing([]))
            let writers = active.filter { claim in
                claim.intents.contains { intent in
                    guard case .writing(let options) = intent.access, !options.contains(.metadataOnly) else { return false }
                    return Self.meet(intent, open)
                }
            }
            func isOwn(_ claim: Claim) -> Bool {
                probe === claim.process || probe.descends(from: claim.process, since: claim.birth)
            }
            let isOut = writers.contains { !isOwn($0) && !isGuest(probe, of: $0) }
            #expect((table.exclusion(of: opener, writing: path) != nil) == isOut, "\(place): \(path)")
            #expect(
                table.transaction(of: opener, writing: path) == writers.filter { $0.isGranted && isOwn($0) }.last?.id,
                "\(place): \(path)")
        }
    }

    /// Everybody gives up what it holds, but not while it waits for something within that: all must have had their turn.
    private func drain(_ place: String) throws {
        while !alive.isEmpty {
            let free = alive.filter { claim in
                claim.hasBegun && !alive.contains { !$0.hasBegun && $0 !== claim && $0.isWithin(claim) }
            }
            try #require(!free.isEmpty, "\(place): \(alive.count) claims wait for ever")
            try end(one(of: free), place)
            meet("drained")
        }
        #expect(table.isEmpty && !table.excludesWriters)
    }
}
