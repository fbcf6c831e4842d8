import CLinux
import Glibc
import StorePrimitives
import SystemPackage
import WorkerProtocol

/// Whether documents can be rendered safely here.
public enum SandboxCheck {
    public enum Finding: Sendable, Equatable {
        /// A worker runs, and can do nothing that it should not.
        case holds
        /// What a worker could do.
        case leaks([String])
        /// Why no worker runs.
        case fails(String)
    }

    /// Starts a worker, and has it try what it may not do. Takes up to some seconds; on a thread that stays until it returns.
    /// - Parameter path: a file that a worker must not reach, which this process can read.
    public static func run(workerProgram: String, path: String) -> Finding {
        guard access(workerProgram, X_OK) == 0 else { return .fails("\(workerProgram) is not there") }
        do throws(Errno) {
            let process = try WorkerProcess(Sandbox(worker: workerProgram), for: nil)
            let output = Descriptor(owning: try check(cl_memory_file("quire-probe")))
            let input = try Descriptor(opening: path, flags: O_RDONLY)
            switch process.ask(.probe(path: path), output: output, inputs: [input], seconds: 20) {
            case .reply(.possible(let findings)): return findings.isEmpty ? .holds : .leaks(findings)
            case .reply(.refused(let reason, _)), .died(let reason): return .fails(reason)
            case .reply: return .fails("the worker is of another version")
            case .outOfTime: return .fails("no worker answers")
            }
        } catch .noSuchFileOrDirectory {
            return .fails("bubblewrap (bwrap) is not installed")
        } catch {
            return .fails("no worker can be started: \(error)")
        }
    }
}
