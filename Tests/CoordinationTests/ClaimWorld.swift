import Coordination
import StorePrimitives
import TestSupport

/// A second, naive account of claims: a list in the order they came, of which each question is answered by going through all
/// of it. Paths are compared as text, processes by following their parents.
final class ClaimWorld {
    final class Process {
        let identity: SaveProcess
        let parent: Process?
        let user: UInt32
        /// Its place among all processes and claims, in the order they were made.
        let birth: Int

        init(_ identity: SaveProcess, parent: Process?, user: UInt32, birth: Int) {
            (self.identity, self.parent, self.user, self.birth) = (identity, parent, user, birth)
        }

        var ancestors: [SaveProcess] { parent.map { [$0.identity] + $0.ancestors } ?? [] }

        func descends(from other: Process, since moment: Int) -> Bool {
            guard birth > moment, let parent else { return false }
            return parent === other || parent.descends(from: other, since: moment)
        }
    }

    final class Claim {
        let id: ClaimID
        let intents: [ClaimIntent]
        let process: Process
        let purpose: PurposeID?
        let within: Claim?
        let birth: Int
        var hasBegun = false
        var isGranted = false
        var isOver = false
        var guests: [Process] = []
        /// The claims that it has to wait for.
        var obstacles: [Claim] = []
        /// The claims that waited for its claimant to save when it came.
        var hosts: [Claim] = []

        init(
            id: ClaimID, intents: [ClaimIntent], process: Process, purpose: PurposeID?, within: Claim?, birth: Int
        ) {
            (self.id, self.intents, self.process, self.purpose) = (id, intents, process, purpose)
            (self.within, self.birth) = (within, birth)
        }

        /// Whether it is asked for while `other` is held.
        func isWithin(_ other: Claim) -> Bool {
            if within === other { return true }
            if let within, !within.isOver, within.isWithin(other) { return true }
            return process.descends(from: other.process, since: other.birth)
        }

        func belongs(to other: Claim) -> Bool {
            if isWithin(other) { return true }
            if let purpose, purpose == other.purpose, process.user == other.process.user { return true }
            return process === other.process && (purpose == nil || other.purpose == nil)
        }

        func conflicts(withWriter other: Claim, isReading: Bool) -> Bool {
            for mine in intents where isReading == ClaimWorld.isReading(mine) && !ClaimWorld.isImmediate(mine) {
                for theirs in other.intents where !ClaimWorld.isReading(theirs) && ClaimWorld.meet(mine, theirs) { return true }
            }
            return false
        }
    }

    var numbers: SeededNumbers
    var table = ClaimTable()
    var processes: [Process] = []
    var claims: [Claim] = []
    var seen: [String: Int] = [:]
    private var births = 0

    init(seed: UInt64) { numbers = SeededNumbers(seed: seed) }

    var alive: [Claim] { claims.filter { !$0.isOver } }

    func nextBirth() -> Int {
        births += 1
        return births
    }

    static func isReading(_ intent: ClaimIntent) -> Bool { if case .reading = intent.access { true } else { false } }

    static func isImmediate(_ intent: ClaimIntent) -> Bool {
        guard case .reading(let options) = intent.access else { return false }
        return options.contains(.immediately) || options.contains(.metadataOnly)
    }

    static func covers(_ intent: ClaimIntent) -> Bool {
        switch intent.access {
        case .reading: true
        case .writing(let options): options.contains(.moving) || options.contains(.deleting) || options.contains(.replacing)
        }
    }

    static func meet(_ one: ClaimIntent, _ other: ClaimIntent) -> Bool {
        let (a, b) = ("/\(one.path)/", "/\(other.path)/")
        return a == b || covers(one) && b.hasPrefix(a == "//" ? "/" : a) || covers(other) && a.hasPrefix(b == "//" ? "/" : b)
    }

    /// The claims that a new one would have to wait for: writers wait for all writers before them, readers for those whose turn
    /// it is. Not those that wait for its claimant to save.
    private func conflicts(of claim: Claim) -> [Claim] {
        alive.filter { other in
            guard !claim.belongs(to: other), !isGuest(claim.process, of: other) else { return false }
            return claim.conflicts(withWriter: other, isReading: false)
                || other.hasBegun && claim.conflicts(withWriter: other, isReading: true)
        }
    }

    func isGuest(_ process: Process, of claim: Claim) -> Bool {
        guard claim.hasBegun, !claim.isGranted else { return false }
        var one: Process? = process
        while let next = one {
            if claim.guests.contains(where: { $0 === next }) { return true }
            one = next.parent
        }
        return false
    }

    private func waits(_ claim: Claim, forHostOf process: Process) -> Bool {
        claim.obstacles.contains { !$0.isOver && (isGuest(process, of: $0) || waits($0, forHostOf: process)) }
    }

    func obstacles(of claim: Claim) -> [Claim] { conflicts(of: claim).filter { !waits($0, forHostOf: claim.process) } }

    /// The claims that have to wait for a new one although they came before.
    func overtaken(by claim: Claim) -> [Claim] { conflicts(of: claim).filter { waits($0, forHostOf: claim.process) } }

    /// Whether with this claim some would wait for ever, if everybody gave up what it holds as soon as nothing is asked for
    /// within it any more.
    func neverEnds(with claim: Claim) -> Bool {
        let overtaken = overtaken(by: claim)
        var left = alive + [claim]
        while true {
            let isLeft = { (one: Claim) in left.contains { $0 === one } }
            let isKept = { (one: Claim) in isLeft(claim) && overtaken.contains { $0 === one } }
            let waiting = left.filter { $0.obstacles.contains(where: isLeft) || isKept($0) }
            let free = left.filter { one in
                !waiting.contains { $0 === one } && !waiting.contains { $0 !== one && $0.isWithin(one) }
            }
            if free.isEmpty { return !left.isEmpty }
            left.removeAll { one in free.contains { $0 === one } }
        }
    }
}
