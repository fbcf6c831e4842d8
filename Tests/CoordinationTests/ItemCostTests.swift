import Coordination
import StorePrimitives
import Testing

/// What others have registered costs an open nothing: with hundreds of thousands of claimed items and presenters, thousands of
/// lookups end. A lookup of each of these takes hours.
@Suite(.timeLimit(.minutes(3)))
struct ItemCostTests {
    private static let stranger = ClaimTests.claimant(9)

    /// A claim names a path once, however often it is told; readers and claims for metadata are not on any open's way.
    @Test func claimsThatDoNotConcernAnOpenCostItNothing() {
        var table = ClaimTable()
        for number in 0..<300 {
            let intent = ClaimIntent(.root, number % 2 == 0 ? .reading(.metadataOnly) : .writing(.metadataOnly))
            _ = table.request(ClaimRequest(Array(repeating: intent, count: 1_000), by: Self.stranger, at: SaveMoment(ticks: 1, lastProcess: 1)), deadline: 1)
        }
        _ = table.request(ClaimRequest([ClaimTests.write("own")], by: ClaimTests.claimant(1), at: SaveMoment(ticks: 1, lastProcess: 1)), deadline: 1)
        let path = StorePath("folder/any")!
        for _ in 0..<10_000 { #expect(table.exclusion(of: Self.stranger, writing: path) == nil && !table.items.keepWritersOut(of: path)) }
        #expect(table.exclusion(of: Self.stranger, writing: StorePath("own")!) != nil)
    }

    @Test func presentersWithNothingToSaveCostAnOpenNothing() {
        var table = PresenterTable()
        let moment = SaveMoment(ticks: 1, lastProcess: 1)
        for _ in 0..<200_000 {
            _ = table.register(Presenter(of: StorePath("folder")!, coversContents: true, owner: ClaimTests.claimant(1), moment: moment))
        }
        let id = table.register(Presenter(of: StorePath("other")!, coversContents: true, owner: ClaimTests.claimant(1), moment: moment))
        table.setUnsavedChanges(true, of: id)
        let path = StorePath("folder/any")!
        for _ in 0..<10_000 { #expect(table.inquire(forOpening: path, by: Self.stranger, deadline: 1) == nil) }
        #expect(table.inquire(forOpening: StorePath("other/any")!, by: Self.stranger, deadline: 1) != nil)
    }

    /// What is moved beside many claims costs what it holds.
    @Test func aMoveCostsWhatItMoves() {
        var table = ClaimTable()
        let moment = SaveMoment(ticks: 1, lastProcess: 1)
        for number in 0..<200 {
            let intents = (0..<1_000).map { ClaimTests.read("claimed/\(number)/\($0)") }
            _ = table.request(ClaimRequest(intents, by: ClaimTests.claimant(1), at: moment), deadline: 1)
        }
        for number in 0..<5_000 { table.moved(from: StorePath("a\(number)")!, to: StorePath("b")!) }
    }
}
