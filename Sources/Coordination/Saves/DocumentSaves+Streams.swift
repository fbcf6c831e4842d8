/// What time does to saves.
extension DocumentSaves {
    /// How long a thread may take from its ESTALE to its OPEN, in nanoseconds. It walks a path in between, with no
    /// other program in its way. It may also have found that the name is gone, of which nothing tells.
    static let arrivalTimeout: UInt64 = 5_000_000_000

    /// Gives up threads that never arrived, and has saves published that have become streams.
    /// - Parameter hasExeced: whether a process has exec'd since the save of this working copy began.
    /// - Parameter isExpected: whether a thread is still in the open(2) that it retries.
    public mutating func tick(
        now: UInt64, isExpected: (ThreadID) -> Bool = { _ in false }, hasExeced: (SaveProcess, VersionID) -> Bool
    ) -> [SaveStep] {
        var steps: [SaveStep] = []
        for (thread, arrival) in arrivals where now >= arrival.since + Self.arrivalTimeout && !isExpected(thread) {
            steps.append(abandon(thread))
        }
        for index in saves.indices where canBecomeStream(saves[index]) {
            if now >= redirectedDeadline(saves[index]), !saves[index].isRedirected {
                saves[index].isRedirected = hasExeced(saves[index].opener, saves[index].working)
                saves[index].checked = now
            }
            let save = saves[index]
            guard now >= deadline(save) || save.isRedirected && now >= redirectedDeadline(save) else { continue }
            if case .killed = save.fault, !save.openerWasKilled { saves[index].fault = nil }
            steps.append(.publish(save.working, .stream))
        }
        return steps.filter { $0 != .none }
    }

    /// When `tick` has something to do next; nil if nothing waits for time to pass.
    public var nextDeadline: UInt64? {
        var times = arrivals.values.map { $0.since + Self.arrivalTimeout }
        for save in saves where canBecomeStream(save) { times += [redirectedDeadline(save), deadline(save)] }
        return times.min().flatMap { $0 == .max ? nil : $0 }
    }

    /// A failed save would replace a good version. In a redirection others may go on with the work of a program that
    /// was killed.
    private func canBecomeStream(_ save: Save) -> Bool {
        guard save.phase == .open else { return false }
        if case .killed = save.fault, save.isRedirected, !save.openerWasKilled { return true }
        return !save.isToBeDiscarded
    }

    private func deadline(_ save: Save) -> UInt64 {
        let pause = save.isLate && !save.isRelayed ? times.redirectedPause ?? times.pause : times.pause
        return max(save.notBefore, Self.later(save.lastActivity, pause))
    }

    /// For a save that is not known to be redirected: when to look next.
    private func redirectedDeadline(_ save: Save) -> UInt64 {
        let limit = min(
            Self.later(save.lastActivity, times.redirectedPause), Self.later(save.began, times.redirectedOpen))
        guard !save.isRedirected, let checked = save.checked else { return max(limit, save.notBefore) }
        return max(limit, save.notBefore, Self.later(checked, times.redirectedPause ?? times.redirectedOpen))
    }

    private static func later(_ time: UInt64, _ wait: Duration?) -> UInt64 {
        guard let wait else { return .max }
        let (seconds, attoseconds) = wait.components
        let nanoseconds = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !nanoseconds.overflow else { return .max }
        let (sum, overflow) = time.addingReportingOverflow(
            UInt64(clamping: nanoseconds.partialValue) + UInt64(clamping: attoseconds / 1_000_000_000))
        return overflow ? .max : sum
    }
}
