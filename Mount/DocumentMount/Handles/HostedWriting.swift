import Synchronization

/// A handle that writes another version's file by a node's inode in the kernel, which is enlarged by each write: programs that read that node
/// by the kernel's pages would find zeros behind its end. So as long as there is one, all that is opened on the node is read by the daemon.
final class HostedWriting: Sendable {
    private let node: Node

    init(on node: Node) {
        self.node = node
        node.hostedWritings.add(1, ordering: .sequentiallyConsistent)
    }

    deinit { node.hostedWritings.subtract(1, ordering: .relaxed) }
}
