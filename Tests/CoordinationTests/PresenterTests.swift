import Coordination
import StorePrimitives
import Testing

/// Who is asked, who waits for the answers, and for how long.
struct PresenterTests {
    typealias Matter = PresenterQuestion.Matter

    private static let moment = SaveMoment(ticks: 100, lastProcess: 100)

    private static func path(_ text: String) -> StorePath { StorePath(text)! }

    private static func presenter(
        _ item: String, contents: Bool = false, by number: Int32 = 1, purpose: String? = nil
    ) -> Presenter {
        Presenter(of: path(item), coversContents: contents, owner: ClaimTests.claimant(number, purpose: purpose), moment: moment)
    }

    private let stranger = ClaimTests.claimant(9)

    /// The items of the questions put, by presenter.
    private func asked(_ table: inout PresenterTable, _ intent: ClaimIntent, by asker: Claimant) -> [PresenterID] {
        guard let (id, questions) = table.inquire(for: [intent], by: asker, deadline: 10) else { return [] }
        _ = table.end(id)
        return questions.map(\.presenter)
    }

    typealias Asked = (id: InquiryID, questions: [PresenterQuestion])

    private func asking(_ table: inout PresenterTable, _ intent: ClaimIntent, until deadline: UInt64) throws -> Asked {
        let asked = table.inquire(for: [intent], by: stranger, deadline: deadline)
        return try #require(asked)
    }

    private func opening(_ table: inout PresenterTable, _ path: StorePath, until deadline: UInt64) throws -> Asked {
        let asked = table.inquire(forOpening: path, by: stranger, deadline: deadline)
        return try #require(asked)
    }

    // MARK: - Who is asked

    struct Asking: CustomTestStringConvertible, Sendable {
        let presented: String
        let contents: Bool
        let intent: ClaimIntent
        let isAsked: Bool
        init(_ presented: String, contents: Bool = false, _ intent: ClaimIntent, isAsked: Bool) {
            (self.presented, self.contents, self.intent, self.isAsked) = (presented, contents, intent, isAsked)
        }
        var testDescription: String { "\(presented) \(contents): \(intent.access) \(intent.path): \(isAsked)" }
    }

    static let askings: [Asking] = [
        Asking("a/b", ClaimTests.write("a/b"), isAsked: true),
        Asking("a/b", ClaimTests.read("a/b"), isAsked: true),
        Asking("a/b", ClaimTests.read("a/b", .immediately), isAsked: false),
        Asking("a/b", ClaimTests.read("a/b", .metadataOnly), isAsked: false),
        Asking("a/b", ClaimTests.write("a/b", .metadataOnly), isAsked: false),
        Asking("a/b", ClaimTests.write("a/c"), isAsked: false),
        // A folder, with what is in it or without.
        Asking("a", contents: true, ClaimTests.write("a/b/c"), isAsked: true),
        Asking("a", ClaimTests.write("a/b"), isAsked: false),
        Asking("", contents: true, ClaimTests.read("a/b"), isAsked: true),
        // A folder claimed with what is in it.
        Asking("a/b", ClaimTests.write("a", .moving), isAsked: true),
        Asking("a/b", ClaimTests.write("a"), isAsked: false),
        Asking("a/b", ClaimTests.read("a"), isAsked: true),
    ]

    @Test(arguments: askings)
    func presentersOfWhatIsClaimedAreAsked(asking: Asking) {
        var table = PresenterTable()
        let id = table.register(Self.presenter(asking.presented, contents: asking.contents))
        #expect(asked(&table, asking.intent, by: stranger) == (asking.isAsked ? [id] : []))
    }

    @Test func nobodyIsAskedAboutItsOwnDoing() {
        var table = PresenterTable()
        let id = table.register(Self.presenter("a", purpose: "p"))
        let intent = ClaimTests.write("a")
        #expect(asked(&table, intent, by: ClaimTests.claimant(2, purpose: "p")) == [])
        #expect(asked(&table, intent, by: ClaimTests.claimant(1)) == [])
        // Another party in the same process is asked, as on Apple's systems.
        #expect(asked(&table, intent, by: ClaimTests.claimant(1, purpose: "q")) == [id])
        // What the presenter has started since it presents.
        #expect(asked(&table, intent, by: ClaimTests.claimant(101, childOf: [1])) == [])
        #expect(asked(&table, intent, by: ClaimTests.claimant(99, childOf: [1])) == [id])
    }

    @Test func whatIsAskedGoesByTheOptions() throws {
        var table = PresenterTable()
        _ = table.register(Self.presenter("a"))
        func matter(_ intent: ClaimIntent) throws -> Matter {
            try asking(&table, intent, until: 10).questions[0].matter
        }
        let reading = try matter(ClaimTests.read("a"))
        #expect(reading.access == .reading && reading.savesChanges && !reading.isDeletion && reading.item == Self.path("a"))
        #expect(try !matter(ClaimTests.read("a", .withoutChanges)).savesChanges)
        let writing = try matter(ClaimTests.write("a"))
        #expect(writing.access == .writing && !writing.savesChanges && !writing.isDeletion)
        #expect(try matter(ClaimTests.write("a", .merging)).savesChanges)
        #expect(try matter(ClaimTests.write("a", .deleting)).isDeletion)
        #expect(try matter(ClaimTests.write("a", .replacing)).isDeletion)
        #expect(try !matter(ClaimTests.write("a", .moving)).isDeletion)
    }

    // MARK: - Answers

    @Test func anInquiryIsOverWhenAllHaveAnswered() throws {
        var table = PresenterTable()
        let ids = [table.register(Self.presenter("a")), table.register(Self.presenter("a", by: 2))]
        let (inquiry, questions) = try asking(&table, ClaimTests.write("a"), until: 10)
        #expect(questions.map(\.presenter) == ids)
        #expect(table.answer(questions[0].id, from: ids[0]) == [])
        #expect(table.outcome(of: inquiry) == nil)
        // Nobody answers for another.
        #expect(table.answer(questions[1].id, from: ids[0]) == [])
        #expect(table.answer(questions[1].id, from: ids[1], failure: "disk full") == [inquiry])
        let outcome = table.outcome(of: inquiry)
        #expect(outcome?.silent == [] && outcome?.failures.map(\.message) == ["disk full"])
        // They are told when the claim is over.
        #expect(table.end(inquiry).map(\.presenter) == ids)
        #expect(table.end(inquiry) == [])
    }

    @Test func whoIsGoneNeedNotAnswer() throws {
        var table = PresenterTable()
        let ids = [table.register(Self.presenter("a")), table.register(Self.presenter("a", by: 2))]
        let (inquiry, questions) = try asking(&table, ClaimTests.write("a"), until: 10)
        #expect(table.remove(ids[0]) == [])
        #expect(table.answer(questions[1].id, from: ids[1]) == [inquiry])
        #expect(table.end(inquiry).map(\.presenter) == [ids[1]])
        #expect(table.remove(ids[1]) == [] && table.isEmpty)
    }

    @Test func whoDoesNotAnswerHoldsNobodyUpAgainBeforeItDoes() throws {
        var table = PresenterTable()
        let id = table.register(Self.presenter("a"))
        let intent = ClaimTests.write("a")
        let (inquiry, questions) = try asking(&table, intent, until: 10)
        #expect(table.nextDeadline == 10 && table.expireNext(now: 9) == nil)
        #expect(table.expireNext(now: 10) == inquiry && table.nextDeadline == nil && table.expireNext(now: 11) == nil)
        let outcome = table.outcome(of: inquiry)
        #expect(outcome?.silent == [id] && outcome?.failures == [])
        // It may let go late, and is to have the item back then.
        #expect(table.end(inquiry).map(\.presenter) == [id])
        #expect(asked(&table, intent, by: stranger) == [])
        #expect(table.answer(questions[0].id, from: id) == [])
        #expect(asked(&table, intent, by: stranger) == [id])
    }

    /// Others wait meanwhile: linear, not in proportion to all questions for each.
    @Test func manyPresentersAreAskedAndGoInAMoment() throws {
        var table = PresenterTable()
        let ids = (0..<50_000).map { table.register(Self.presenter("folder/\($0)")) }
        for id in ids { table.setUnsavedChanges(true, of: id) }
        let (inquiry, questions) = try asking(&table, ClaimTests.write("folder", .deleting), until: 10)
        #expect(questions.count == PresenterTable.mostForClaim)
        for number in 0..<1_000 { _ = try opening(&table, Self.path("folder/\(number)"), until: 10) }
        for id in ids { _ = table.remove(id) }
        #expect(table.end(inquiry) == [] && table.isEmpty)
    }

    /// What one user presents makes nobody's open longer: of each user the nearest are asked.
    @Test func theNearestPresentersOfEachUserAreAsked() throws {
        var table = PresenterTable()
        let far = (0..<1_000).map { _ in table.register(Self.presenter("", contents: true)) }
        let near = (0..<20).map { _ in table.register(Self.presenter("a/b")) }
        let other = table.register(
            Presenter(of: Self.path("a"), coversContents: true, owner: ClaimTests.claimant(7, user: 77), moment: Self.moment))
        for id in far + near + [other] { table.setUnsavedChanges(true, of: id) }
        let opened = try opening(&table, Self.path("a/b"), until: 10).questions.map(\.presenter)
        #expect(opened.count == PresenterTable.mostForOpen + 1)
        #expect(Set(opened).isSuperset(of: near + [other]))
        let claimed = asked(&table, ClaimTests.write("a/b"), by: stranger)
        #expect(claimed.count == PresenterTable.mostForClaim + 1 && Set(claimed).isSuperset(of: near + [other]))
        // Also where it names many items.
        let many = table.inquire(for: (0..<500).map { ClaimTests.write("a/\($0)") }, by: stranger, deadline: 10)
        #expect(many?.questions.count == 2 * PresenterTable.mostForClaim)
    }

    @Test func aClaimThatIsGivenUpWaitsForNobody() throws {
        var table = PresenterTable()
        let id = table.register(Self.presenter("a"))
        let (inquiry, questions) = try asking(&table, ClaimTests.write("a"), until: 10)
        #expect(table.end(inquiry).map(\.presenter) == [id])
        #expect(table.answer(questions[0].id, from: id) == [] && table.expireNext(now: 99) == nil)
    }

    // MARK: - Opens

    @Test func opensAskWhoHasUnsavedChanges() throws {
        var table = PresenterTable()
        let path = Self.path("a")
        let id = table.register(Self.presenter("a"))
        #expect(table.inquire(forOpening: path, by: stranger, deadline: 10) == nil)
        table.setUnsavedChanges(true, of: id)
        #expect(table.inquire(forOpening: Self.path("b"), by: stranger, deadline: 10) == nil)
        #expect(table.inquire(forOpening: path, by: ClaimTests.claimant(1), deadline: 10) == nil)
        let first = try opening(&table, path, until: 10)
        #expect(first.questions.map(\.matter) .allSatisfy { $0.item == path && $0.access == .reading && $0.savesChanges && !$0.isDeletion })
        #expect(first.questions.count == 1)
        // Others who come meanwhile share the answer.
        let second = try opening(&table, path, until: 20)
        #expect(second.questions == [])
        #expect(table.answer(first.questions[0].id, from: id) == [first.id, second.id])
        #expect(table.outcome(of: first.id) != nil && table.outcome(of: first.id) == nil)
        #expect(table.outcome(of: second.id) != nil)
        table.setUnsavedChanges(false, of: id)
        #expect(!table.hasUnsavedChanges && table.inquire(forOpening: path, by: stranger, deadline: 10) == nil)
    }

    @Test func theTimeOfOneOpenIsNotThatOfAnother() throws {
        var table = PresenterTable()
        let id = table.register(Self.presenter("a"))
        table.setUnsavedChanges(true, of: id)
        let first = try opening(&table, Self.path("a"), until: 10)
        let second = try opening(&table, Self.path("a"), until: 20)
        #expect(table.expireNext(now: 15) == first.id && table.nextDeadline == 20)
        // It was in time for the second.
        #expect(table.answer(first.questions[0].id, from: id) == [second.id])
        #expect(table[id]?.isSilent == false)
    }

    // MARK: - Moves

    @Test func presentersGoWithWhatIsMoved() {
        var table = PresenterTable()
        let (item, folder) = (table.register(Self.presenter("a/b")), table.register(Self.presenter("a", contents: true)))
        let user = stranger.user
        #expect(Set(table.presenters(within: Self.path("a"), of: user)) == [item, folder])
        table.moved(from: Self.path("a"), to: Self.path("c/d"), [item, folder])
        #expect(table[item]?.path == Self.path("c/d/b") && table[folder]?.path == Self.path("c/d"))
        #expect(Set(table.presenters(of: Self.path("c/d/b"), contents: false, of: user)) == [item, folder])
        #expect(table.presenters(of: Self.path("a/b"), contents: false, of: user) == [])
        table.setPath(Self.path("x"), of: item)
        #expect(table.presenters(of: Self.path("x"), contents: false, of: user) == [item])
    }
}
