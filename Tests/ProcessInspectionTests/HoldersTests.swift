import Coordination
import Glibc
import ProcessInspection
import StorePrimitives
import TestSupport
import Testing

/// A document that a program has open; a plain file does as well as one on a mount.
struct HoldersTests {
    let table: ProcessTable
    let folder: TemporaryFolder
    let program = Program()
    let opener: SaveProcess
    let trace: VersionTrace
    let moment: SaveMoment
    let image: ProgramImage?

    init() throws {
        table = try #require(ProcessTable())
        folder = try TemporaryFolder()
        let path = folder.makeFile("doc.txt", "old")
        var status = stat()
        try #require(stat(path, &status) == 0)
        trace = VersionTrace(names: [EntryName("doc.txt")], inodes: [UInt64(status.st_ino)])
        opener = try #require(table.process(of: program.id))
        image = table.image(of: opener)
        moment = table.moment()
        program.tell("path = '\(path)'")
        program.tell("f = os.open(path, os.O_RDWR)")
    }

    func facts(
        from thread: pid_t? = nil, since moment: SaveMoment? = nil, mayBeMapped: Bool = false, table: ProcessTable? = nil
    ) -> FlushFacts {
        let table = table ?? self.table
        let question = FlushQuestion(
            working: VersionID(2), opener: opener,
            holders: HoldersQuestion(handles: [SaveHandle(1)], processes: [opener]))
        let thread = thread ?? program.id
        return table.facts(
            for: question, from: thread, of: table.process(of: thread), trace: trace, since: moment ?? self.moment, image: image,
            mayBeMapped: mayBeMapped)
    }

    static var closed: FlushFacts {
        var facts = FlushFacts()
        facts.openerHasLeft = true
        facts.closed = [SaveHandle(1)]
        return facts
    }
    static func inherited(by process: SaveProcess) -> FlushFacts {
        var facts = FlushFacts()
        facts.openerHasLeft = true
        facts.inheritors = [process]
        return facts
    }

    @Test func anOpenDescriptorIsFoundUntilItIsClosed() {
        #expect(facts() == FlushFacts())
        program.tell("os.close(f)")
        #expect(facts() == Self.closed)
    }

    @Test func aCopyInTheSameProcessHolds() {
        program.tell("g = os.dup2(f, 700); os.close(f)")
        #expect(facts() == FlushFacts())
        program.tell("os.close(g)")
        #expect(facts() == Self.closed)
    }

    @Test func aDescriptorForReadingDoesNotHold() {
        program.tell("os.close(f); f = os.open(path, os.O_RDONLY)")
        #expect(facts() == Self.closed)
    }

    @Test func aFileOfTheSameNameElsewhereDoesNotHold() {
        folder.makeFile("other/doc.txt", "x")
        program.tell("os.close(f); f = os.open('\(folder.path)/other/doc.txt', os.O_RDWR)")
        #expect(facts() == Self.closed)
    }

    @Test func aDescriptorOfARemovedFileHolds() {
        program.tell("os.unlink(path)")
        #expect(facts() == FlushFacts())
    }

    @Test func aChildThatHasInheritedItHolds() throws {
        let child = program.number("r = os.fork() or time.sleep(100)")
        program.tell("os.close(f)")
        #expect(facts() == Self.inherited(by: try #require(table.process(of: child))))
    }

    @Test func aChildThatHasClosedItDoesNotHold() {
        let child = program.number("r = os.fork() or (os.close(f), os.kill(os.getpid(), signal.SIGSTOP))")
        program.tell("os.waitpid(\(child), os.WUNTRACED)")
        program.tell("os.close(f)")
        #expect(facts() == Self.closed)
    }

    @Test func aChildThatHasExecdHolds() throws {
        let child = program.number("r = subprocess.Popen(['sleep', '100'], pass_fds=[f]).pid")
        eventually { table.process(of: child) != nil }
        program.tell("os.close(f)")
        #expect(facts() == Self.inherited(by: try #require(table.process(of: child))))
    }

    @Test(.enabled(if: getuid() == 0)) func aChildThatHasBecomeAnotherUserHolds() throws {
        program.tell("a, b = os.pipe()")
        let child = program.number("r = os.fork() or (os.setuid(61002), os.write(b, b'!'), time.sleep(100))")
        program.tell("os.read(a, 1); os.close(f)")
        #expect(facts() == Self.inherited(by: try #require(table.process(of: child))))
    }

    /// Another user's process may have more descriptors than can be read while close(2) waits. It descends from nobody who had this one.
    @Test(.enabled(if: getuid() == 0)) func aStrangerIsNotLookedAt() {
        let stranger = Program()
        stranger.tell("f = os.open('\(folder.path)/doc.txt', os.O_RDWR); os.setgid(61002); os.setuid(61002)")
        program.tell("os.close(f)")
        #expect(facts(mayBeMapped: true) == Self.closed)
        stranger.tell("more = [os.dup(f) for n in range(300)]")
        #expect(facts() == Self.closed)
    }

    @Test func aGrandchildHoldsWhoseParentIsGone() throws {
        program.tell("a, b = os.pipe()")
        program.tell("child = os.fork() or os._exit(os.write(b, b'%d' % (os.fork() or time.sleep(100))) and 0)")
        let grandchild = program.number("os.waitpid(child, 0); os.close(f); r = int(os.read(a, 20))")
        #expect(facts() == Self.inherited(by: try #require(table.process(of: grandchild))))
    }

    /// As beside a program that waits for none of its children.
    @Test func aChildIsFoundBehindThousandsThatAreOver() throws {
        program.tell("over = [os.fork() or os._exit(0) for n in range(4200)]")
        // Before that they hold it, too.
        program.tell("for n in over: os.waitid(os.P_PID, n, os.WEXITED | os.WNOWAIT)")
        let child = program.number("r = os.fork() or time.sleep(100)")
        program.tell("os.close(f)")
        #expect(facts() == Self.inherited(by: try #require(table.process(of: child))))
    }

    @Test func whoWasThereBeforeIsNotLookedAt() {
        program.tell("r = os.fork() or time.sleep(100)")
        let later = table.moment()
        program.tell("os.close(f)")
        #expect(facts(since: later) == Self.closed)
    }

    @Test func allAreLookedAtWhenTheNumbersTellNothing() throws {
        let child = program.number("r = os.fork() or time.sleep(100)")
        program.tell("os.close(f)")
        let unknown = SaveMoment(ticks: moment.ticks, lastProcess: .max)
        #expect(facts(since: unknown) == Self.inherited(by: try #require(table.process(of: child))))
    }

    @Test func manyWhoWereStartedSinceAreListed() throws {
        let child = program.number("r = os.fork() or time.sleep(100)")
        program.tell("[os.waitpid(os.fork() or os._exit(0), 0) for _ in range(100)]; os.close(f)")
        #expect(facts() == Self.inherited(by: try #require(table.process(of: child))))
    }

    @Test func aMappingHoldsWhenTheDescriptorIsClosed() {
        program.tell("m = mmap.mmap(f, 3); os.close(f)")
        // Python's mapping has a descriptor of its own.
        program.tell("[os.close(n) for n in range(3, 20) if os.path.exists('/proc/self/fd/%d' % n)]")
        #expect(facts(mayBeMapped: true) == FlushFacts())
        #expect(facts() == Self.closed)
    }

    @Test func aPrivateMappingDoesNotHold() {
        program.tell("m = mmap.mmap(f, 3, mmap.MAP_PRIVATE); os.closerange(3, 20)")
        #expect(facts(mayBeMapped: true) == Self.closed)
    }

    @Test func aThreadIsItsProcess() throws {
        let thread = program.number(
            "t = threading.Thread(target=time.sleep, args=(100,), daemon=True); t.start(); r = t.native_id")
        #expect(thread != program.id)
        #expect(table.process(of: thread) == opener)
        #expect(table.death(of: thread) == .none)
        #expect(facts(from: thread) == FlushFacts())
        program.tell("os.close(f)")
        #expect(facts(from: thread) == Self.closed)
    }

    /// unshare(2) with CLONE_FILES, 0x400.
    @Test func aThreadHoldsWhoseTableIsItsOwn() {
        program.tell("go = threading.Event()")
        program.tell("t = threading.Thread(target=lambda: (c.unshare(0x400), go.wait()), daemon=True); t.start(); time.sleep(0.1)")
        program.tell("os.close(f)")
        #expect(facts() == FlushFacts())
        let child = program.number("r = os.fork() or os._exit(0)")
        program.tell("os.waitpid(\(child), 0)")
        #expect(facts() == FlushFacts())
        program.tell("go.set(); t.join()")
        eventually { facts() == Self.closed }
    }

    @Test func howAProcessEndedIsKnownWhenNothingIsLeftOfIt() throws {
        let ends = [
            ("os._exit(0)", Death.none), ("os._exit(9)", .none), ("os.kill(os.getpid(), 15)", .killed(15)), ("os.abort()", .killed(6)),
        ]
        for (end, death) in ends {
            let child = program.number("a, b = os.pipe(); r = os.fork() or (os.read(a, 1), \(end))")
            let process = try #require(table.process(of: child))
            let held = try #require(table.hold(asking: process))
            #expect(table.end(of: held) == .none)
            #expect(!held.hasEnded)
            program.tell("os.write(b, b'x')")
            eventually { held.hasEnded }
            #expect(table.end(of: held) == death)
            program.tell("os.waitpid(\(child), 0)")
            // Linux 6.15 and newer.
            #expect([death, .unknown].contains(table.end(of: held)))
        }
    }

    @Test func aProcessHoldsWhoseFirstThreadIsGone() {
        // exit(2), of the one thread: 60 on x86-64, 93 elsewhere. The others go on.
        program.tell(
            "child = os.fork() or (threading.Thread(target=time.sleep, args=(100,)).start(), "
                + "c.syscall(60 if os.uname().machine == 'x86_64' else 93, 0))")
        program.tell("os.close(f)")
        let child = program.number("r = child")
        eventually { (try? readFile("/proc/\(child)/stat").contains(") Z ")) == true }
        #expect(facts().inheritors.map(\.id) == [child])
    }
}
