import Coordination
import Glibc
import ProcessInspection
import TestSupport
import Testing

struct ProcessTableTests {
    let table = ProcessTable()!
    let program = Program()

    @Test func aProcessIsToldByNumberAndStart() throws {
        let process = try #require(table.process(of: program.id))
        let stat = try readFile("/proc/\(program.id)/stat")
        let fields = stat[stat.lastIndex(of: ")")!...].split(separator: " ")
        #expect(process == SaveProcess(id: program.id, start: try #require(UInt64(fields[20]))))
        #expect(table.process(of: program.id) == process)
    }

    @Test func whatIsStartedAfterAMomentIsYounger() throws {
        for _ in 0..<100 {
            let moment = table.moment()
            let child = program.number("r = os.fork() or time.sleep(100)")
            #expect(try #require(table.process(of: child)).isYounger(than: moment))
            #expect(!table.process(of: child)!.isYounger(than: table.moment()))
            program.tell("os.kill(\(child), 9)")
        }
    }

    @Test func ancestorsEndWithTheFirstThatIsOlder() throws {
        let parent = try #require(table.process(of: program.id))
        let moment = table.moment()
        program.tell("a, b = os.pipe()")
        let child = program.number("r = os.fork() or (os.write(b, b'%d' % (os.fork() or time.sleep(100))), time.sleep(100))")
        let grandchild = program.number("r = int(os.read(a, 20))")
        let (younger, youngest) = (try #require(table.process(of: child)), try #require(table.process(of: grandchild)))
        #expect(table.ancestors(of: youngest, since: moment) == [younger, parent])
        #expect(table.ancestors(of: younger, since: moment) == [parent])
        #expect(table.ancestors(of: parent, since: moment) == [])
    }

    @Test func anExecIsSeenWithoutAFork() throws {
        let shell = program.number(
            "p = subprocess.Popen(['sh', '-c', 'read line; exec sleep 100'], stdin=subprocess.PIPE); r = p.pid")
        // Python goes on while the exec does.
        eventually { table.process(of: shell) != nil }
        let before = try #require(table.process(of: shell))
        let shellImage = try #require(table.image(of: before))
        #expect(!table.hasExeced(before, since: shellImage))
        program.tell("p.stdin.write(b'go\\n'); p.stdin.flush()")
        eventually { table.hasExeced(before, since: shellImage) }
    }

    @Test func aNameThatIsChangedIsNoExec() throws {
        let process = try #require(table.process(of: program.id))
        let image = try #require(table.image(of: process))
        program.tell("c.prctl(15, b'renamed', 0, 0, 0)")
        #expect(!table.hasExeced(process, since: image))
    }

    @Test func theExecOfOneThatIsDeadIsSeen() throws {
        program.tell("a, b = os.pipe()")
        let child = program.number("r = os.fork() or (os.read(a, 1), os.execvp('sleep', ['sleep', '100']))")
        let process = try #require(table.process(of: child))
        let image = try #require(table.image(of: process))
        program.tell("os.kill(os.fork() or signal.pause(), 9)")
        #expect(!table.hasExeced(process, since: image))
        program.tell("os.write(b, b'x')")
        eventually { (try? readFile("/proc/\(child)/comm")) == "sleep\n" }
        program.tell("os.kill(\(child), 9)")
        eventually { (try? readFile("/proc/\(child)/stat").contains(") Z ")) == true }
        #expect(table.hasExeced(process, since: image))
    }

    @Test func numbersBeginAnewAtTheLimit() {
        #expect(BirthRange.numbers(after: 500, through: 500, below: 32768) == [])
        #expect(BirthRange.numbers(after: 500, through: 501, below: 32768) == [501...501])
        #expect(BirthRange.numbers(after: 500, through: 900, below: 32768) == [501...900])
        #expect(BirthRange.numbers(after: 32700, through: 400, below: 32768) == [32701...32767, 300...400])
        #expect(BirthRange.numbers(after: 32767, through: 400, below: 32768) == [300...400])
        #expect(BirthRange.numbers(after: .max, through: 400, below: 32768) == [300...400])
        #expect(BirthRange.numbers(after: 90, through: 20, below: 128) == [91...127, 1...20])
    }

    @Test func numbersTellNothingWhenTheyMayHaveGoneRound() {
        #expect(!BirthRange.mayHaveLapped(age: 299, ticksPerSecond: 100, below: 32768))
        #expect(BirthRange.mayHaveLapped(age: 300, ticksPerSecond: 100, below: 32768))
        #expect(!BirthRange.mayHaveLapped(age: 6000, ticksPerSecond: 100, below: 4_194_304))
    }
}
