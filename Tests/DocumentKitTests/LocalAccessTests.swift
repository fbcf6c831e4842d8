import DocumentKit
import Foundation
import Synchronization
import TestSupport
import Testing

/// What happens, in its order, on whatever thread.
final class Journal: Sendable {
    private let lines = Mutex<[String]>([])
    func note(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
    func has(_ line: String) -> Bool { all.contains(line) }
}

/// Files of a test, in no mount.
struct Documents {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func callAsFunction(_ name: String) -> URL { URL(filePath: folder.path(name), directoryHint: .notDirectory) }

    func make(_ name: String, _ text: String = "old") -> URL {
        folder.makeFile(name, text)
        return self(name)
    }
}

func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

/// Runs a blocking piece of code on a thread of its own.
func thread(_ body: @escaping @Sendable () -> Void) { Thread.detachNewThread(body) }

/// A coordinator that holds an item until it is let go.
final class Holder: Sendable {
    private let isHeld = DispatchSemaphore(value: 0)
    private let go = DispatchSemaphore(value: 0)
    private let isOver = DispatchSemaphore(value: 0)

    init(writing url: URL, options: FileCoordinator.WritingOptions = [], purpose: String? = nil) {
        begin { coordinator, held in
            if let purpose { coordinator.purposeIdentifier = purpose }
            try coordinator.coordinate(writingItemAt: url, options: options) { _ in held() }
        }
    }

    init(reading url: URL) {
        begin { coordinator, held in try coordinator.coordinate(readingItemAt: url) { _ in held() } }
    }

    private func begin(_ body: @escaping @Sendable (FileCoordinator, () -> Void) throws -> Void) {
        thread { [self] in
            do {
                try body(patient()) {
                    isHeld.signal()
                    go.wait()
                }
            } catch { Issue.record("not held: \(error)") }
            isOver.signal()
        }
        isHeld.wait()
    }

    func end() {
        go.signal()
        isOver.wait()
    }
}

/// A coordinator that waits no longer than a moment.
func impatient() -> FileCoordinator { coordinator(timeout: .milliseconds(100)) }

/// A coordinator that waits for what takes a moment, even where other tests keep the threads that it takes.
func patient() -> FileCoordinator { coordinator(timeout: .seconds(600)) }

private func coordinator(timeout: Duration) -> FileCoordinator {
    let coordinator = FileCoordinator()
    coordinator.timeout = timeout
    return coordinator
}

func expectTimeout(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
    do {
        try body()
        Issue.record("was granted", sourceLocation: sourceLocation)
    } catch FileCoordinationError.timedOut {
    } catch { Issue.record("expected timedOut, got \(error)", sourceLocation: sourceLocation) }
}

/// Accesses by closures that block, outside of mounts.
struct LocalAccessTests {
    struct Failure: Error, Equatable {}
    let documents: Documents

    init() throws { documents = try Documents() }

    @Test func anAccessorsResultAndErrorArePassedOn() throws {
        let doc = documents.make("doc")
        let coordinator = patient()
        #expect(try coordinator.coordinate(readingItemAt: doc) { try text($0) } == "old")
        #expect(throws: Failure()) { try coordinator.coordinate(writingItemAt: doc) { _ in throw Failure() } }
        // It holds nothing any more.
        try impatient().coordinate(writingItemAt: doc) { try "new".write(to: $0, atomically: false, encoding: .utf8) }
        #expect(try text(doc) == "new")
    }

    @Test func writersExcludeEachOther() throws {
        let doc = documents.make("doc", "0")
        let done = DispatchSemaphore(value: 0)
        for _ in 0..<16 {
            thread {
                do {
                    try patient().coordinate(writingItemAt: doc) { url in
                        let count = try #require(Int(try text(url)))
                        usleep(1000)
                        try "\(count + 1)".write(to: url, atomically: false, encoding: .utf8)
                    }
                } catch { Issue.record(error) }
                done.signal()
            }
        }
        for _ in 0..<16 { done.wait() }
        #expect(try text(doc) == "16")
    }

    @Test func readersShareAndKeepWritersOut() throws {
        let doc = documents.make("doc")
        let reader = Holder(reading: doc)
        try impatient().coordinate(readingItemAt: doc) { _ in }
        expectTimeout { try impatient().coordinate(writingItemAt: doc) { _ in } }
        try impatient().coordinate(writingItemAt: documents("other")) { _ in }
        try impatient().coordinate(writingItemAt: doc, options: .contentIndependentMetadataOnly) { _ in }
        reader.end()
        try impatient().coordinate(writingItemAt: doc) { _ in }
    }

    @Test func whoWritesKeepsReadersOut() throws {
        let doc = documents.make("doc")
        let writer = Holder(writing: doc)
        expectTimeout { try impatient().coordinate(readingItemAt: doc) { _ in } }
        try impatient().coordinate(readingItemAt: doc, options: .immediatelyAvailableMetadataOnly) { _ in }
        writer.end()
        try impatient().coordinate(readingItemAt: doc) { _ in }
    }

    @Test func turnsAreTakenInOrder() throws {
        let doc = documents.make("doc")
        let reader = Holder(reading: doc)
        let journal = Journal()
        for name in ["first", "second", "third"] {
            thread { try? patient().coordinate(writingItemAt: doc) { _ in journal.note(name) } }
            usleep(50_000)
        }
        #expect(journal.all.isEmpty)
        // Who reads later does not get past who waits to write.
        expectTimeout { try impatient().coordinate(readingItemAt: doc) { _ in } }
        reader.end()
        eventually { journal.all.count == 3 }
        #expect(journal.all == ["first", "second", "third"])
    }

    @Test func aTimeoutSaysWhoIsInTheWay() throws {
        let doc = documents.make("doc")
        let writer = Holder(writing: doc, purpose: "an index")
        let error = #expect(throws: FileCoordinationError.self) { try impatient().coordinate(readingItemAt: doc) { _ in } }
        let message = "\(try #require(error))"
        #expect(message.contains("/doc is held by ") && message.contains("(pid \(getpid())) for an index"))
        writer.end()
    }

    @Test func onePurposeNeverWaitsForItself() throws {
        let doc = documents.make("doc")
        let writer = Holder(writing: doc, purpose: "sync \(doc.path)")
        let other = impatient()
        other.purposeIdentifier = "sync \(doc.path)"
        try other.coordinate(writingItemAt: doc) { _ in }
        writer.end()
    }

    @Test(arguments: [FileCoordinator.WritingOptions.forDeleting, .forMoving, .forReplacing])
    func aFolderIsClaimedWithWhatIsInIt(options: FileCoordinator.WritingOptions) throws {
        let doc = documents.make("folder/in/doc")
        let writer = Holder(writing: documents("folder"), options: options)
        expectTimeout { try impatient().coordinate(readingItemAt: doc) { _ in } }
        expectTimeout { try impatient().coordinate(writingItemAt: doc) { _ in } }
        writer.end()
        let merger = Holder(writing: documents("folder"), options: .forMerging)
        try impatient().coordinate(writingItemAt: doc) { _ in }
        merger.end()
    }

    @Test func accessesWithinAccessesDoNotWait() throws {
        let doc = documents.make("doc")
        let coordinator = impatient()
        try coordinator.coordinate(writingItemAt: doc) { url in
            try coordinator.coordinate(readingItemAt: url) { _ in }
            try coordinator.coordinate(writingItemAt: url) { _ in }
            // Another coordinator on the same thread, too.
            try impatient().coordinate(writingItemAt: url) { _ in }
            let isDone = DispatchSemaphore(value: 0)
            thread {
                expectTimeout { try impatient().coordinate(writingItemAt: url) { _ in } }
                isDone.signal()
            }
            isDone.wait()
        }
    }

    @Test func aDeadlockIsRefused() throws {
        let (one, other) = (documents.make("one"), documents.make("other"))
        let holdsBoth = DispatchSemaphore(value: 0)
        let journal = Journal()
        let isDone = DispatchSemaphore(value: 0)
        for (first, second) in [(one, other), (other, one)] {
            thread {
                do {
                    try patient().coordinate(writingItemAt: first) { _ in
                        holdsBoth.signal()
                        while journal.all.isEmpty { usleep(1000) }
                        if second == one { usleep(100_000) }
                        try patient().coordinate(writingItemAt: second) { _ in journal.note("granted") }
                    }
                } catch FileCoordinationError.deadlock {
                    journal.note("deadlock")
                } catch { Issue.record(error) }
                isDone.signal()
            }
        }
        holdsBoth.wait()
        holdsBoth.wait()
        journal.note("both are held")
        isDone.wait()
        isDone.wait()
        // Who is refused lets go before it says so.
        #expect(journal.all.sorted() == ["both are held", "deadlock", "granted"])
    }

    @Test func twoItemsAreGrantedAtOnce() throws {
        let (one, other) = (documents.make("one", "content"), documents.make("other"))
        let coordinator = patient()
        try coordinator.coordinate(readingItemAt: one, writingItemAt: other) { source, target in
            try text(source).write(to: target, atomically: false, encoding: .utf8)
        }
        #expect(try text(other) == "content")
        let writer = Holder(writing: other)
        expectTimeout { try impatient().coordinate(readingItemAt: one, writingItemAt: other) { _, _ in } }
        expectTimeout { try impatient().coordinate(writingItemAt: one, writingItemAt: other) { _, _ in } }
        // What was not granted holds nothing.
        try impatient().coordinate(writingItemAt: one) { _ in }
        writer.end()
        try coordinator.coordinate(
            writingItemAt: one, options: .forMoving, writingItemAt: other, options: .forReplacing
        ) { from, to in #expect(rename(from.path, to.path) == 0) }
        #expect(try text(other) == "content" && !FileManager.default.fileExists(atPath: one.path))
    }

    @Test func cancellingEndsWhatWaitsForGood() throws {
        let doc = documents.make("doc")
        let writer = Holder(writing: doc)
        let coordinator = patient()
        thread {
            usleep(100_000)
            coordinator.cancel()
        }
        #expect(throws: FileCoordinationError.cancelled) { try coordinator.coordinate(readingItemAt: doc) { _ in } }
        writer.end()
        #expect(throws: FileCoordinationError.cancelled) { try coordinator.coordinate(readingItemAt: doc) { _ in } }
        try impatient().coordinate(writingItemAt: doc) { _ in }
    }

    @Test func whatIsPreparedIsHeldUntilItIsDone() throws {
        let (one, other) = (documents.make("one"), documents.make("other"))
        let coordinator = impatient()
        let completion = Mutex<(@Sendable () -> Void)?>(nil)
        try coordinator.prepare(forReadingItemsAt: [one], writingItemsAt: [other]) { done in
            do {
                try coordinator.coordinate(readingItemAt: one, writingItemAt: other) { _, _ in }
            } catch { Issue.record(error) }
            completion.withLock { $0 = done }
        }
        expectTimeout { try impatient().coordinate(writingItemAt: one) { _ in } }
        expectTimeout { try impatient().coordinate(readingItemAt: other) { _ in } }
        try coordinator.coordinate(writingItemAt: other) { _ in }
        completion.withLock { $0.take() }?()
        try impatient().coordinate(writingItemAt: one, writingItemAt: other) { _, _ in }
        // Let go of without a call.
        try coordinator.prepare(forReadingItemsAt: [], writingItemsAt: [other]) { _ in }
        try impatient().coordinate(writingItemAt: other) { _ in }
    }

    @Test func intentsSayWhereTheItemsAre() throws {
        let doc = documents.make("doc")
        let link = documents("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: doc)
        let coordinator = patient()
        try coordinator.coordinate(readingItemAt: link) { #expect($0.lastPathComponent == "link") }
        try coordinator.coordinate(readingItemAt: link, options: .resolvesSymbolicLink) { #expect($0.lastPathComponent == "doc") }
        var copy: URL?
        try coordinator.coordinate(readingItemAt: doc, options: .forUploading) { url in
            let content = try text(url)
            #expect(url != doc && content == "old")
            copy = url
        }
        #expect(!FileManager.default.fileExists(atPath: try #require(copy).path))
    }

    @Test func whoWaitsFollowsAMove() throws {
        let doc = documents.make("doc")
        let (moved, journal) = (documents("moved"), Journal())
        let mover = patient()
        try mover.coordinate(writingItemAt: doc, options: .forMoving, writingItemAt: moved) { from, to in
            thread { try? patient().coordinate(readingItemAt: doc) { journal.note($0.lastPathComponent) } }
            usleep(100_000)
            try FileManager.default.moveItem(at: from, to: to)
            mover.item(at: from, didMoveTo: to)
        }
        eventually { !journal.all.isEmpty }
        #expect(journal.all == ["moved"])
    }

    @Test func aURLThatIsNoFilesIsRefused() throws {
        let url = try #require(URL(string: "https://example.org/doc"))
        #expect(throws: FileCoordinationError.failed("https://example.org/doc: is not the URL of a file")) {
            try patient().coordinate(readingItemAt: url) { _ in }
        }
    }
}
