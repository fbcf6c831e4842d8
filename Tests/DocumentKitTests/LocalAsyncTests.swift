import DocumentKit
import Foundation
import Testing

/// Accesses that suspend, and those on queues, outside of mounts.
struct LocalAsyncTests {
    let documents: Documents

    init() throws { documents = try Documents() }

    @Test func tasksTakeTurns() async throws {
        let doc = documents.make("doc", "0")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    try await patient().coordinate(writingItemAt: doc) { url in
                        let count = try #require(Int(try text(url)))
                        await Task.yield()
                        try "\(count + 1)".write(to: url, atomically: false, encoding: .utf8)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try text(doc) == "64")
    }

    @MainActor @Test func anAccessorRunsWhereItsCallerDoes() async throws {
        let doc = documents.make("doc")
        var seen = ""
        try await patient().coordinate(readingItemAt: doc) { url in
            MainActor.assertIsolated()
            seen = try text(url)
        }
        #expect(seen == "old")
    }

    @Test func aCancelledTaskWaitsNoLonger() async throws {
        let doc = documents.make("doc")
        let writer = await held(doc)
        let task = Task { try await patient().coordinate(readingItemAt: doc) { _ in } }
        try await Task.sleep(for: .milliseconds(100))
        task.cancel()
        await #expect(throws: FileCoordinationError.cancelled) { try await task.value }
        await end(writer)
    }

    @Test func accessesWithinAccessesDoNotWait() async throws {
        let (doc, other) = (documents.make("doc"), documents.make("other"))
        let coordinator = impatient()
        try await coordinator.coordinate(writingItemAt: doc) { url in
            try await coordinator.coordinate(readingItemAt: url, writingItemAt: other) { _, _ in }
            try await impatient().coordinate(writingItemAt: url) { _ in }
            // A task beside it is another party.
            await #expect(throws: FileCoordinationError.self) {
                try await Task { try await impatient().coordinate(writingItemAt: url) { _ in } }.value
            }
        }
    }

    @Test func whatIsPreparedCostsNoMoreWaits() async throws {
        let (one, other) = (documents.make("one"), documents.make("other"))
        let coordinator = impatient()
        try await coordinator.prepare(forReadingItemsAt: [one], writingItemsAt: [other]) {
            try await coordinator.coordinate(readingItemAt: one, writingItemAt: other) { _, _ in }
            try await coordinator.coordinate(writingItemAt: one, writingItemAt: other) { _, _ in }
            await #expect(throws: FileCoordinationError.self) {
                try await Task { try await impatient().coordinate(readingItemAt: other) { _ in } }.value
            }
        }
        try await impatient().coordinate(writingItemAt: one, writingItemAt: other) { _, _ in }
    }

    @Test func intentsAreGrantedOnAQueue() async throws {
        let (one, other) = (documents.make("one"), documents.make("other"))
        let queue = OperationQueue()
        queue.name = "accessors"
        let intents = [FileAccessIntent.readingIntent(with: one), .writingIntent(with: other)]
        let failure = await withCheckedContinuation { continuation in
            patient().coordinate(with: intents, queue: queue) { error in
                #expect(OperationQueue.current === queue)
                expectTimeout { try Self.write(other) }
                continuation.resume(returning: error)
            }
        }
        #expect(failure == nil)
        let writer = await held(one)
        let refusal = await withCheckedContinuation { continuation in
            impatient().coordinate(with: intents, queue: queue) { continuation.resume(returning: $0) }
        }
        #expect("\(try #require(refusal))".contains("not granted in time"))
        await end(writer)
        #expect(try await patient().coordinate(with: intents) { try text(intents[0].url) } == "old")
    }

    /// On another thread than the accessor's, so that it is no access within that.
    private static func write(_ url: URL) throws {
        nonisolated(unsafe) var failure: (any Error)?
        let isDone = DispatchSemaphore(value: 0)
        thread {
            do { try impatient().coordinate(writingItemAt: url) { _ in } } catch { failure = error }
            isDone.signal()
        }
        isDone.wait()
        if let failure { throw failure }
    }

    private func held(_ url: URL) async -> Holder {
        await withCheckedContinuation { continuation in thread { continuation.resume(returning: Holder(writing: url)) } }
    }

    private func end(_ holder: Holder) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            thread {
                holder.end()
                continuation.resume()
            }
        }
    }
}
