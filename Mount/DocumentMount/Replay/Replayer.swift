import CLinux
import FuseServer
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// Has things replayed on the mount by a process of its own, one at a time, and knows that process's requests.
///
/// Whatever that process asks for is answered as done if it is what is being replayed, else refused, and never carried out. So
/// its number is kept until it has ended: a request may be on its way for as long.
final class Replayer: Sendable {
    /// Nearly all take under a tenth of a millisecond.
    private static let usualTime: Int32 = 50
    /// The first time it has yet to start.
    private static let startTime: Int32 = 200
    private static let slice: Int32 = 100
    /// After the process had to be given up, before another one is started: what has stopped one may stop the next.
    private static let retryPause: Int64 = 10_000_000_000
    private static let endTime = 50

    private struct State {
        var process: ReplayProcess?
        /// Given up, and not known to have ended.
        var ending: ReplayProcess?
        /// Its end has been waited for: it may be stuck, and no further call waits.
        var hasAwaitedEnd = false
        var start: MountConfiguration.StartReplay?
        var place = MountPlace(path: [], connection: 0)
        var startsAfter: Int64 = 0
        var hasFailed = false
    }

    private let log: Logger
    /// The words of the log for what happens while there is no process.
    private let purpose: String
    /// In milliseconds.
    private let answerTime: Int32
    /// Held while something is replayed, with nothing else held when it is taken but, of `KernelNames`', `EventHub.settling`.
    private let turn = ThreadLock()
    /// Safe: used by who holds `turn`.
    nonisolated(unsafe) private var state = State()
    /// 0 if there is none.
    private let pid = Atomic<pid_t>(0)
    /// Leaf: held while the process's number is given up or used.
    private let life = Mutex(())
    private let isOver = Atomic<Bool>(false)

    /// - Parameter timeout: nanoseconds that a replay may take: it waits for a serving thread, at worst for one with a slow
    ///   disk, and in the kernel for a folder's lock.
    init(
        log: Logger, timeout: Int64 = 2_000_000_000,
        purpose: String = "watches hear of no saves and of no changes made outside"
    ) {
        self.log = log
        self.purpose = purpose
        answerTime = Int32(clamping: timeout / 1_000_000)
    }

    func start(at place: MountPlace, _ start: @escaping MountConfiguration.StartReplay) {
        turn.withLock { (state.start, state.place) = (start, place) }
    }

    /// Whether a request only replays what was done. Callers that are not to be seen from here have the number 0.
    @inline(__always)
    func isCaller(_ caller: Caller) -> Bool { caller.thread > 0 && caller.thread == pid.load(ordering: .relaxed) }

    /// Whether it could be done; nil if there is nobody to do it, for some seconds perhaps. Waits two seconds at most; `whenSlow`
    /// is called once if it takes longer than usual.
    func replay(_ operation: ReplayProcess.Operation, whenSlow: () -> Void = {}) -> Bool? {
        outcome(of: operation, whenSlow: whenSlow).map { $0 == .done }
    }

    /// The same, with the operation's outcome.
    func outcome(of operation: ReplayProcess.Operation, whenSlow: () -> Void = {}) -> ReplayProcess.Outcome? {
        turn.withLock {
            // It may have been killed since: then another one takes over at once, if that was not the second in a row.
            for _ in 0..<2 {
                let isNew = state.process == nil
                guard let process = running() else { return nil }
                do throws(Errno) {
                    try process.begin(operation, at: state.place)
                } catch .fileNameTooLong {
                    return .failed
                } catch {
                    giveUp(error)
                    continue
                }
                do throws(Errno) {
                    let outcome = try outcome(of: process, usualTime: isNew ? Self.startTime : Self.usualTime, whenSlow)
                    state.hasFailed = false
                    return outcome
                } catch {
                    // It may have done it or not.
                    giveUp(error)
                    return nil
                }
            }
            return nil
        }
    }

    private func outcome(
        of process: ReplayProcess, usualTime: Int32, _ whenSlow: () -> Void
    ) throws(Errno) -> ReplayProcess.Outcome {
        if let outcome = try process.outcome(within: usualTime) { return outcome }
        whenSlow()
        for _ in 0..<answerTime / Self.slice where !isOver.load(ordering: .relaxed) {
            if let outcome = try process.outcome(within: Self.slice) { return outcome }
        }
        throw .timedOut
    }

    private func running() -> ReplayProcess? {
        guard !isOver.load(ordering: .relaxed), let start = state.start else { return nil }
        if let process = state.process { return process }
        guard hasEnded(), cl_monotonic_ns() >= state.startsAfter else { return nil }
        do throws(Errno) {
            let process = try ReplayProcess(start)
            state.process = process
            pid.store(process.pid, ordering: .relaxed)
            return process
        } catch {
            pause(error)
            return nil
        }
    }

    /// Whether there is none that was given up and is still there.
    private func hasEnded() -> Bool {
        guard let process = state.ending else { return true }
        if !state.hasAwaitedEnd { for _ in 0..<Self.endTime where !process.hasEnded { usleep(1_000) } }
        state.hasAwaitedEnd = true
        guard process.hasEnded else { return false }
        life.withLock { _ in
            pid.store(0, ordering: .relaxed)
            process.collect()
        }
        state.ending = nil
        return true
    }

    private func giveUp(_ error: Errno) {
        (state.ending, state.hasAwaitedEnd) = (state.process.take(), false)
        kill()
        let wasKilled = error == .brokenPipe || error == .connectionReset
        if wasKilled, !state.hasFailed {
            state.hasFailed = true
        } else if !isOver.load(ordering: .relaxed) {
            pause(error)
        }
    }

    private func pause(_ error: Errno) {
        log.warning("\(purpose) for some seconds: \(error)")
        state.startsAfter = cl_monotonic_ns() + Self.retryPause
        state.hasFailed = false
    }

    private func kill() {
        life.withLock { _ in
            let pid = pid.load(ordering: .relaxed)
            if pid > 0 { Glibc.kill(pid, SIGKILL) }
        }
    }

    /// Ends the process, and with it the wait of whoever has it replay something: from any thread. Again: does nothing.
    func stop() {
        isOver.store(true, ordering: .relaxed)
        kill()
    }

    /// After `stop`, and when nobody has anything replayed any more: waits a moment for the process. It ends at once but where the
    /// mount is stuck: then whoever takes over the daemon's children waits for it.
    func collect() {
        turn.withLock {
            if state.ending == nil { (state.ending, state.hasAwaitedEnd) = (state.process.take(), false) }
            _ = hasEnded()
        }
    }
}
