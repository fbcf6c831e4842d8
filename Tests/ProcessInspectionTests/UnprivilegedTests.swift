import CLinux
import Coordination
import Glibc
import ProcessInspection
import StorePrimitives
import TestSupport
import Testing

/// What is told to a looker who may not look at everything: a thread of another user, without capabilities.
@Suite(.enabled(if: geteuid() == 0))
struct UnprivilegedTests {
    let table = ProcessTable()!
    let program = Program()

    /// Executes `body` as a user without any rights.
    func unprivileged<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result {
        let box = Box<Result>()
        let thread = NamedThread("unprivileged") {
            precondition(cl_set_fs_identity(65534, 65534) == 0)
            for capability in 0...40 { _ = cl_raise_capability(Int32(capability), 0) }
            box.result = body()
        }
        thread.join()
        return box.result!
    }

    func death(_ code: String) -> Death {
        let child = program.number("r = os.fork() or (\(code), time.sleep(100))")
        eventually { (try? readFile("/proc/\(child)/stat").contains(") Z ")) == true }
        return unprivileged { [table] in table.death(of: child) }
    }

    @Test func everybodyIsTold() {
        let (table, id) = (table, program.id)
        #expect(unprivileged { table.process(of: id) } == ProcessTable()!.process(of: id))
        #expect(unprivileged { table.death(of: id) } == .none)
    }

    @Test func exitIsToldFromDeath() {
        #expect(death("os._exit(9)") == .none)
        #expect(death("threading.Thread(target=time.sleep, args=(100,)).start(), os._exit(0)") == .none)
        guard case .killed = death("os.kill(os.getpid(), 9)") else {
            Issue.record("not killed")
            return
        }
        guard case .killed = death("os.kill(os.getpid(), 11)") else {
            Issue.record("not killed")
            return
        }
    }

    @Test func anExecIsToldByTheArguments() throws {
        let (table, id) = (table, program.number(
            "p = subprocess.Popen(['sh', '-c', 'read line; exec sleep 100'], stdin=subprocess.PIPE); r = p.pid"))
        eventually { table.process(of: id) != nil }
        let process = try #require(table.process(of: id))
        let image = try #require(unprivileged { table.image(of: process) })
        #expect(!unprivileged { table.hasExeced(process, since: image) })
        program.tell("p.stdin.write(b'go\\n'); p.stdin.flush()")
        eventually { unprivileged { table.hasExeced(process, since: image) } }
    }

    @Test func whoMayNotBeLookedAtIsADoubt() throws {
        let (table, id, moment) = (table, program.id, table.moment())
        let process = try #require(table.process(of: id))
        let trace = VersionTrace(names: [EntryName("doc.txt")], inodes: [1])
        let question = FlushQuestion(
            working: VersionID(2), opener: process,
            holders: HoldersQuestion(handles: [SaveHandle(1)], processes: [process]))
        let facts = unprivileged {
            table.facts(
                for: question, from: id, of: process, trace: trace, since: moment, image: nil, mayBeMapped: false)
        }
        var expected = FlushFacts()
        expected.isInDoubt = true
        #expect(facts == expected)
    }
}

/// Written by one thread, read when it is joined.
private final class Box<Value>: @unchecked Sendable { var result: Value? }
