import Coordination
import StorePrimitives

/// Deadlines of claims, inquiries and waiting opens.
extension Coordinator {
    /// Ends what is over, and looks at writers and callers again. Returns the seconds until the next time.
    func work() -> Double {
        tellPresenters(waiting: false)
        askPresentersWhoMayWrite()
        grantWhatNobodyWrites()
        letGoOfTheKilled()
        asked.forgetOld()
        let now = Self.now
        // One at a time: a program that opens a document meanwhile waits for the lock.
        while change({ state, actions in
            guard let late = state.presenters.expireNext(now: now) else { return false }
            finished(late, &state, &actions)
            return true
        }) {}
        let next = change { state, actions -> UInt64? in
            for id in state.claims.expired(now: now) {
                if let ticket = state.tickets[id] {
                    actions.answers.append((ticket, .refused(.timedOut(holders: holders(before: id, state)))))
                }
                end(id, &state, &actions)
            }
            for open in state.waitingOpens.values where open.deadline <= now {
                letGo(open, isLate: true, &state, &actions)
            }
            // Writers are checked every few milliseconds.
            if let youngest = state.awaitingWriters.keys.compactMap({ state.tickets[$0]?.since }).max() {
                return now + (now &- youngest < Self.shortPauseTime ? Self.writerPause : Self.longWriterPause)
            }
            let nextPoll = state.waitingOpens.values.contains(where: \.wasSignalled) ? now + Self.killedPause : nil
            return [nextPoll, state.claims.nextDeadline, state.presenters.nextDeadline, state.waitingOpens.values.lazy.map(\.deadline).min()]
                .compactMap { $0 }.min()
        }
        guard let next else { return 3600 }
        return next > now ? Double(next - now) / 1e9 : 0
    }

    private static let writerPause: UInt64 = 2_000_000
    /// For claims that have waited for longer than `shortPauseTime`.
    private static let longWriterPause: UInt64 = 50_000_000
    private static let shortPauseTime: UInt64 = 1_000_000_000

    /// Callers that got one signal are looked at for another: the kernel tells of the first only.
    private static let killedPause: UInt64 = 100_000_000
}
