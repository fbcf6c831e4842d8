import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Opens while claims keep others from writing, or presenters have something to save.
extension MountedFileSystem {
    func openGuarded(_ open: WaitingOpen, _ reply: consuming Reply<OpenedFile>) {
        let (node, flags, caller) = (open.node, open.flags, open.caller)
        // A working copy is its saver's, who was let in before; what has no name is nobody's item.
        guard !isWorkingCopy(node), let path = saves.path(of: node)
        else { return answer(node, flags: flags, caller, reply) }
        let wasAsked = coordinator.asked.take(caller.thread)
        // Kept by the coordinator as long as it waits, and until then by this.
        let parked = ParkedReply(reply) { [unowned self, weak open] _ in
            if let open { coordinator.interrupted(open) }
        }
        open.parked = parked
        // Before the coordinator knows of it: from then on another thread may answer, which ends the listening.
        parked.listen()
        switch coordinator.admit(open, of: path, asksPresenters: { !wasAsked && self.journal.mayAskPresenters(caller) }) {
        case .waits: return
        case .interrupted: parked.fail(.interrupted)
        case .refused(let error): parked.fail(error)
        case .pass(let pass):
            defer { coordinator.passed(pass) }
            parked.end { reply in answer(node, flags: flags, caller, reply) }
        }
    }

    /// Resumes an open whose wait is over. On one of the threads `quire-opens`.
    func openAgain(_ open: WaitingOpen) {
        open.parked.end { reply in
            if open.isLate { return reply.fail(.resourceBusy) }
            if open.claim != nil {
                // The claim has put another version there: the kernel walks the path again and finds it.
                if let link = open.link, isReplaced(open.node), !saves.staleRetries.isKnown(open.caller.thread, flags: open.flags) {
                    link.name.withCString { beginSave(of: $0, in: link.parent, flags: open.flags, open.caller) }
                    saves.staleRetries.note(open.caller.thread, at: link, flags: open.flags)
                    return reply.fail(.staleNFSFileHandle)
                }
                // Another claim may have begun.
                let again = WaitingOpen(open.node, flags: open.flags, open.caller, deadline: open.deadline)
                return openGuarded(again, reply)
            }
            // What the presenter has saved is another version, or another file that was renamed over it: the kernel walks the path
            // again, once, and finds it.
            let isOld = open.node.saved.load()?.isSuperseded(open.node) == true || isReplaced(open.node)
            guard isOld, !saves.staleRetries.isKnown(open.caller.thread, flags: open.flags) else {
                return answer(open.node, flags: open.flags, open.caller, reply)
            }
            coordinator.asked.note(open.caller.thread)
            saves.staleRetries.note(open.caller.thread, flags: open.flags)
            reply.fail(.staleNFSFileHandle)
        }
    }

    private func isReplaced(_ node: Node) -> Bool { node.state.withLock { $0.isRemoved } }

    private func isWorkingCopy(_ node: Node) -> Bool { node.saved.load()?.working(node) != nil }
}
