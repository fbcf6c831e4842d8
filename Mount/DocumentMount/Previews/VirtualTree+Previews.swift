import CLinux
import DocumentRendering
import FuseServer
import StorePrimitives
import SystemPackage

/// Requests in `.previews` that wait until something is made.
extension VirtualTree {
    /// Answers when all that a request needs of a preview is there, one after the other, or will not be: what was made may be of a
    /// version that was overtaken meanwhile.
    func wait<Answer>(
        for needed: @escaping @Sendable () -> PreviewService.Need?, of item: any PreviewTreeItem, _ caller: Caller,
        until deadline: Int64 = cl_monotonic_ns() + PreviewService.timeout, attempts: Int = 4,
        _ reply: consuming Reply<Answer>, answer: @escaping @Sendable (consuming Reply<Answer>) -> Void
    ) {
        // Nothing is made for who may not see it.
        do throws(Errno) { try item.checkMayUse(credentials(of: caller)) } catch { return reply.fail(error) }
        let left = deadline - cl_monotonic_ns()
        guard attempts > 0, left > 0, let need = needed() else { return answer(reply) }
        let (service, document) = (item.service, item.document)
        guard let share = TakenShare(.waitingLookups, of: shares, for: caller.uid) else { return reply.fail(.resourceBusy) }
        let lookups = service.thumbnails.lookups
        let awaited = PendingLookups.Awaited(reply, caller, share, in: lookups, timeout: left) { [unowned self] reply in
            wait(for: needed, of: item, caller, until: deadline, attempts: attempts - 1, reply, answer: answer)
        }
        lookups.wait(awaited)
        let request = PreviewService.Request(user: caller.uid) {
            lookups.isWaiting(awaited)
        } completion: {
            lookups.finished(awaited)
        }
        service.make(need, of: document, for: request)
    }
}
