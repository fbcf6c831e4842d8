import DocumentKit
import Foundation
import Synchronization
import TestSupport
import Testing

/// Keeps what it is asked and told.
private final class Witness: FilePresenter {
    let journal = Journal()
    private let url: Mutex<URL?>
    private let unsaved: Mutex<String?>
    private let answers: Bool
    let presentedItemOperationQueue = OperationQueue()
    struct DiskIsFull: Error {}
    private let fails: Bool

    init(_ url: URL?, unsaved: String? = nil, answers: Bool = true, fails: Bool = false) {
        self.url = Mutex(url)
        self.unsaved = Mutex(unsaved)
        (self.answers, self.fails) = (answers, fails)
    }

    var presentedItemURL: URL? { url.withLock { $0 } }

    func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        journal.note("reader")
        if answers { reader { self.journal.note("reacquired") } }
    }

    func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        journal.note("writer")
        if answers { writer { self.journal.note("reacquired") } }
    }

    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        journal.note("save")
        if fails { return completionHandler(DiskIsFull()) }
        guard let text = unsaved.withLock({ $0.take() }), let url = presentedItemURL else { return completionHandler(nil) }
        do {
            try FileCoordinator(filePresenter: self).coordinate(writingItemAt: url) {
                try text.write(to: $0, atomically: false, encoding: .utf8)
            }
            completionHandler(nil)
        } catch { completionHandler(error) }
    }

    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        journal.note("accommodate")
        completionHandler(nil)
    }

    func accommodatePresentedSubitemDeletion(at url: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        journal.note("accommodate \(url.lastPathComponent)")
        completionHandler(nil)
    }

    func presentedItemDidMove(to newURL: URL) {
        url.withLock { $0 = newURL }
        journal.note("moved \(newURL.lastPathComponent)")
    }

    func presentedItemDidChange() { journal.note("changed") }
    func presentedSubitemDidAppear(at url: URL) { journal.note("appeared \(url.lastPathComponent)") }
    func presentedSubitemDidChange(at url: URL) { journal.note("changed \(url.lastPathComponent)") }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) {
        journal.note("\(oldURL.lastPathComponent) moved \(newURL.lastPathComponent)")
    }
}

/// Presenters of this process, outside of mounts.
struct LocalPresenterTests {
    let documents: Documents

    init() throws { documents = try Documents() }

    private func presenting(_ witness: Witness, _ body: () throws -> Void) rethrows {
        FileCoordinator.addFilePresenter(witness)
        defer { FileCoordinator.removeFilePresenter(witness) }
        try body()
    }

    private func expect(_ witness: Witness, _ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        let end = ContinuousClock.now + .seconds(60)
        while witness.journal.all != lines, .now < end { usleep(2000) }
        // Nothing comes after.
        usleep(20_000)
        #expect(witness.journal.all == lines, sourceLocation: sourceLocation)
    }

    @Test func aReaderSeesWhatWasNotSaved() throws {
        let doc = documents.make("doc", "saved")
        let witness = Witness(doc, unsaved: "typed")
        try presenting(witness) {
            let content = try patient().coordinate(readingItemAt: doc) { try text($0) }
            #expect(content == "typed")
            expect(witness, ["reader", "save", "reacquired"])
        }
        _ = try patient().coordinate(readingItemAt: doc) { try text($0) }
        expect(witness, ["reader", "save", "reacquired"])
    }

    @Test func questionsFollowTheOptions() throws {
        let doc = documents.make("doc")
        func asked(_ options: FileCoordinator.WritingOptions) throws -> [String] {
            let witness = Witness(doc)
            try presenting(witness) {
                try patient().coordinate(writingItemAt: doc, options: options) { _ in
                    witness.journal.note("accessor")
                }
                eventually { witness.journal.has("changed") && witness.journal.has("reacquired") }
            }
            return Array(witness.journal.all.prefix { $0 != "accessor" })
        }
        #expect(try asked([]) == ["writer"])
        #expect(try asked(.forMerging) == ["writer", "save"])
        #expect(try asked(.forReplacing) == ["writer", "accommodate"])
        let witness = Witness(doc)
        try presenting(witness) {
            _ = try patient().coordinate(readingItemAt: doc, options: .withoutChanges) { try text($0) }
            expect(witness, ["reader", "reacquired"])
            _ = try patient().coordinate(readingItemAt: doc, options: .immediatelyAvailableMetadataOnly) { try text($0) }
            expect(witness, ["reader", "reacquired"])
        }
    }

    @Test func itIsToldInOrderOfWhatOthersDo() throws {
        let doc = documents.make("doc")
        let (moved, coordinator) = (documents("moved"), patient())
        let witness = Witness(doc)
        try presenting(witness) {
            let options = FileCoordinator.WritingOptions.contentIndependentMetadataOnly
            try coordinator.coordinate(writingItemAt: doc, options: options) { _ in }
            expect(witness, ["changed"])
            try coordinator.coordinate(writingItemAt: doc, options: .forMoving, writingItemAt: moved) { from, to in
                coordinator.item(at: from, willMoveTo: to)
                try FileManager.default.moveItem(at: from, to: to)
                coordinator.item(at: from, didMoveTo: to)
            }
            expect(witness, ["changed", "writer", "moved moved", "reacquired"])
            #expect(witness.presentedItemURL?.lastPathComponent == "moved")
            try coordinator.coordinate(writingItemAt: moved, options: .forDeleting) { try FileManager.default.removeItem(at: $0) }
            expect(
                witness,
                ["changed", "writer", "moved moved", "reacquired", "writer", "accommodate", "changed", "reacquired"])
        }
    }

    @Test func aFolderHearsOfWhatIsInIt() throws {
        let doc = documents.make("folder/doc")
        let (made, moved) = (documents("folder/made"), documents("folder/moved"))
        let witness = Witness(documents("folder"))
        let coordinator = patient()
        try presenting(witness) {
            try coordinator.coordinate(writingItemAt: made) { try "new".write(to: $0, atomically: false, encoding: .utf8) }
            expect(witness, ["writer", "appeared made", "reacquired"])
            try coordinator.coordinate(writingItemAt: made) { try "new".write(to: $0, atomically: false, encoding: .utf8) }
            try coordinator.coordinate(writingItemAt: doc, options: .forMoving, writingItemAt: moved) { from, to in
                try FileManager.default.moveItem(at: from, to: to)
                coordinator.item(at: from, didMoveTo: to)
            }
            try coordinator.coordinate(writingItemAt: moved, options: .forDeleting) { try FileManager.default.removeItem(at: $0) }
            eventually { witness.journal.all.filter { $0 == "reacquired" }.count == 5 }
        }
        let told = witness.journal.all.filter { $0 != "writer" && $0 != "reacquired" }
        #expect(told == ["appeared made", "changed made", "doc moved moved", "accommodate moved", "changed moved"])
    }

    @Test func itsOwnDoingIsNoNews() throws {
        let doc = documents.make("doc")
        let witness = Witness(doc)
        try presenting(witness) {
            let own = FileCoordinator(filePresenter: witness)
            try own.coordinate(writingItemAt: doc, options: .forMerging) { _ in }
            try own.coordinate(writingItemAt: doc, options: .forMoving, writingItemAt: documents("moved")) { from, to in
                try FileManager.default.moveItem(at: from, to: to)
                own.item(at: from, didMoveTo: to)
            }
            // But it is known where its item is.
            try patient().coordinate(writingItemAt: documents("moved")) { _ in }
            expect(witness, ["writer", "changed", "reacquired"])
        }
    }

    @Test func whoDoesNotAnswerIsWaitedForOnce() throws {
        let doc = documents.make("doc")
        let witness = Witness(doc, answers: false)
        try presenting(witness) {
            let start = ContinuousClock.now
            try patient().coordinate(readingItemAt: doc) { _ in }
            #expect(ContinuousClock.now - start > .seconds(1.5))
            for _ in 0..<3 { try patient().coordinate(readingItemAt: doc) { _ in } }
            #expect(witness.journal.all == ["reader"])
        }
    }

    @Test func aPresenterThatFailsHasTheAccessFail() throws {
        let doc = documents.make("doc")
        presenting(Witness(doc, fails: true)) {
            let error = #expect(throws: FileCoordinationError.self) { try patient().coordinate(readingItemAt: doc) { _ in } }
            #expect(error?.description.contains("could not let it go: DiskIsFull") ?? false)
        }
        try impatient().coordinate(writingItemAt: doc) { _ in }
    }

    @Test func presentersAreListed() throws {
        let (one, nowhere) = (Witness(documents.make("doc")), Witness(nil))
        func isListed(_ witness: Witness) -> Bool { FileCoordinator.filePresenters.contains { $0 === witness } }
        presenting(one) { presenting(nowhere) { #expect(isListed(one) && isListed(nowhere)) } }
        #expect(!isListed(one) && !isListed(nowhere))
    }

    @Test func eventsComeInOrder() async throws {
        let doc = documents.make("folder/doc")
        var events = try await FileCoordinator.events(forItemAt: documents("folder")).makeAsyncIterator()
        let coordinator = patient()
        try await coordinator.coordinate(writingItemAt: doc) { try "new".write(to: $0, atomically: false, encoding: .utf8) }
        try await coordinator.coordinate(writingItemAt: documents("folder/made")) {
            try "new".write(to: $0, atomically: false, encoding: .utf8)
        }
        let (first, second) = (await events.next(), await events.next())
        #expect(first?.kind == .changed && first?.url.path == doc.path && first?.process?.id == getpid())
        #expect(second?.kind == .appeared && second?.url.lastPathComponent == "made")
    }

    @Test func whoDoesNotTakeEventsIsToldOfThat() async throws {
        let doc = documents.make("doc")
        var events = try await FileCoordinator.events(forItemAt: doc).makeAsyncIterator()
        let coordinator = patient()
        for _ in 0..<1_200 {
            try await coordinator.coordinate(writingItemAt: doc, options: .contentIndependentMetadataOnly) { _ in }
        }
        var kinds: [FileEvent.Kind] = []
        while kinds.last != .missed, let event = await events.next() { kinds.append(event.kind) }
        #expect(kinds == Array(repeating: .attributesChanged, count: kinds.count - 1) + [.missed])
        #expect(kinds.count > 900 && kinds.count <= 1_001)
    }
}
