import DocumentRendering
import Glibc
import StorePrimitives
import Synchronization
import SystemPackage
import TestSupport
import Testing

struct RenderQueueTests {
    private func subject(_ name: String) -> RenderSubject {
        RenderSubject(name: EntryName(name), uri: "file:///\(name)", open: { () throws(Errno) in throw .noSuchFileOrDirectory })
    }

    private func next(_ queue: RenderQueue) -> RenderQueue.Item? {
        if case .item(let item) = queue.next(idleAfter: 0) { item } else { nil }
    }

    @Test func theMostUrgentIsFirstThenTheOldest() {
        let queue = RenderQueue()
        for (name, urgency) in [("a", Urgency.later), ("b", .browsed), ("c", .browsed), ("d", .awaited)] {
            #expect(queue.add(subject(name), .normal, urgency, nil))
        }
        #expect((0..<5).map { _ in next(queue)?.subject.name.description } == ["d", "b", "c", "a", nil])
    }

    @Test func whoAsksAgainJoinsAndMayMakeItMoreUrgent() {
        let queue = RenderQueue()
        let told = Mutex(0)
        for urgency in [Urgency.later, .awaited] { _ = queue.add(subject("a"), .normal, urgency) { _ in told.withLock { $0 += 1 } } }
        _ = queue.add(subject("b"), .normal, .browsed, nil)
        #expect(queue.count == 2)
        let first = next(queue)
        #expect(first?.subject.name.description == "a")
        // Who asks while it is rendered may mean a later version.
        _ = queue.add(subject("a"), .normal, .awaited) { _ in told.withLock { $0 += 1 } }
        #expect(next(queue)?.subject.name.description == "b")
        #expect(next(queue) == nil)
        queue.finish(first!, .failed(""))
        #expect(told.withLock { $0 } == 2)
        let second = next(queue)
        #expect(second?.subject.name.description == "a")
        queue.finish(second!, .failed(""))
        #expect(told.withLock { $0 } == 3)
        #expect(queue.count == 1)
    }

    @Test func sizesAreRenderedApart() {
        let queue = RenderQueue()
        for size in [ThumbnailSize.normal, .large] { _ = queue.add(subject("a"), size, .browsed, nil) }
        #expect([next(queue)?.size, next(queue)?.size] == [.normal, .large])
    }

    @Test func aUserHasAShareOfThePlaces() {
        let queue = RenderQueue(shares: UserShares(bounds: [.waitingPictures: .init(forUser: 3, forAll: 9)]))
        for name in ["a", "b", "c"] { #expect(queue.add(subject(name), .normal, .browsed, for: 1, nil)) }
        #expect(!queue.add(subject("d"), .normal, .browsed, for: 1, nil))
        #expect(queue.add(subject("d"), .normal, .awaited, for: 2, nil))
        let first = next(queue)
        #expect(first?.subject.name.description == "d")
        do {
            let second = next(queue)
            queue.finish(second!, .failed(""))
        }
        #expect(queue.add(subject("e"), .normal, .browsed, for: 1, nil))
    }

    /// What nobody waits for any more is not rendered, and takes no places.
    @Test func whatNobodyWaitsForIsLetGo() {
        let queue = RenderQueue(shares: UserShares(bounds: [.waitingPictures: .init(forUser: 2, forAll: 5)]))
        let isWanted = Flag()
        for name in ["a", "b"] {
            let isAdded = queue.add(subject(name), .normal, .awaited, for: 1) { _ in } isWanted: { isWanted.isSet.load(ordering: .relaxed) }
            #expect(isAdded)
        }
        isWanted.isSet.store(false, ordering: .relaxed)
        #expect(queue.add(subject("c"), .normal, .awaited, for: 1, nil))
        #expect(next(queue)?.subject.name.description == "c")
        #expect(next(queue) == nil)
        #expect(queue.count == 1)
    }

    private final class Flag: Sendable { let isSet = Atomic(true) }

    @Test func whatIsAwaitedHasRoomBesideAllElse() {
        let queue = RenderQueue()
        var number = 0
        while queue.add(subject("\(number)"), .normal, .browsed, nil) { number += 1 }
        #expect(number == RenderQueue.capacity)
        #expect(queue.add(subject("a"), .normal, .awaited, nil))
        #expect(next(queue)?.subject.name.description == "a")
    }

    /// Who leaves its work to others wakes one of them, and takes it itself when it is in time.
    @Test func workIsLeftToOthersWhileItIsNotInTime() {
        let queue = RenderQueue()
        let isInTime = Mutex(false), taken = Mutex<[String]>([])
        let end = Signal()
        func takeOne(_ name: String, isInTime: @escaping @Sendable () -> Bool) -> NamedThread {
            NamedThread(name) {
                guard case .item(let item) = queue.next(idleAfter: 10, isInTime: isInTime) else { return }
                taken.withLock { $0.append(name) }
                if name == "other" { end.wait() }
                queue.finish(item, .failed(""))
            }
        }
        let threads = [takeOne("patient") { isInTime.withLock { $0 } }, takeOne("other") { true }]
        for name in "ab" { _ = queue.add(subject(String(name)), .normal, .browsed, nil) }
        eventually { taken.withLock { $0 } == ["other"] }
        usleep(50_000)
        #expect(taken.withLock { $0 } == ["other"])
        isInTime.withLock { $0 = true }
        threads[0].join()
        #expect(taken.withLock { $0 } == ["other", "patient"])
        end.signal()
        threads[1].join()
    }

    /// What is there for users whom the others' work would keep waiting takes nothing else.
    @Test func aUserForWhomNothingIsMadeIsStarved() {
        let queue = RenderQueue()
        func starved() -> String? {
            if case .item(let item) = queue.next(idleAfter: 0, onlyStarved: true) { item.subject.name.description } else { nil }
        }
        for (name, user) in [("a1", 1), ("a2", 1), ("b1", 2), ("b2", 2)] { _ = queue.add(subject(name), .normal, .awaited, for: uid_t(user), nil) }
        _ = queue.add(subject("c"), .normal, .browsed, for: 3, nil)
        let first = next(queue)
        #expect(first?.subject.name.description == "a1")
        #expect(starved() == "b1")
        // Both users have something made for them, and nobody waits for the third one's.
        queue.finish(first!, .failed(""))
        #expect(starved() == "a2")
        #expect(next(queue)?.subject.name.description == "b2")
    }

    @Test func whoLeavesWorkToOthersRests() {
        let queue = RenderQueue()
        _ = queue.add(subject("a"), .normal, .awaited, for: 1, nil)
        let asked = Mutex(0)
        let threads = [true, false].map { onlyStarved in
            NamedThread("patient") {
                _ = queue.next(idleAfter: 10, onlyStarved: onlyStarved) {
                    asked.withLock { $0 += 1 }
                    return false
                }
            }
        }
        usleep(300_000)
        queue.stop()
        for thread in threads { thread.join() }
        // Every ten milliseconds.
        #expect((2...60).contains(asked.withLock { $0 }))
    }

    @Test func theEndTellsWhoWaits() {
        let queue = RenderQueue()
        let told = Mutex(0)
        _ = queue.add(subject("a"), .normal, .browsed) { _ in told.withLock { $0 += 1 } }
        queue.stop()
        #expect(told.withLock { $0 } == 1)
        #expect(!queue.add(subject("b"), .normal, .browsed, nil))
        if case .stopped = queue.next(idleAfter: 10) {} else { Issue.record("it goes on") }
    }

    /// Lookups that wait for a while and come again take no memory each time.
    @Test func whatNobodyWaitsForAnyMoreIsLetGo() throws {
        let queue = RenderQueue()
        let told = Mutex(0)
        for number in 0..<10_000 {
            let isAdded = queue.add(subject("a"), .normal, .awaited) { _ in told.withLock { $0 += 1 } } isWanted: { number % 5_000 == 0 }
            try #require(isAdded)
        }
        let item = try #require(next(queue))
        #expect((2...4).contains(item.completions.count))
        queue.finish(item, .failed("nothing"))
        #expect((2...4).contains(told.withLock { $0 }))
    }

    /// Asking again and again, without waiting, takes no memory each time.
    @Test func requestsForTheSameAreBounded() {
        let queue = RenderQueue()
        #expect((0..<100).count { _ in queue.add(subject("a"), .normal, .browsed) { _ in } } == 16)
        #expect(queue.add(subject("a"), .normal, .awaited) { _ in })
        #expect(queue.add(subject("a"), .normal, .browsed, nil))
        #expect(next(queue)?.completions.count == 17)
        #expect((0..<100).count { _ in queue.add(subject("a"), .normal, .browsed) { _ in } } == 16)
    }

    @Test func previewsAndPicturesTakeTurns() {
        let queue = RenderQueue()
        for name in ["a", "b"] { _ = queue.add(subject(name), .normal, .awaited, nil) }
        for _ in 0..<3 { #expect(queue.add(RenderQueue.Job(run: { _ in }, cancel: {}))) }
        let order = (0..<5).map { _ in
            switch queue.next(idleAfter: 0) {
            case .job: "job"
            case .item(let item): item.subject.name.description
            case .idle, .stopped: "none"
            }
        }
        #expect(order == ["job", "a", "job", "b", "job"])
    }

    @Test func thereIsABound() {
        let queue = RenderQueue()
        let accepted = (0..<30_000).count { queue.add(subject("\($0)"), .normal, .browsed, nil) }
        #expect(accepted == 20_000)
    }
}
