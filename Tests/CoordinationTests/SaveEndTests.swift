import Coordination
import Testing

/// When a save ends, and whether it is published or discarded (rules 9 and 10).
struct SaveEndTests {
    typealias Document = DrivenDocument
    let saver = Document.process(10)
    let other = Document.process(20)

    // MARK: - The last close

    @Test func theLastClosePublishesBeforeItReturns() {
        let document = Document()
        let save = document.open(saver)
        document.write(save, by: saver)
        #expect(document.close(save, by: saver) == .replaced)
        #expect(document.saves.published == save.version)
        #expect(document.saves.lookup(other) == save.version)
        #expect(!document.saves.isIdle)
        #expect(document.release(save) == nil)
        #expect(document.saves.isIdle)
    }

    @Test func aDuplicateKeepsItOpen() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.close(save, by: saver, isHeld: true) == nil)
        #expect(document.close(save, by: saver) == .replaced)
    }

    @Test func anotherHandleKeepsItOpenWithoutACheck() {
        let document = Document()
        let (first, second) = (document.open(saver), document.open(saver))
        let question = document.saves.flushing(first.handle, by: saver.process)
        #expect(question == FlushQuestion(working: first.version, opener: saver.process!, holders: nil))
        #expect(document.saves.flush(first.handle, FlushFacts()) == .none)
        let holders = document.saves.flushing(second.handle, by: saver.process)?.holders
        #expect(holders?.handles == [first.handle, second.handle])
        var facts = FlushFacts()
        facts.closed = [first.handle, second.handle]
        #expect(document.saves.flush(second.handle, facts) == .publish(first.version, .closed))
    }

    @Test func aJoinedWriterKeepsItOpen() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        #expect(document.close(save, by: saver) == nil)
        #expect(document.saves.lookup(other) == Document.original)
        #expect(document.close(joined, by: other) == .replaced)
    }

    @Test func aMappingOrADoubtIsDecidedAtRelease() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.close(save, by: saver, isHeld: true) == nil)
        #expect(document.release(save) == .replaced)
    }

    @Test func aDeathThatCannotBeSeenIsDecidedAtRelease() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.close(save, by: saver, .unknown) == nil)
        #expect(document.release(save) == .replaced)
    }

    @Test func anExitWithoutCloseIsAClose() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.close(save, by: saver, .none) == .replaced)
    }

    @Test func factsAreVoidForAHandleThatWasUsedMeanwhile() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.saves.flushing(save.handle, by: saver.process)?.holders?.handles == [save.handle])
        document.write(save, by: saver)
        var facts = FlushFacts()
        facts.closed = [save.handle]
        #expect(document.saves.flush(save.handle, facts) == .none)
    }

    @Test func useShowsThatAClosedHandleIsOpen() {
        for isWritten in [false, true] {
            let document = Document()
            let save = document.open(saver)
            let step = document.flush(save, by: saver)
            #expect(step == .publish(save.version, .closed))
            // Its descriptor had been passed to another process.
            let stranger = Document.process(30)
            if isWritten { document.write(save, by: stranger) }
            _ = document.saves.flushing(save.handle, by: stranger.process)
            #expect(document.carryOut(step) == nil)
            #expect(document.saves.holders(of: save.version)?.processes == [saver.process!, stranger.process!])
        }
    }

    @Test func whoOpensItBetweenDecisionAndPublicationKeepsItOpen() {
        let document = Document()
        let save = document.open(saver)
        let step = document.flush(save, by: saver)
        #expect(step == .publish(save.version, .closed))
        let again = document.open(Document.process(10, thread: 11))
        #expect(again.version == save.version)
        #expect(document.carryOut(step) == nil)
        #expect(document.close(again, by: saver) == .replaced)
    }

    @Test func aFlushOfALiveHandleAsksNothing() {
        let document = Document()
        let file = document.open(saver, [.writes])
        #expect(document.saves.flushing(file.handle, by: saver.process) == nil)
        #expect(document.saves.flushing(SaveHandle(77), by: saver.process) == nil)
        #expect(document.saves.flush(SaveHandle(77), FlushFacts()) == .none)
        #expect(document.saves.release(SaveHandle(77)) == .none)
    }

    // MARK: - Deaths

    /// Signal, and whether the save is published when it kills a program that saves, and one that is redirected.
    static let signals: [(Int32?, plain: Bool, redirected: Bool)] = [
        (1, false, true), (2, false, true), (15, false, true),  // HUP, INT, TERM
        (13, true, true),  // PIPE
        (9, false, false),  // KILL
        (3, false, false), (4, false, false), (5, false, false), (6, false, false), (7, false, false),
        (8, false, false), (11, false, false), (14, false, false), (24, false, false), (25, false, false),
        (31, false, false), (64, false, false), (nil, false, false),
    ]

    @Test(arguments: signals) func aFatalSignal(signal: Int32?, plain: Bool, redirected: Bool) {
        for execed in [false, true] {
            let document = Document()
            let save = document.open(saver)
            document.write(save, by: saver)
            let isPublished = execed ? redirected : plain
            let ended = document.close(save, by: saver, .killed(signal), execed: execed)
            #expect(ended == (isPublished ? .replaced : .discarded(.killed(signal))))
            #expect(document.saves.published == (isPublished ? save.version : Document.original))
            #expect(!document.saves.hasSaves)
        }
    }

    @Test func aKilledThreadGroupIsDiscardedAtItsFirstDescriptor() {
        let document = Document()
        let (first, second) = (document.open(saver), document.open(saver))
        #expect(document.close(first, by: saver, .killed(9), isHeld: true) == .discarded(.killed(9)))
        #expect(document.close(second, by: saver, .killed(9)) == nil)
        #expect(document.saves.isIdle)
        #expect(document.release(second) == nil)
    }

    @Test func aChildThatKeepsTheDescriptorDoesNotSaveAKilledProgram() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.close(save, by: saver, .killed(9), isHeld: true) == .discarded(.killed(9)))
    }

    @Test func inARedirectionWhoEndsLastDecides() {
        for death in [Death.none, .killed(9)] {
            let document = Document()
            let save = document.open(saver)
            let command = Document.child(30, of: saver)
            document.write(save, by: command)
            #expect(document.close(save, by: command, .killed(11), isHeld: true) == nil)
            let ended = document.close(save, by: saver, death)
            #expect(ended == (death == .none ? .replaced : .discarded(.killed(9))))
        }
    }

    @Test func inARedirectionADeathWithoutACheckIsDecidedAtRelease() {
        let document = Document()
        let save = document.open(saver)
        let command = Document.child(30, of: saver)
        document.write(save, by: command)
        #expect(document.close(save, by: command, .killed(9), isHeld: true) == nil)
        #expect(document.release(save) == .discarded(.killed(9)))
    }

    /// `dash -c 'cat half; sleep 1; echo rest' >document`, and dash is killed.
    @Test func noneGoOnWithTheWorkOfAKilledOpener() {
        for execed in [false, true] {
            let document = Document()
            let save = document.open(saver)
            let command = Document.child(30, of: saver)
            document.write(save, by: command)
            #expect(document.close(save, by: saver, .killed(9), isHeld: true, execed: execed) == .discarded(.killed(9)))
            document.write(save, by: command)
            #expect(document.close(save, by: command) == nil)
            #expect(document.release(save) == nil)
            #expect(document.saves.published == Document.original)
        }
    }

    @Test func thoseWhomAnInterruptedOpenerHasRedirectedToItGoOn() {
        let document = Document()
        let save = document.open(saver)
        let command = Document.child(30, of: saver)
        document.write(save, by: command)
        #expect(document.close(save, by: saver, .killed(15), isHeld: true, execed: true) == nil)
        #expect(document.close(save, by: command) == .replaced)
    }

    /// A mapping ends without a FLUSH, as does what an io_uring has open.
    @Test func howTheOpenerHasEndedIsKnownAtRelease() {
        for (death, isPublished) in [(Death.none, true), (.unknown, true), (.killed(13), true), (.killed(15), false), (.killed(9), false)] {
            let document = Document()
            let save = document.open(saver)
            #expect(document.close(save, by: saver, isHeld: true) == nil)
            let ended = document.release(save, death)
            guard case .killed(let signal) = death, !isPublished else {
                #expect(ended == .replaced)
                continue
            }
            #expect(ended == .discarded(.killed(signal)))
        }
    }

    /// An opener that has closed its own descriptor has left the save to whom it has started.
    @Test func howAnOpenerEndsThatHasLeftDoesNotMatter() {
        let document = Document()
        let save = document.open(saver)
        let command = Document.child(30, of: saver)
        document.write(save, by: command)
        let question = document.saves.flushing(save.handle, by: saver.process)
        #expect(question?.opener == saver.process)
        var facts = FlushFacts()
        facts.openerHasLeft = true
        #expect(document.saves.flush(save.handle, facts) == .none)
        #expect(document.release(save, .killed(9)) == .replaced)
    }

    /// A joined write is published with the rest; once a truncation has taken it away, the killed opener decides.
    @Test func aKilledOpenerIsNotForgottenForThoseWhoCloseLater() {
        let document = Document()
        let save = document.open(saver)
        let command = Document.child(30, of: saver)
        let joined = document.append(other)
        document.write(save, by: command)
        document.write(joined, by: other)
        #expect(document.close(save, by: saver, .killed(9), isHeld: true) == nil)
        document.saves.truncated(save.handle, now: document.now)
        #expect(document.close(save, by: command) == nil)
        #expect(document.close(joined, by: other) == .discarded(.killed(9)))
    }

    @Test func theDeathOfAJoinedWriterIsAClose() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        document.write(joined, by: other)
        #expect(document.close(joined, by: other, .killed(9)) == nil)
        #expect(document.close(save, by: saver) == .replaced)
    }

    @Test func aJoinedWriteIsNotLostWithTheSaver() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        document.write(joined, by: other)
        #expect(document.close(save, by: saver, .killed(9)) == nil)
        #expect(document.close(joined, by: other) == .replaced)
        #expect(document.plan?.keepsReplaced == .overtaken)
    }

    @Test func aJoinerWhoHasWrittenNothingDoesNotSaveAKilledProgram() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        #expect(document.close(save, by: saver, .killed(9)) == nil)
        #expect(document.close(joined, by: other) == .discarded(.killed(9)))
    }

    @Test func whoInheritedTheDescriptorOfAKilledProgramCannotTakeItsWorkOver() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        #expect(document.close(save, by: saver, .killed(9)) == nil)
        #expect(document.close(save, by: Document.child(30, of: saver)) == nil)
        #expect(document.close(joined, by: other) == .discarded(.killed(9)))
    }

    @Test func aJoinedWriteThatTheSaverTruncatedDoesNotCount() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        document.write(joined, by: other)
        document.saves.truncated(save.handle, now: document.now)
        #expect(document.close(joined, by: other) == nil)
        #expect(document.close(save, by: saver, .killed(9)) == .discarded(.killed(9)))
    }

    @Test func aSaverThatNeverArrivedIsNoEmptySave() {
        let document = Document()
        #expect(document.ask(document.request(saver)) != .serve(Document.original, .transactional))
        let joined = document.append(other)
        #expect(document.pass(5) == [])
        #expect(document.close(joined, by: other) == .discarded(.neverOpened))
    }

    // MARK: - Redirections

    @Test func aWriteOrFlushByAnotherProcessRedirects() {
        let document = Document()
        let save = document.open(saver)
        document.write(save, by: saver)
        #expect(document.saves.openSaves.map(\.isRedirected) == [false])
        document.write(save, by: Document.child(30, of: saver))
        #expect(document.saves.openSaves.map(\.isRedirected) == [true])

        let flushed = Document()
        let second = flushed.open(saver)
        #expect(flushed.close(second, by: Document.child(30, of: saver), isHeld: true) == nil)
        #expect(flushed.saves.openSaves.map(\.isRedirected) == [true])
    }

    @Test func aJoinedWriterDoesNotRedirectNorDoesTheKernel() {
        let document = Document()
        let save = document.open(saver)
        document.write(document.append(other), by: other)
        document.write(save, by: Document.unknown)
        #expect(document.saves.openSaves.map(\.isRedirected) == [false])
    }

    // MARK: - Failed writes

    @Test(arguments: [false, true]) func aFailedWriteDiscardsAndCloseTellsIt(isRedirected: Bool) {
        let document = Document()
        let save = document.open(saver)
        #expect(document.saves.writeFailed(save.handle, errno: 28, truncatingMakesRoom: false) == .none)
        #expect(document.carryOut(document.saves.sync(save.handle)) == .failed(28))
        #expect(document.close(save, by: saver, execed: isRedirected) == .discarded(.writeFailed(28)))
        #expect(DiscardReason.writeFailed(28).errno == 28)
        #expect(document.saves.published == Document.original)
    }

    @Test func aFailedWriteOutweighsADeathThatOthersGoOnAfter() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.close(save, by: Document.child(30, of: saver), .killed(11), isHeld: true) == nil)
        #expect(document.saves.writeFailed(save.handle, errno: 28, truncatingMakesRoom: false) == .none)
        #expect(document.close(save, by: saver) == .discarded(.writeFailed(28)))
    }

    @Test func startingOverForgivesAFailedWrite() {
        let document = Document()
        let save = document.open(saver)
        #expect(document.saves.writeFailed(save.handle, errno: 28, truncatingMakesRoom: false) == .none)
        document.saves.truncated(save.handle, now: document.now)
        #expect(document.close(save, by: saver) == .replaced)
    }

    @Test func aFailedWriteOfAJoinerIsItsOwn() {
        let document = Document()
        let save = document.open(saver)
        let joined = document.append(other)
        #expect(document.saves.writeFailed(joined.handle, errno: 28, truncatingMakesRoom: false) == .none)
        #expect(document.close(joined, by: other) == nil)
        #expect(document.close(save, by: saver) == .replaced)
    }

    /// What becomes of the content, and what the close answers.
    @Test(arguments: [
        (DiscardReason.killed(9), true, nil), (.killed(nil), true, nil), (.writeFailed(28), true, 28),
        (.publishFailed(5), true, 5), (.removed, false, nil), (.neverOpened, false, nil),
    ] as [(DiscardReason, Bool, Int32?)])
    func aDiscard(reason: DiscardReason, keepsContent: Bool, errno: Int32?) {
        #expect(reason.keepsContent == keepsContent)
        #expect(reason.errno == errno)
        #expect(reason.sentence.hasSuffix("."))
    }
}
