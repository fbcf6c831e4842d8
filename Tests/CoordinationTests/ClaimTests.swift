import Coordination
import StorePrimitives
import Testing

/// The rules of claims, one by one.
struct ClaimTests {
    /// Processes by number: each is younger than those with smaller ones.
    static func process(_ number: Int32) -> SaveProcess { SaveProcess(id: number, start: UInt64(number)) }

    static func claimant(
        _ number: Int32, childOf ancestors: [Int32] = [], purpose: String? = nil, user: UInt32 = 1
    ) -> Claimant {
        Claimant(
            user: user, process: process(number), ancestors: ancestors.map(process), purpose: purpose.map { PurposeID($0) })
    }

    static func write(_ path: String, _ options: ClaimWritingOptions = []) -> ClaimIntent {
        ClaimIntent(StorePath(path)!, .writing(options))
    }

    static func read(_ path: String, _ options: ClaimReadingOptions = []) -> ClaimIntent {
        ClaimIntent(StorePath(path)!, .reading(options))
    }

    /// A table with what is asked of it by process numbers.
    final class Table {
        var table = ClaimTable()

        /// Nil if it is refused.
        func ask(
            _ number: Int32, _ intents: ClaimIntent..., childOf ancestors: [Int32] = [], purpose: String? = nil,
            user: UInt32 = 1, within: ClaimID? = nil, deadline: UInt64 = 100
        ) -> (id: ClaimID, isQueued: Bool)? {
            let request = ClaimRequest(
                intents, by: claimant(number, childOf: ancestors, purpose: purpose, user: user),
                at: SaveMoment(ticks: UInt64(number) * 10, lastProcess: number), within: within)
            switch table.request(request, deadline: deadline) {
            case .begun(let id): return (id, false)
            case .queued(let id, _): return (id, true)
            case .refused: return nil
            }
        }
    }

    // MARK: - What meets what

    struct Meeting: CustomTestStringConvertible, Sendable {
        let held: ClaimIntent
        let asked: ClaimIntent
        let waits: Bool
        init(_ held: ClaimIntent, _ asked: ClaimIntent, waits: Bool) { (self.held, self.asked, self.waits) = (held, asked, waits) }
        var testDescription: String { "\(held.access) \(held.path), \(asked.access) \(asked.path): \(waits)" }
    }

    static let meetings: [Meeting] = [
        Meeting(write("a"), write("a"), waits: true),
        Meeting(write("a"), write("b"), waits: false),
        Meeting(write("a"), read("a"), waits: true),
        Meeting(read("a"), read("a"), waits: false),
        Meeting(read("a"), write("a"), waits: false),
        Meeting(read("a"), write("a", .deleting), waits: false),
        Meeting(write("a"), read("a", .immediately), waits: false),
        Meeting(write("a"), read("a", .metadataOnly), waits: false),
        Meeting(write("a"), read("a", .withoutChanges), waits: true),
        Meeting(write("a", .metadataOnly), write("a", .metadataOnly), waits: true),
        // A folder as a whole.
        Meeting(write("a", .moving), write("a/b/c"), waits: true),
        Meeting(write("a", .deleting), read("a/b"), waits: true),
        Meeting(write("a", .replacing), write("a/b"), waits: true),
        Meeting(write("a/b"), write("a", .deleting), waits: true),
        Meeting(write("a/b"), read("a"), waits: true),
        Meeting(write("a", .moving), write("ab"), waits: false),
        Meeting(write("", .moving), write("a"), waits: true),
        // A folder, but not what is in it.
        Meeting(write("a"), write("a/b"), waits: false),
        Meeting(write("a", .merging), write("a/b"), waits: false),
        Meeting(write("a/b"), write("a"), waits: false),
    ]

    @Test(arguments: meetings)
    func claimsThatMeetWait(meeting: Meeting) throws {
        let table = Table()
        let held = try #require(table.ask(1, meeting.held))
        let asked = try #require(table.ask(2, meeting.asked))
        #expect(!held.isQueued && asked.isQueued == meeting.waits)
        #expect(table.table.release(held.id) == (meeting.waits ? [asked.id] : []))
    }

    // MARK: - Order

    @Test func writersHaveTheirTurnInTheOrderTheyCame() throws {
        let table = Table()
        let ids = try (1...4).map { try #require(table.ask($0, Self.write("a"))).id }
        for index in 0..<3 { #expect(table.table.release(ids[index]) == [ids[index + 1]]) }
        #expect(table.table.release(ids[3]) == [] && table.table.isEmpty)
    }

    @Test func allItemsAreClaimedAtOnce() throws {
        let table = Table()
        let first = try #require(table.ask(1, Self.write("a")))
        let both = try #require(table.ask(2, Self.write("b"), Self.write("a")))
        // It has not begun, and still nobody gets past it.
        let third = try #require(table.ask(3, Self.write("b")))
        #expect(both.isQueued && third.isQueued)
        #expect(table.table.exclusion(of: Self.claimant(9), writing: StorePath("b")!) == nil)
        #expect(table.table.release(first.id) == [both.id])
        #expect(table.table.release(both.id) == [third.id])
    }

    @Test func whatACancelledWaiterKeptGoesOn() throws {
        let table = Table()
        let first = try #require(table.ask(1, Self.write("a")))
        let second = try #require(table.ask(2, Self.write("a"), Self.write("b")))
        let third = try #require(table.ask(3, Self.write("b")))
        #expect(table.table.release(second.id) == [third.id])
        #expect(table.table.release(first.id) == [])
    }

    @Test func aQueuedWriterKeepsNoReaderWaiting() throws {
        let table = Table()
        let holder = try #require(table.ask(1, Self.write("a")))
        let before = try #require(table.ask(2, Self.read("a")))
        let writer = try #require(table.ask(3, Self.write("a")))
        let after = try #require(table.ask(4, Self.read("a")))
        #expect(before.isQueued && writer.isQueued && after.isQueued)
        #expect(table.table.release(holder.id) == [before.id, writer.id, after.id])
    }

    @Test func aWaitEndsWithItsDeadline() throws {
        let table = Table()
        let holder = try #require(table.ask(1, Self.write("a"), deadline: 5))
        let waiter = try #require(table.ask(2, Self.write("a"), deadline: 50))
        #expect(table.table.nextDeadline == 5)
        #expect(table.table.grant(holder.id) == true)
        #expect(table.table.grant(waiter.id) == false)
        #expect(table.table.nextDeadline == 50)
        #expect(table.table.expired(now: 49) == [] && table.table.expired(now: 50) == [waiter.id])
    }

    // MARK: - Who belongs together

    @Test func aPurposeNeverWaitsForItselfWhicheverProcessHasIt() throws {
        let table = Table()
        _ = table.ask(1, Self.write("a"), purpose: "p")
        #expect(try #require(table.ask(2, Self.write("a"), purpose: "p")).isQueued == false)
        #expect(try #require(table.ask(2, Self.write("a"), purpose: "p", user: 2)).isQueued)
        #expect(try #require(table.ask(2, Self.write("a"), purpose: "q")).isQueued)
    }

    @Test func twoPurposesInOneProcessAreTwoParties() throws {
        let table = Table()
        _ = table.ask(1, Self.write("a"), purpose: "p")
        #expect(try #require(table.ask(1, Self.write("a"), purpose: "q")).isQueued)
        _ = table.ask(1, Self.write("b"))
        #expect(try #require(table.ask(1, Self.write("b"))).isQueued == false)
    }

    @Test func aHoldersLaterChildrenBelongToIt() throws {
        let table = Table()
        let holder = try #require(table.ask(5, Self.write("a")))
        // Its moment is tick 50: process 60 was started after it, 20 before.
        #expect(try #require(table.ask(60, Self.write("a"), childOf: [5, 1])).isQueued == false)
        #expect(try #require(table.ask(20, Self.write("a"), childOf: [5, 1])).isQueued)
        #expect(table.table.exclusion(of: Self.claimant(60, childOf: [5]), writing: StorePath("a")!) == nil)
        #expect(table.table.exclusion(of: Self.claimant(20, childOf: [5]), writing: StorePath("a")!) == holder.id)
    }

    // MARK: - Deadlock

    @Test func aRequestThatWouldWaitForItselfIsRefused() throws {
        let table = Table()
        let a = try #require(table.ask(1, Self.write("a")))
        let b = try #require(table.ask(2, Self.write("b")))
        let waiting = try #require(table.ask(1, Self.write("b"), within: a.id))
        #expect(waiting.isQueued)
        #expect(table.ask(2, Self.write("a"), within: b.id) == nil)
        // Without the outer claim it will be given up, and so it waits.
        #expect(try #require(table.ask(3, Self.write("a"))).isQueued)
    }

    @Test func onlyAUsersOwnClaimIsAnOuterOne() throws {
        let table = Table()
        let foreign = try #require(table.ask(1, Self.write("a"), user: 2))
        #expect(try #require(table.ask(2, Self.write("a"), within: foreign.id)).isQueued)
        // Ones that are not there, and the one that this will be.
        for number in 3...9 {
            #expect(try #require(table.ask(Int32(number), Self.write("a"), within: ClaimID(UInt64(number)))).isQueued)
        }
    }

    @Test func aCycleThroughChildrenIsFound() throws {
        let table = Table()
        _ = table.ask(1, Self.write("a"))
        _ = table.ask(2, Self.write("b"))
        #expect(try #require(table.ask(60, Self.write("b"), childOf: [1])).isQueued)
        #expect(table.ask(61, Self.write("a"), childOf: [2]) == nil)
    }

    // MARK: - Opens

    @Test func aWriterKeepsOpensOutFromItsBeginning() throws {
        let table = Table()
        let path = StorePath("a")!
        let first = try #require(table.ask(1, Self.write("a")))
        #expect(table.table.exclusion(of: Self.claimant(9), writing: path) == first.id)
        #expect(table.table.exclusion(of: Self.claimant(1), writing: path) == nil)
        #expect(table.table.transaction(of: Self.claimant(1), writing: path) == nil)
        #expect(table.table.grant(first.id) == true)
        #expect(table.table.transaction(of: Self.claimant(1), writing: path) == first.id)
        #expect(table.table.transaction(of: Self.claimant(9), writing: path) == nil)
    }

    @Test func whoIsAskedToSaveMayDoSoUntilTheClaimIsGranted() throws {
        let table = Table()
        let path = StorePath("a")!
        let claim = try #require(table.ask(1, Self.write("a")))
        table.table.admit([Self.process(9)], to: claim.id)
        #expect(table.table.exclusion(of: Self.claimant(9), writing: path) == nil)
        #expect(table.table.exclusion(of: Self.claimant(80, childOf: [9]), writing: path) == nil)
        #expect(table.table.exclusion(of: Self.claimant(8), writing: path) == claim.id)
        #expect(table.table.grant(claim.id) == true)
        #expect(table.table.exclusion(of: Self.claimant(9), writing: path) == claim.id)
    }

    @Test func aClaimOnAttributesKeepsNoWriterOut() throws {
        let table = Table()
        _ = table.ask(1, Self.write("a", .metadataOnly))
        #expect(table.table.exclusion(of: Self.claimant(9), writing: StorePath("a")!) == nil)
    }

    @Test func claimsGoWithWhatIsMoved() throws {
        let table = Table()
        let claim = try #require(table.ask(1, Self.write("a/b"), Self.write("c")))
        table.table.moved(from: StorePath("a")!, to: StorePath("d/e")!)
        #expect(table.table.exclusion(of: Self.claimant(9), writing: StorePath("a/b")!) == nil)
        #expect(table.table.exclusion(of: Self.claimant(9), writing: StorePath("d/e/b")!) == claim.id)
        #expect(table.table.exclusion(of: Self.claimant(9), writing: StorePath("c")!) == claim.id)
        #expect(table.table.release(claim.id) == [] && table.table.isEmpty)
    }
}
