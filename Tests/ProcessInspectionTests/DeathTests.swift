import Coordination
import Glibc
import ProcessInspection
import TestSupport
import Testing

/// A process that nobody has waited for is still there, and tells as much as one that is closing its files.
struct DeathTests {
    let table = ProcessTable()!
    let program = Program()

    /// The death of a child that executes `code`.
    func death(_ code: String) -> Death {
        let child = program.number("r = os.fork() or (\(code), time.sleep(100))")
        eventually { (try? readFile("/proc/\(child)/stat").contains(") Z ")) == true }
        return table.death(of: child)
    }

    @Test func exitIsNoDeath() {
        #expect(death("os._exit(0)") == .none)
        #expect(death("os._exit(9)") == .none)
        #expect(death("threading.Thread(target=time.sleep, args=(100,)).start(), os._exit(0)") == .none)
        #expect(death("threading.Thread(target=os._exit, args=(3,)).start()") == .none)
    }

    @Test(arguments: [SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGSEGV, SIGABRT])
    func aSignalIsToldByItsNumber(_ number: Int32) {
        let reset = number == SIGKILL ? "0" : "signal.signal(\(number), signal.SIG_DFL)"
        #expect(death("\(reset), os.kill(os.getpid(), \(number))") == .killed(number))
        #expect(
            death("\(reset), threading.Thread(target=time.sleep, args=(100,)).start(), os.kill(os.getpid(), \(number))")
                == .killed(number))
    }

    @Test func whoLivesIsNotDying() {
        #expect(table.death(of: program.id) == .none)
        let child = program.number("r = os.fork() or os.kill(os.getpid(), signal.SIGSTOP)")
        program.tell("os.waitpid(\(child), os.WUNTRACED)")
        #expect(table.death(of: child) == .none)
    }

    @Test func whoIsGoneIsUnknown() {
        let child = program.number("r = os.fork() or os._exit(0)")
        program.tell("os.waitpid(\(child), 0)")
        #expect(table.death(of: child) == .unknown)
        #expect(table.death(of: 0) == .unknown)
        #expect(table.process(of: child) == nil)
        #expect(table.process(of: 0) == nil)
    }
}
