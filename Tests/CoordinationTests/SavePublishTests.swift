import Coordination
import Testing

/// How versions get into place, by whatever cause (rules 5, 7, 8, 9, 11, 12 and 13).
struct SavePublishTests {
    typealias Document = DrivenDocument
    let saver = Document.process(10)
    let other = Document.process(20)

    // MARK: - In place or not

    @Test func aLiveWriterOnTheOldInodeIsPublishedInPlace() {
        let document = Document()
        let save = document.open(saver)
        // Nobody can send this one on to the working copy.
        #expect(document.open(Document.unknown).isLive)
        #expect(document.close(save, by: saver) == .inPlace)
        #expect(document.plan == PublishPlan(mode: .inPlace, replaced: Document.original))
        #expect(document.saves.published == Document.original)
    }

    @Test func aLiveWriterThatIsClosedIsNot() {
        let document = Document()
        let save = document.open(saver)
        let live = document.open(Document.unknown)
        #expect(document.saves.flushing(live.handle, by: nil) == nil)
        #expect(document.saves.holders(of: Document.original)?.handles == [live.handle])
        // For which the mount waits.
        #expect(document.release(live) == nil)
        #expect(document.close(save, by: saver) == .replaced)
    }

    @Test func aThreadOnItsWayToTheOldInodeKeepsIt() {
        let document = Document()
        let save = document.open(saver)
        let request = document.request(other, [.writes, .truncates, .synchronous, .creates])
        #expect(document.ask(request) == .retry(to: Document.original))
        #expect(document.close(save, by: saver) == .inPlace)
    }

    @Test func aLinkMadeMeanwhileIsPublishedInPlace() {
        let document = Document()
        let save = document.open(saver)
        document.links = 2
        #expect(document.close(save, by: saver) == .inPlace)
    }

    @Test func aDocumentThatWasReplacedOrRemovedDropsTheWorkingCopy() {
        let document = Document()
        let save = document.open(saver)
        document.links = 0
        #expect(document.close(save, by: saver) == .discarded(.removed))
        #expect(document.saves.isIdle)
    }

    @Test func anOpenDuringThePublicationIsServedOnTheVersionThatComes() {
        let document = Document()
        let save = document.open(saver)
        _ = document.saves.plan(save.version, for: .synced, hasName: true, now: document.now)
        #expect(document.saves.lookup(other) == Document.original)
        let request = document.request(Document.unknown, [.writes])
        #expect(document.ask(request) == .serve(save.version, .live(.notTruncating)))
        let late = document.open(other, [.writes], starting: Document.original)
        #expect(late.version == save.version)
        #expect(late.isLive)
        #expect(Set(document.saves.published(save.version).map(\.handle)) == [save.handle, request.handle, late.handle])
        #expect(document.saves.lookup(other) == save.version)
    }

    @Test func aTruncatingOpenDuringThePublicationIsASaveOfItsOwn() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.flush(save, by: saver) == .publish(save.version, .closed))
        _ = document.saves.plan(save.version, for: .closed, hasName: true, now: document.now)
        let second = document.open(Document.process(10, thread: 11), starting: save.version)
        #expect(second.version != save.version)
        #expect(second.kind == .transactional)
        #expect(document.saves.published(save.version).map(\.handle) == [save.handle])
        #expect(document.close(second, by: saver) == .replaced)
        #expect(document.plan == PublishPlan(mode: .replace, replaced: save.version))
    }

    @Test func aSecondCloseFindsNothingLeftToDo() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.close(save, by: saver) == .replaced)
        #expect(document.saves.plan(save.version, for: .closed, hasName: true, now: document.now) == .none)
    }

    // MARK: - Two savers

    @Test func theLastToPublishWinsAndTheLoserIsKept() {
        let document = Document()
        let (first, second) = (document.open(saver), document.open(other))
        #expect(document.close(first, by: saver) == .replaced)
        #expect(document.plan == PublishPlan(mode: .replace, replaced: Document.original))
        #expect(document.close(second, by: other) == .replaced)
        #expect(document.plan == PublishPlan(mode: .replace, replaced: first.version, keepsReplaced: .overtaken))
        #expect(document.saves.published == second.version)
    }

    @Test func aLoserThatWasPublishedInPlaceIsKeptToo() {
        let document = Document()
        let (first, second) = (document.open(saver), document.open(other))
        document.links = 2
        #expect(document.close(first, by: saver) == .inPlace)
        #expect(document.close(second, by: other) == .inPlace)
        #expect(document.plan == PublishPlan(mode: .inPlace, replaced: Document.original, keepsReplaced: .overtaken))
    }

    @Test func whoBeginsOnAVersionThatIsBeingPublishedHasSeenIt() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.flush(save, by: saver) == .publish(save.version, .closed))
        _ = document.saves.plan(save.version, for: .closed, hasName: true, now: document.now)
        let second = document.open(other)
        _ = document.saves.published(save.version)
        #expect(document.close(second, by: other) == .replaced)
        #expect(document.plan == PublishPlan(mode: .replace, replaced: save.version))
    }

    @Test func oneAfterTheOtherNobodyLoses() {
        let document = Document()
        #expect(document.close(document.open(saver), by: saver) == .replaced)
        #expect(document.close(document.open(other), by: other) == .replaced)
        #expect(document.plan?.keepsReplaced == nil)
    }

    // MARK: - Failures

    @Test func aFailureToPublishIsTheCloseErrorAndKeepsTheContent() {
        let document = Document()
        let save = document.open(saver)
        let step = document.flush(save, by: saver)
        #expect(document.carryOut(step, errno: 28) == .discarded(.publishFailed(28)))
        #expect(document.saves.isIdle)
        #expect(document.saves.published == Document.original)
    }

    @Test func aFailureOfFsyncLeavesTheSaveOpen() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.carryOut(document.saves.sync(save.handle), errno: 5) == .failed(5))
        #expect(document.saves.openSaves.map(\.phase) == [.open])
        #expect(document.close(save, by: saver) == .replaced)
    }

    @Test func aFailedPublicationGoesOnForWhoHasOpenedItMeanwhile() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.flush(save, by: saver) == .publish(save.version, .closed))
        _ = document.saves.plan(save.version, for: .closed, hasName: true, now: document.now)
        let late = document.open(other, [.writes], starting: Document.original)
        #expect(document.saves.failed(save.version, errno: 5, now: document.now) == .none)
        #expect(document.close(late, by: other) == .replaced)
    }

    // MARK: - Time

    /// Milliseconds from the last write to the close, whether the program set the time, whether it is set to now.
    @Test(arguments: [
        (0, false, false), (50, false, false), (51, false, true), (51, true, false),
    ] as [(UInt64, Bool, Bool)])
    func theModificationTime(delay: UInt64, isSet: Bool, isNow: Bool) {
        let document = Document()
        let save = document.open(saver)
        document.saves.timesSet(save.version)
        document.write(save, by: saver)
        if isSet { document.saves.timesSet(save.version) }
        document.now += delay * Document.millisecond
        #expect(document.close(save, by: saver) == .replaced)
        #expect(document.plan?.setsModificationTime == isNow)
    }

    // MARK: - Before the end

    @Test func fsyncPublishesAndTheHandleIsLiveAfterwards() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.carryOut(document.saves.sync(save.handle)) == .replaced)
        #expect(document.saves.published == save.version)
        #expect(document.saves.sync(save.handle) == .none)
        document.write(save, by: saver)
        #expect(document.open(other).kind == .live(.writtenByAnother))
        #expect(document.close(save, by: saver, .killed(9)) == nil)
    }

    @Test func aSyncedHandleThatWritesNoMoreIsInNobodysWay() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.carryOut(document.saves.sync(save.handle)) == .replaced)
        #expect(document.close(save, by: saver) == nil)
        #expect(document.saves.holders(of: save.version) == nil)
        let second = document.open(other)
        #expect(second.kind == .transactional)
        #expect(document.close(second, by: other) == .replaced)
        // It goes along: what it might still write is not lost.
        #expect(Set(document.saves.liveWriters.map(\.handle)) == [save.handle])
        document.write(save, by: saver)
        #expect(document.open(Document.process(30)).kind == .live(.writtenByAnother))
    }

    @Test func theFsyncOfOneDoesNotSettleAnother() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        #expect(document.carryOut(document.saves.sync(save.handle)) == .replaced)
        #expect(document.open(Document.process(30)).kind == .live(.writtenByAnother))
        #expect(document.release(joined) == nil)
    }

    @Test func whoCameDuringThePublicationIsNotSettled() {
        let document = Document()
        let save = document.open(saver)
        _ = document.saves.plan(save.version, for: .synced, hasName: true, now: document.now)
        let late = document.open(saver, [.writes, .appends], starting: save.version)
        #expect(late.isLive)
        _ = document.saves.published(save.version)
        #expect(document.open(other).kind == .live(.writtenByAnother))
    }

    @Test func aSyncedHandleThatWritesDuringASaveKeepsItsInode() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.carryOut(document.saves.sync(save.handle)) == .replaced)
        let second = document.open(other)
        document.write(save, by: saver)
        #expect(document.close(second, by: other) == .inPlace)
        #expect(document.saves.published == save.version)
    }

    @Test func fsyncOfARemovedDocumentEndsTheSave() {
        let document = Document()
        let save = document.open(saver)
        document.links = 0
        #expect(document.carryOut(document.saves.sync(save.handle)) == .discarded(.removed))
        #expect(document.saves.isIdle)
    }

    @Test func renamingByTheLineagePublishesFirst() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.saves.renaming(by: other) == [])
        let steps = document.saves.renaming(by: Document.child(30, of: saver))
        #expect(steps == [.publish(save.version, .renamed)])
        #expect(document.carryOut(steps[0]) == .replaced)
        #expect(document.saves.liveWriters.map(\.reason) == [.renamed])
    }

    @Test func renamingDoesNotPublishWhatHasFailed() {
        let document = Document()
        let save = document.open(saver)
        _ = document.saves.writeFailed(save.handle, errno: 5, truncatingMakesRoom: false)
        #expect(document.saves.renaming(by: saver) == [])
    }

    @Test func fullDisksMakeASaveLive() {
        let document = Document()
        let save = document.open(saver)
        let step = document.saves.writeFailed(save.handle, errno: 28, truncatingMakesRoom: true)
        #expect(step == .publish(save.version, .outOfRoom))
        #expect(document.carryOut(step) == .inPlace)
        #expect(document.saves.liveWriters.map(\.reason) == [.outOfRoom])
        #expect(document.saves.writeFailed(save.handle, errno: 28, truncatingMakesRoom: true) == .none)
    }

    // MARK: - Streams

    @Test func aRedirectedSaveThatPausesFiveSecondsIsAStream() {
        let document = Document()
        let save = document.open(saver)
        document.now += Document.second
        document.write(save, by: Document.child(30, of: saver))
        #expect(document.saves.nextDeadline == document.now + 5 * Document.second)
        #expect(document.pass(4) == [])
        #expect(document.pass(1) == [.inPlace])
        #expect(document.plan == PublishPlan(mode: .inPlace, replaced: Document.original, setsModificationTime: true))
        #expect(document.saves.liveWriters.map(\.reason) == [.stream])
        #expect(document.saves.nextDeadline == nil)
    }

    @Test func aRedirectedSaveIsAStreamAfterAMinute() {
        let document = Document()
        let save = document.open(saver)
        let command = Document.child(30, of: saver)
        for _ in 0..<29 {
            document.write(save, by: command)
            #expect(document.pass(2) == [])
        }
        document.write(save, by: command)
        #expect(document.pass(2) == [.inPlace])
    }

    @Test func anExecIsNoticedWhenItMatters() {
        let document = Document()
        _ = document.open(saver)
        #expect(document.pass(4, execed: true) == [])
        #expect(document.pass(1, execed: true) == [.inPlace])
    }

    @Test func anyOtherSaveIsAStreamAfterAPauseOfAMinute() {
        let document = Document()
        let save = document.open(saver)
        for _ in 0..<11 { #expect(document.pass(5) == []) }
        document.write(save, by: saver)
        #expect(document.pass(59) == [])
        // It is looked at every five seconds whether it has exec'd.
        #expect(document.saves.nextDeadline == document.now + Document.second)
        #expect(document.pass(1) == [.inPlace])
    }

    @Test func timesCanBeInfinite() {
        var times = StreamTimes()
        (times.redirectedPause, times.redirectedOpen, times.pause) = (nil, nil, nil)
        let document = Document(times: times)
        let save = document.open(saver)
        document.write(save, by: Document.child(30, of: saver))
        #expect(document.saves.nextDeadline == nil)
        #expect(document.pass(1_000_000) == [])
        times.pause = .seconds(Int64.max)
        #expect(Document(times: times).saves.nextDeadline == nil)
    }

    @Test func aStreamThatCannotBePublishedIsTriedAgainLater() {
        let document = Document()
        _ = document.open(saver)
        document.now += 60 * Document.second
        let steps = document.saves.tick(now: document.now) { _, _ in false }
        #expect(document.carryOut(steps[0], errno: 28) == .failed(28))
        #expect(document.pass(4) == [])
        #expect(document.pass(1) == [.inPlace])
    }

    /// However long it has been open.
    @Test func aRedirectedStreamThatCannotBePublishedIsTriedAgainLater() {
        let document = Document()
        let save = document.open(saver)
        document.write(save, by: Document.child(30, of: saver))
        document.now += 70 * Document.second
        let steps = document.saves.tick(now: document.now) { _, _ in false }
        #expect(document.carryOut(steps[0], errno: 28) == .failed(28))
        #expect(document.pass(4) == [])
        #expect(document.pass(1) == [.inPlace])
    }

    @Test func whoIsOnItsWayToAStreamIsOnItsWayToTheDocument() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.ask(document.request(other, [.writes])) == .retry(to: save.version))
        let step = SaveStep.publish(save.version, .stream)
        #expect(document.carryOut(step) == .inPlace)
        #expect(document.release(save) == nil)
        #expect(document.open(Document.process(30)).kind == .live(.writtenByAnother))
    }

    @Test func aSaveThatFailedIsNoStream() {
        let document = Document()
        let save = document.open(saver)
        _ = document.saves.writeFailed(save.handle, errno: 28, truncatingMakesRoom: false)
        #expect(document.saves.nextDeadline == nil)
        #expect(document.pass(60, execed: true) == [])
    }

    @Test func aRedirectionGoesOnAfterOneOfItsProgramsWasKilled() {
        let document = Document()
        let save = document.open(saver)
        let command = Document.child(30, of: saver)
        #expect(document.close(save, by: command, .killed(11), isHeld: true) == nil)
        #expect(document.pass(5) == [.inPlace])
    }
}
