/// A lookup that the daemon has counted on a node: it stays known, and so learns its names, for as long as this is held.
final class HeldNode: Sendable {
    let node: Node
    private let table: NodeTable

    /// Takes over a lookup that was counted.
    init(_ node: Node, in table: NodeTable) { (self.node, self.table) = (node, table) }

    deinit { table.forget(node, count: 1) }

    /// A known node, and the folders above it.
    static func all(from node: Node, in table: NodeTable) -> [HeldNode] {
        var (held, next): ([HeldNode], Node?) = ([], node)
        while let node = next, !node.isRoot, held.count < deepest {
            table.hold(node)
            held.append(HeldNode(node, in: table))
            next = node.currentLink?.parent
        }
        return held
    }

    private static let deepest = 2_048
}
