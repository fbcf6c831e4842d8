import CLinux
import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// OPEN for writing or with O_TRUNC (`WritingOpen`), as the operations call it.
extension SaveService {
    /// What is opened, and how it is to be registered.
    struct Opening {
        let file: Descriptor
        /// As it was before it is truncated; nil for a working copy.
        let status: cl_status?
        let decision: FileHandle.Decision
        /// Nil if the document has no saves.
        let document: SavedDocument?
        /// Whose file it is; nil: that of the node that was asked for.
        var served: Node?
        /// To be carried out when the handle is registered.
        let then: SaveStep
        let isTruncated: Bool

        /// It was decided how to open, and is not opened after all.
        func abandon() { document?.giveUp(decision.save, then) }

        /// The handle is there: from now on it may be led to another file. Ends what the open brought to an end.
        func register(_ handle: FileHandle) { document?.registered(handle, self) }
    }

    /// What the daemon's own descriptor takes of an app's flags. O_DIRECT is the kernel's affair: the daemon's buffers have
    /// no alignment. Nor O_APPEND: the kernel says where to write, and fcntl(2) may clear the flag. The name was resolved
    /// already.
    static let openFlagsKept = O_ACCMODE | O_SYNC | O_DSYNC | CL_O_NOATIME | CL_O_LARGEFILE

    /// How often the document may be another by the time it was looked at: each time somebody has saved it.
    static let maximumAttempts = 1_000

    /// Throws ESTALE to have the kernel walk the path again, after which the caller comes with another version.
    ///
    /// - Parameter isRetry: see `takeMark`, which is taken here if nil.
    func open(_ node: Node, flags: Int32, _ caller: Caller, creates: Bool = false, isRetry: Bool? = nil) throws(Errno) -> Opening {
        let isRetry = isRetry ?? takeMark(caller, at: node, flags: flags)
        if isRetry { processes.noteReopening(by: caller.thread) }
        do throws(Errno) {
            return try WritingOpen(self, node, flags: flags, caller, creates: creates, isRetry: isRetry).answer()
        } catch {
            if error == .staleNFSFileHandle {
                staleRetries.note(caller.thread, at: node.place, flags: flags, in: node.saved.load())
            }
            node.saved.load()?.settle()
            throw error
        }
    }

    /// A file that is made by its open has no older version to protect.
    func decisionForNewFile() -> FileHandle.Decision {
        counters.withLock { $0.count(.live(.newFile)) }
        return FileHandle.Decision(save: FileHandle.nextSaveHandle, reason: .newFile)
    }
}
