import CLinux
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// Has a process stand by that sees this daemon die (`GuardCommand`), and starts it again if it ends itself.
final class DaemonGuard: Sendable {
    /// Starts the process with the device and the writing end of a pipe, on which it reports that it watches.
    typealias Start = @Sendable (_ device: Descriptor, _ ready: Descriptor) throws(Errno) -> pid_t

    private struct State {
        var process: pid_t?
        var isOver = false
    }
    private let state = Mutex(State())
    private let thread = Mutex<NamedThread?>(nil)
    private let isReady = Signal()
    private let wake = Signal()
    private let log: Logger
    private let device: Descriptor

    /// In seconds. The first one takes as long as a program takes to start, beside whatever else runs: a daemon that serves before would
    /// not be started again.
    private static let timeout = 20.0
    private static let pauses = 0.1...10

    /// - Parameter device: closed by `dismiss`.
    init(_ device: consuming Descriptor, log: Logger) {
        self.device = device
        self.log = log
    }

    func begin(_ start: @escaping Start) {
        // The kernel tells the process of the end of this very thread: it lasts as long as the daemon does.
        let watcher = NamedThread("quire-guard") { [self] in keep(start) }
        thread.withLock { $0 = watcher }
    }

    /// Returns when the process watches, or the first attempt has failed, or time is over.
    func waitUntilReady() { isReady.wait(seconds: Self.timeout) }

    private func keep(_ start: Start) {
        var pause = Self.pauses.lowerBound
        while true {
            let begun = ContinuousClock.now
            do throws(Errno) {
                let (reading, writing) = try ChildProcess.pipe()
                guard let process = try started(start, writing) else { return }
                _ = consume writing
                // Ends with the process, too.
                var byte: UInt8 = 0
                _ = cl_read(reading.number, &byte, 1)
                isReady.signal()
                _ = try? ChildProcess.wait(for: process)
                if state.withLock({ $0.process = nil; return $0.isOver }) { return }
                log.warning("the process that is to see this daemon die has ended; another one is started")
            } catch {
                log.warning("no process can be started that would see this daemon die: \(error); it is tried again")
                isReady.signal()
            }
            pause = ContinuousClock.now - begun > .seconds(60) ? Self.pauses.lowerBound : min(pause * 2, Self.pauses.upperBound)
            wake.wait(seconds: pause)
        }
    }

    /// Nil if there is to be none any more.
    private func started(_ start: Start, _ ready: Descriptor) throws(Errno) -> pid_t? {
        try state.withLock { (state) throws(Errno) -> pid_t? in
            if state.isOver { return nil }
            state.process = try start(device, ready)
            return state.process
        }
    }

    /// The daemon ends by its own will: there is nothing to see, and nobody else has the device when this returns. Again: does
    /// nothing.
    func dismiss() {
        state.withLock { state in
            state.isOver = true
            // Not waited for yet, so the number is still its own.
            if let process = state.process { kill(process, SIGKILL) }
        }
        wake.signal()
        thread.withLock { $0.take() }?.join()
    }
}
