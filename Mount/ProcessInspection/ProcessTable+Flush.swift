public import Coordination
import Glibc

extension ProcessTable {
    /// What a FLUSH on a working copy has to find out (rules 9 and 10).
    ///
    /// - Parameters:
    ///   - thread: that the FLUSH comes from.
    ///   - process: the one it is of, if that is known.
    ///   - moment: when the save began.
    ///   - image: what its opener executed then.
    ///   - mayBeMapped: one of the working copy's handles was opened for reading and writing.
    ///
    /// 20 µs for a process with five descriptors that has started no other since.
    public func facts(
        for question: FlushQuestion, from thread: pid_t, of process: SaveProcess?, trace: VersionTrace,
        since moment: SaveMoment, image: ProgramImage?, mayBeMapped: Bool
    ) -> FlushFacts {
        // A thread that exits has let go of its table before it closes what was in there (exit_files): who has one, lives.
        let own = thread > 0 ? scan(thread, for: trace) : .unreadable
        var facts = FlushFacts()
        if own == .empty || own == .unreadable {
            facts.death = death(of: thread)
            if question.isRelayed, facts.death == .none, proc.stat(of: thread)?.isExiting == true { facts.death = .killed(nil) }
        }
        if process == question.opener { facts.openerDeath = facts.death }
        // For a signal without a number it makes no difference now; the listing of saves shows it.
        if case .killed(let signal) = facts.death, signal.map(Death.mildSignals.contains) ?? true {
            facts.openerHasExeced = hasExeced(question.opener, since: image)
        }
        // In an exec it may not be told who it is, but its number is.
        guard let holders = question.holders else { return facts }
        facts.isInDoubt = own != .holds
        guard let id = process?.id ?? group(of: thread) else { return facts }
        switch own {
        case .holds, .hidden: return facts
        case .unreadable where facts.death == .none && proc.stat(of: thread)?.isExiting != true: return facts
        case .unreadable where facts.death == .unknown: return facts
        case .empty, .others, .unreadable: break
        }
        // Its other threads may have a table yet when this one has none, or one of their own.
        var left = own == .others
            ? holding(otherTablesOf: id, than: thread, trace) : holding(id, trace, mayBeMapped: false)
        if left == .none, mayBeMapped { left = mapping(id, trace) }
        guard left == .none else {
            facts.isInDoubt = left == .unknown
            return facts
        }
        facts.openerHasLeft = process == question.opener && facts.death == .none
        let found = self.holders(
            holders.processes, of: trace, since: moment, mayBeMapped: mayBeMapped, skipping: id)
        facts.isInDoubt = found.isInDoubt
        facts.inheritors = found.inheritors
        if found.areNone { facts.closed = holders.handles }
        return facts
    }
}
