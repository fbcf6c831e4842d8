import Synchronization

/// A handle that writes another version's file by a node's inode in the kernel, which is enlarged by each write: programs that read that node
/// by the kernel's pages would find zeros behind its end. So as long as there is one, all that is opened on the node is read by the daemon.
final class HostedWriting: Sendable {
    private let node: Node
    /// The kernel makes the inode empty, for O_TRUNC, when it has the answer to the OPEN: it has done so when the handle's first request comes.
    private let isOpening: Atomic<Bool>

    /// - Parameter truncates: the handle was opened with O_TRUNC.
    init(on node: Node, truncates: Bool) {
        self.node = node
        isOpening = Atomic(truncates)
        node.hostedWritings.add(1, ordering: .sequentiallyConsistent)
    }

    deinit { node.hostedWritings.subtract(1, ordering: .relaxed) }

    /// A request by the handle has come. True for the first one of a handle that was opened with O_TRUNC.
    func noteRequest() -> Bool {
        isOpening.load(ordering: .relaxed) && isOpening.exchange(false, ordering: .relaxed)
    }
}
