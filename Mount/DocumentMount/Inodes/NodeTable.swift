import CLinux
import FuseServer
import Glibc
import StorePrimitives
import Synchronization

/// The nodes the kernel knows, by identity. Sixteen shards, so that two serving threads seldom meet.
final class NodeTable: Sendable {
    /// Rank 3: taken with a node's state held or not, never with another shard.
    private let shards: [Shard]
    let root: Node

    private let creators = RecentCreators()
    private let folders: FolderCache

    private final class Shard: Sendable {
        let nodes = Locked<[FileIdentity: Node]>([:])
    }

    /// - Parameter root: the store's own folder, which stays for the table's life.
    init(root: Node, folders: FolderCache) {
        self.folders = folders
        shards = (0..<16).map { _ in Shard() }
        self.root = root
        shard(of: root.identity).nodes.withLock { $0[root.identity] = root }
    }

    /// The node the kernel names. Only for ids out of a request: the kernel names no node it was told to forget.
    func node(_ id: NodeID) -> Node {
        if id == .root { return root }
        // Safe: the table holds a reference for the kernel until the last FORGET.
        return Unmanaged<Node>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(id.rawValue))!).takeUnretainedValue()
    }

    func id(of node: Node) -> NodeID { node === root ? .root : node.id }

    /// The node of a file as statx(2) has just told of it, made if new, with one lookup more.
    func lookedUp(_ status: cl_status) -> Node {
        lookedUp(FileIdentity(status), type: status.type, on: MountKinds.current.kind(ofMount: status.mount_id))
    }

    /// - Parameter mountKind: asked for only if the file is on another file system than the store.
    func lookedUp(
        _ identity: FileIdentity, type: mode_t, on mountKind: @autoclosure () -> MountKind, item: @autoclosure () -> (any VirtualItem)? = nil
    ) -> Node {
        let mountKind = identity.device == root.identity.device ? .local : mountKind()
        let (node, isNew) = shard(of: identity).nodes.withLock { nodes in
            if let node = nodes[identity], node.type == type {
                if !node.isRoot { node.lookups += 1 }
                return (node, false)
            }
            let node = Node(identity: identity, type: type, on: mountKind, item: item())
            node.lookups = 1
            nodes[identity] = node
            _ = Unmanaged.passRetained(node)  // the kernel's reference, given up in `forget`
            return (node, true)
        }
        if isNew, let creator = creators.take(identity) {
            node.state.withLock { $0.made = creator }
            node.made.store(creator.moment, ordering: .relaxed)
            node.named.store(creator.moment, ordering: .relaxed)
        }
        return node
    }

    /// Whoever looks the node's file up gets another one from now on, with a lookup counted here.
    func replace(_ node: Node, by standIn: Node) {
        shard(of: node.identity).nodes.withLock { nodes in
            standIn.lookups = 1
            nodes[node.identity] = standIn
        }
        _ = Unmanaged.passRetained(standIn)  // given up in `forget`
    }

    /// A node that stands for no file, with a lookup counted.
    func phantom(type: mode_t) -> Node {
        let number = phantoms.wrappingAdd(1, ordering: .relaxed).newValue
        let node = Node(
            identity: FileIdentity(device: .max, inode: number | 1 << 62, birth: 0), type: type, item: Phantom(type: type))
        node.lookups = 1
        _ = Unmanaged.passRetained(node)  // given up in `forget`
        return node
    }

    /// An entry that stands for what was never seen, so that its going, or moving, can be told.
    func phantomEntry(type: mode_t) -> Entry {
        let node = phantom(type: type)
        return Entry(
            node: id(of: node), generation: node.generation,
            attributes: Attributes(status: Phantom.attributes(type, inode: node.identity.inode), validity: .none), validity: .none)
    }

    private let phantoms = Atomic<UInt64>(0)

    /// The node of a file if the kernel knows it; counts no lookup.
    func known(_ identity: FileIdentity) -> Node? {
        shard(of: identity).nodes.withLock { $0[identity] }
    }

    /// Counts a lookup of the daemon's own on a node, which has one already or had one a moment ago, to be given back by `forget`.
    func hold(_ node: Node) {
        let isBack = shard(of: node.identity).nodes.withLock { _ in
            guard !node.isRoot else { return false }
            node.lookups += 1
            return node.lookups == 1
        }
        guard isBack else { return }
        // It was forgotten since it was found: what `forget` does then, it will do once more.
        _ = Unmanaged.passRetained(node)
        node.saved.load()?.knownAgain(node)
    }

    /// Whether the node was looked up oftener than `holds` times: the kernel knows it too.
    func isKnown(_ node: Node, besides holds: UInt64) -> Bool {
        shard(of: node.identity).nodes.withLock { _ in node.lookups > holds }
    }

    func forget(_ node: Node, count: UInt64) {
        let isLast = shard(of: node.identity).nodes.withLock { nodes in
            guard !node.isRoot else { return false }
            precondition(node.lookups >= count, "the kernel forgets more lookups than it was given")
            node.lookups -= count
            guard node.lookups == 0 else { return false }
            if nodes[node.identity] === node { nodes[node.identity] = nil }
            return true
        }
        guard isLast else { return }
        if node.isFolder, node.item == nil { folders.forgotten(node) }
        let creator = node.state.withLock { state in
            // The journal may keep the node for a while; an unlinked file's space is free now.
            state.pin = nil
            return state.link == nil ? nil : state.made
        }
        if let creator { creators.note(creator, of: node.identity) }
        if node.hasOtherNames { linked.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(node)) } }
        if let published = node.saved.load()?.forgot(node) { forget(published, count: 1) }
        Unmanaged.passUnretained(node).release()
    }

    /// The file is gone: its identity may be another's from now on. The node stays as long as the kernel knows it.
    func detach(_ node: Node) {
        shard(of: node.identity).nodes.withLock { nodes in
            if nodes[node.identity] === node { nodes[node.identity] = nil }
        }
    }

    /// Nodes of files with several names: a name removed outside changes what the others show. Rank 3b, taken alone.
    private let linked = Locked<[ObjectIdentifier: Node]>([:])

    func noteLinks(of node: Node) { linked.withLock { $0[ObjectIdentifier(node)] = node } }

    /// The node that was last seen under a name, if its file has several. O(files with several names).
    func linkedNode(in parent: Node, name: EntryName) -> Node? {
        let candidates = linked.withLock { Array($0.values) }
        return candidates.first { node in
            node.state.withLock { state in
                ((state.link.map { [$0] } ?? []) + state.otherLinks).contains { $0.parent === parent && $0.name == name }
            }
        }
    }

    /// Every node known, for the rare case that all must be told of.
    var all: [Node] { shards.flatMap { $0.nodes.withLock { Array($0.values) } } }

    var count: Int { shards.reduce(0) { $0 + $1.nodes.withLock { $0.count } } }

    private func shard(of identity: FileIdentity) -> Shard {
        shards[Int(truncatingIfNeeded: (identity.inode &* 0x9E37_79B9_7F4A_7C15) >> 60)]
    }
}
