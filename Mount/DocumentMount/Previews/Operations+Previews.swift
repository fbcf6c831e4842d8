import CLinux
import FuseKernel
import StorePrimitives
import SystemPackage
import Thumbnails

/// Requests in `.previews` that wait until something is made. Where they cannot wait (io_uring) it is made all the same, and they
/// are to be made again: EAGAIN.
extension MountedFileSystem {
    /// Answers when what a request needs of a preview is there, or will not be.
    func wait<Answer>(
        for need: PreviewService.Need, of item: any PreviewItem, _ caller: Caller, _ reply: consuming Reply<Answer>,
        answer: @escaping @Sendable (consuming Reply<Answer>) -> Void
    ) {
        let (service, document) = (item.service, item.document)
        guard reply.canWait else {
            service.make(need, of: document, for: PreviewService.Request(user: caller.uid, isWaiting: { true }, completion: {}))
            return reply.fail(.resourceTemporarilyUnavailable)
        }
        let looks = service.thumbnails.looks
        let awaited = ThumbnailLooks.Awaited(reply, caller, in: looks, answer: answer)
        looks.wait(awaited)
        let request = PreviewService.Request(user: caller.uid) { looks.isWaiting(awaited) } completion: { looks.finished(awaited) }
        service.make(need, of: document, for: request)
    }

    /// A name in a preview: first the preview is made, then what the name stands for.
    func lookUpPreview(
        _ name: EntryName, in folder: any PreviewItem, _ need: PreviewService.Need, _ caller: Caller, parent: NodeID,
        _ reply: consuming Reply<Entry>
    ) {
        wait(for: need, of: folder, caller, reply) { [unowned self] reply in
            if case .preview = need, reply.canWait, let next = folder.needed(for: name), case .part = next {
                return lookUpPreview(name, in: folder, next, caller, parent: parent, reply)
            }
            answer(reply) { () throws(Errno) in
                try name.withCString { (name) throws(Errno) in try lookup(caller, in: parent, name: name) }
            }
        }
    }
}
