import Coordination
import Testing

/// What broke a first version of saves, as far as it is a matter of decision. Each test is one observation.
struct SaveCornerTests {
    typealias Document = DrivenDocument
    let shell = Document.process(10)
    let other = Document.process(20)

    /// An unrelated truncating saver, or `>>`, opens while another publishes: it has looked the path up before, and
    /// opens what is superseded now.
    @Test func anOpenWhileAnotherPublishesLosesNoWrite() {
        for flags in [[.writes, .appends], [.writes], [.writes, .truncates]] as [OpenFlags] {
            for step in 0...2 {
                let document = Document()
                let save = document.open(shell)
                _ = document.flush(save, by: shell)
                if step > 0 { _ = document.saves.plan(save.version, for: .closed, hasName: true, now: document.now) }
                if step > 1 { _ = document.saves.published(save.version) }
                let file = document.open(other, flags, starting: Document.original)
                #expect(file.version != Document.original)
                #expect(file.estales == 1)
                #expect(file.isLive == (step > 0 && !flags.contains(.truncates)))
            }
        }
    }

    /// `exec >rep`, held for a second, while another process does `echo note >> rep`.
    @Test func aNoteAppendedToAHeldRedirectionIsInTheFile() {
        let document = Document()
        let report = document.open(shell)
        let note = document.append(other)
        #expect(note.version == report.version)
        document.write(note, by: other)
        #expect(document.close(note, by: other) == nil)
        #expect(document.close(report, by: shell) == .replaced)
    }

    /// `vmstat 1 > f`, then ^C or TERM: the shell's child opens, execs, and is killed.
    @Test(arguments: [2, 15] as [Int32]) func theLinesOfARedirectedCommandAreThereAfter(signal: Int32) {
        let document = Document()
        let child = Document.process(11)
        let output = document.open(child)
        document.write(output, by: child)
        #expect(document.close(output, by: child, .killed(signal), execed: true) == .replaced)
    }

    /// `python -u … | tee f | head`.
    @Test func aPipelineThatHasHadEnoughIsNew() {
        let document = Document()
        let tee = document.open(shell)
        document.write(tee, by: shell)
        #expect(document.close(tee, by: shell, .killed(13)) == .replaced)
    }

    /// `ln doc doc2` during a save.
    @Test func aLinkMadeDuringASaveStaysTheSameInode() {
        let document = Document()
        let save = document.open(shell)
        document.links = 2
        #expect(document.close(save, by: shell) == .inPlace)
        #expect(document.saves.published == Document.original)
    }

    /// Save to an existing x.tmp, rename to x, then close, or be killed.
    @Test(arguments: [Death.none, .killed(9)]) func aSaveThatIsRenamedBeforeItsCloseIsThereAtOnce(death: Death) {
        let document = Document()
        let save = document.open(shell)
        document.write(save, by: shell)
        let steps = document.saves.renaming(by: shell)
        #expect(steps == [.publish(save.version, .renamed)])
        #expect(document.carryOut(steps[0]) == .replaced)
        #expect(document.close(save, by: shell, death) == nil)
        #expect(document.release(save) == nil)
        #expect(document.saves.isIdle)
        #expect(document.saves.published == save.version)
    }

    /// `chattr +i f; echo NEW > f`.
    @Test func anImmutableDocumentRefusesTheOpen() {
        let document = Document()
        var facts = OpenFacts()
        facts.refusal = 1
        #expect(document.ask(document.request(shell, facts: facts)) == .refuse(1))
    }

    /// mmap, close, then store, SIGKILL half way: no FLUSH tells of that death.
    @Test func aMappingThatOutlivesTheCloseIsPublishedWithItsLastStore() {
        let document = Document()
        let save = document.open(shell)
        #expect(document.close(save, by: shell, isHeld: true) == nil)
        document.write(save, by: Document.unknown)
        #expect(document.saves.published == Document.original)
        #expect(document.release(save) == .replaced)
    }

    /// make runs between the last write and the close.
    @Test func aSaveThatIsSeenLaterThanItWasWrittenIsNewerThanWhatWasMadeBefore() {
        let document = Document()
        let save = document.open(shell)
        document.write(save, by: shell)
        document.now += Document.second
        #expect(document.close(save, by: shell) == .replaced)
        #expect(document.plan?.setsModificationTime == true)
    }

    /// A child forked before the save (an IDE's watcher) reads.
    @Test func aChildForkedBeforeTheSaveReadsWholeVersions() {
        let document = Document()
        let save = document.open(shell)
        let watcher = SaveCaller(
            thread: ThreadID(11), process: SaveProcess(id: 11, start: 99), ancestors: [shell.process!])
        #expect(document.saves.lookup(watcher) == Document.original)
        #expect(document.close(save, by: shell) == .replaced)
        #expect(document.saves.lookup(watcher) == save.version)
    }

    /// Looping savers whose RELEASE is always late. Each one saves whole versions, whatever the order.
    @Test(arguments: [2, 8] as [Int32]) func loopingSaversAreAllTransactions(savers: Int32) {
        let document = Document()
        var open: [(SaveCaller, Document.Opened)] = []
        var unreleased: [Document.Opened] = []
        for round in 0..<100 as Range<Int32> {
            let saver = Document.process(10 + round % savers)
            let save = document.open(saver)
            #expect(save.kind == .transactional)
            document.write(save, by: saver)
            open.append((saver, save))
            if round % 3 != 0 || open.count == savers {
                let (saver, save) = open.removeFirst()
                #expect(document.close(save, by: saver) == .replaced)
                unreleased.append(save)
            }
            if unreleased.count > 5 { #expect(document.release(unreleased.removeFirst()) == nil) }
        }
        for (saver, save) in open { #expect(document.close(save, by: saver) == .replaced) }
        for save in unreleased + open.map(\.1) { #expect(document.release(save) == nil) }
        #expect(document.saves.isIdle)
    }

    /// `echo a>>f; echo b>f`, 300 times by one shell. The descriptor of `>>` is closed, its RELEASE is on its way.
    @Test func everySecondOfAppendAndOverwriteIsATransaction() {
        let document = Document()
        for _ in 0..<300 {
            let appended = document.append(shell)
            #expect(appended.kind == .live(.appending))
            document.write(appended, by: shell)
            #expect(document.close(appended, by: shell) == nil)
            let question = document.saves.holders(of: document.saves.published)
            #expect(question?.processes == [shell.process!])
            // For which the mount waits.
            #expect(document.release(appended) == nil)
            let overwritten = document.open(shell)
            #expect(overwritten.kind == .transactional)
            document.write(overwritten, by: shell)
            #expect(document.close(overwritten, by: shell) == .replaced)
            #expect(document.release(overwritten) == nil)
        }
    }

    /// The same, while a background job has inherited the descriptor of `>>`.
    @Test func aHandleThatIsPerhapsHeldIsHeld() {
        let document = Document()
        let appended = document.append(shell)
        #expect(document.close(appended, by: shell) == nil)
        #expect(document.saves.holders(of: Document.original)?.handles == [appended.handle])
        #expect(document.open(other).kind == .live(.writtenByAnother))
    }

    /// A saver of another uid, not dumpable, is killed by SIGKILL: an unprivileged daemon sees that it is being killed,
    /// but not by what.
    @Test func aSaverKilledByAnUnseenSignalLeavesTheOldContent() {
        let document = Document()
        let save = document.open(shell)
        #expect(document.close(save, by: shell, .killed(nil)) == .discarded(.killed(nil)))
    }

    /// Four threads of one process save one file 1,200 times.
    @Test func threadsOfOneProcessShareTheirSaveAndMeetNoESTALE() {
        let document = Document()
        var open: [Document.Opened] = []
        for round in 0..<1_200 as Range<Int32> {
            // Each has looked the path up at another moment.
            let stale = round % 5 == 0 ? Document.original : nil
            let file = document.open(Document.process(10, thread: 10 + round % 4), starting: stale)
            #expect(file.kind == .transactional)
            #expect(file.estales <= 1)
            if let first = open.first { #expect(file.version == first.version) }
            open.append(file)
            document.write(file, by: shell)
            while open.count > (round % 7 == 0 ? 0 : 3) {
                let isLast = open.count == 1
                let file = open.removeFirst()
                #expect(document.close(file, by: shell) == (isLast ? .replaced : nil))
                #expect(document.release(file) == nil)
            }
        }
        for (index, file) in open.enumerated() {
            #expect(document.close(file, by: shell) == (index == open.count - 1 ? .replaced : nil))
            #expect(document.release(file) == nil)
        }
        #expect(document.saves.isIdle)
    }

    /// `server > out &` and a script that polls `grep ready out`.
    @Test func aServersOutputIsSeenWhenItPauses() {
        let document = Document()
        let server = Document.process(11)
        let output = document.open(server)
        document.write(output, by: server)
        #expect(document.saves.lookup(other) == Document.original)
        #expect(document.pass(5, execed: true) == [.inPlace])
        // In place: who has followed the old version goes on following it.
        #expect(document.saves.published == Document.original)
        #expect(document.open(other).kind == .live(.writtenByAnother))
    }

    /// `sort <s >s`: what was opened first is the published version, and stays it.
    @Test func aFilterOverItsOwnInputReadsTheOldVersion() {
        let document = Document()
        #expect(document.saves.lookup(shell) == Document.original)
        let output = document.open(shell)
        #expect(output.version != Document.original)
        #expect(document.close(output, by: shell, isHeld: true) == nil)
        #expect(document.close(output, by: shell, execed: true) == .replaced)
    }

    /// `( cmd ) > f`: the subshell opens, the command inherits, closes and is gone before the subshell.
    @Test func aSubshellPublishesWhenItEndsNotItsCommand() {
        let document = Document()
        let output = document.open(shell)
        let command = Document.child(30, of: shell)
        // dup2 and close in the subshell, the command's writes and its exit.
        #expect(document.close(output, by: shell, isHeld: true) == nil)
        document.write(output, by: command)
        #expect(document.saves.lookup(command) == output.version)
        #expect(document.close(output, by: command, isHeld: true) == nil)
        #expect(document.close(output, by: shell) == .replaced)
    }

    /// `{ a; sleep 1000 & } > f`: the background job keeps the descriptor when the shell is done.
    @Test func aBackgroundJobPublishesWhenItEnds() {
        let document = Document()
        let output = document.open(shell)
        let job = Document.child(30, of: shell)
        document.write(output, by: job)
        #expect(document.close(output, by: shell, isHeld: true) == nil)
        #expect(document.close(output, by: job) == .replaced)
    }

    /// fsync in the middle of a save, a crash later: what was synced stays.
    @Test func whatWasSyncedStaysThoughTheProgramIsKilledLater() {
        let document = Document()
        let save = document.open(shell)
        document.write(save, by: shell)
        #expect(document.carryOut(document.saves.sync(save.handle)) == .replaced)
        document.write(save, by: shell)
        #expect(document.close(save, by: shell, .killed(9)) == nil)
        #expect(document.saves.published == save.version)
    }

    /// A full disk kills a redirection: `dump > f` leaves the old dump.
    @Test func aRedirectionThatCouldNotWriteLeavesTheOldVersion() {
        let document = Document()
        let dump = document.open(shell)
        #expect(document.saves.writeFailed(dump.handle, errno: 28, truncatingMakesRoom: false) == .none)
        #expect(document.close(dump, by: shell, execed: true) == .discarded(.writeFailed(28)))
    }
}
