import Coordination
import Testing

/// Saves that begin on an open handle, by ftruncate(2) to nothing.
@Suite struct SaveTruncateTests {
    private typealias Document = DrivenDocument
    private let saver = Document.process(10)
    private let other = Document.process(11)
    private let moment = SaveMoment(ticks: 100, lastProcess: 500)

    /// A handle that was opened without O_TRUNC.
    private func opened(_ document: Document, by caller: SaveCaller) -> Document.Opened { document.open(caller, [.writes]) }

    private func begin(_ document: Document, _ handle: Document.Opened, exchanging: Bool = false) -> VersionID? {
        let working = exchanging ? document.saves.published : VersionID(document.number())
        let copy = exchanging ? VersionID(document.number()) : nil
        let hasBegun = document.saves.begin(
            on: handle.handle, by: saver, working: working, exchanged: copy, at: moment, now: document.now)
        return hasBegun ? working : nil
    }

    @Test func aHandleThatIsLedToANewFileIsPublishedByItsClose() throws {
        let document = Document()
        var handle = opened(document, by: saver)
        #expect(handle.kind == .live(.notTruncating))
        handle.version = try #require(begin(document, handle))
        #expect(document.saves.lookup(saver) == handle.version)
        #expect(document.saves.lookup(other) == Document.original)
        #expect(document.close(handle, by: saver) == .replaced)
        #expect(document.saves.published == handle.version)
    }

    @Test func anExchangedDocumentIsShownToOthersAsItsCopy() throws {
        let document = Document()
        let handle = opened(document, by: saver)
        let second = opened(document, by: saver)
        #expect(try #require(begin(document, handle, exchanging: true)) == Document.original)
        let copy = document.saves.published
        #expect(copy != Document.original)
        #expect(document.saves.lookup(saver) == Document.original)
        #expect(document.saves.lookup(other) == copy)
        #expect(document.close(handle, by: saver) == nil, "the process has another descriptor on it")
        #expect(document.close(second, by: saver) == .replaced)
        #expect(document.saves.published == Document.original)
    }

    /// Its handles can be led nowhere.
    @Test func anExchangedDocumentIsPutBackWhenItBecomesAStream() throws {
        let document = Document()
        let handle = opened(document, by: saver)
        _ = try #require(begin(document, handle, exchanging: true))
        #expect(document.pass(6) == [.replaced])
        #expect(document.saves.published == Document.original)
        #expect(document.saves.liveWriters.map(\.handle) == [handle.handle])
    }

    @Test func anotherWriterKeepsASaveFromBeginning() {
        let document = Document()
        let handle = opened(document, by: saver)
        let others = opened(document, by: other)
        #expect(document.saves.reasonToTruncateLive(handle.handle, by: saver) == .writtenByAnother)
        #expect(begin(document, handle) == nil)
        _ = document.close(others, by: other)
    }

    /// A file server has the document open for another client, which has yet to do something.
    @Test func aRelaysUnusedHandleGoesAlongWithEachVersion() throws {
        let document = Document()
        let relay = SaveCaller(thread: ThreadID(11), process: other.process, isRelay: true)
        let unused = opened(document, by: relay)
        var handle = opened(document, by: saver)
        handle.version = try #require(begin(document, handle))
        #expect(document.close(handle, by: saver) == .replaced)
        // It has gone along, and begins a save of its own, beside another one.
        #expect(document.saves.version(of: unused.handle) == document.saves.published)
        let overwriting = document.open(saver)
        #expect(overwriting.kind == .transactional)
        #expect(document.saves.reasonToTruncateLive(unused.handle, by: relay) == nil)
        // One that it opens meanwhile joins no save.
        #expect(opened(document, by: relay).kind == .live(.notTruncating))
        let appending = document.open(relay, [.writes, .appends])
        #expect(appending.version == overwriting.version)
        #expect(document.close(appending, by: relay) == nil)
        // From its first write on the document's file has to stay.
        document.saves.wrote(unused.handle, by: nil, end: 1, now: document.now)
        #expect(document.close(overwriting, by: saver) == .inPlace)
    }

    @Test func anotherSaveKeepsItFromBeginning() {
        let document = Document()
        let handle = opened(document, by: saver)
        #expect(document.open(other).kind == .live(.writtenByAnother))
        #expect(document.saves.reasonToTruncateLive(handle.handle, by: saver) == .writtenByAnother)
    }

    @Test func aWithdrawnExchangeLeavesTheDocumentAsItWas() throws {
        let document = Document()
        let relay = SaveCaller(thread: ThreadID(11), process: other.process, isRelay: true)
        let unused = opened(document, by: relay)
        let handle = opened(document, by: saver)
        let working = try #require(begin(document, handle, exchanging: true))
        document.saves.withdraw(working, exchanged: document.saves.published)
        #expect(document.saves.published == Document.original)
        #expect(document.saves.version(of: unused.handle) == Document.original)
        #expect(document.close(unused, by: relay) == nil)
        #expect(document.saves.lookup(other) == Document.original)
        #expect(document.close(handle, by: saver) == nil)
        #expect(document.saves.isIdle)
    }

    @Test func aStrangersTruncatingOpenOfTheKeptInodeIsRetried() throws {
        let document = Document()
        let handle = opened(document, by: saver)
        let working = try #require(begin(document, handle, exchanging: true))
        let request = document.request(other, on: working)
        guard case .retry(let own) = document.ask(request) else { return #expect(Bool(false)) }
        #expect(own != working && own != document.saves.published)
    }

    /// As the mount does before a handle writes by the published version's inode.
    @Test func thePublishedVersionMayGetAnotherNameDuringASave() throws {
        let document = Document()
        var handle = opened(document, by: saver)
        handle.version = try #require(begin(document, handle))
        let standIn = VersionID(document.number())
        document.saves.renamePublished(to: standIn)
        #expect(document.saves.lookup(other) == standIn)
        #expect(document.saves.lookup(saver) == handle.version)
        #expect(document.close(handle, by: saver) == .replaced)
        #expect(document.saves.published == handle.version)
    }

    /// Else it would be found by nobody when the saves are over.
    @Test func aWriterInPlaceStaysKnownWhenThePublishedVersionGetsAnotherName() {
        let document = Document()
        let handle = opened(document, by: saver)
        let standIn = VersionID(document.number())
        document.saves.renamePublished(to: standIn)
        #expect(document.saves.version(of: handle.handle) == standIn)
        #expect(!document.saves.isIdle)
        #expect(document.saves.reasonToTruncateLive(handle.handle, by: saver) == nil)
        #expect(document.release(handle) == nil)
        #expect(document.saves.isIdle)
    }

    /// Before it is mapped.
    @Test func whatIsExtendedIsPublishedInPlace() throws {
        let document = Document()
        let handle = opened(document, by: saver)
        let working = try #require(begin(document, handle))
        #expect(document.saves.extending(handle.handle) == .publish(working, .extended))
        #expect(document.carryOut(.publish(working, .extended)) == .inPlace)
        #expect(document.saves.liveWriters.map(\.reason) == [.extended])
    }
}
