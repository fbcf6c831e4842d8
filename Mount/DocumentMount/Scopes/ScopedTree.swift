import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// The layer of grants: it carries out requests for what is seen in `.scopes/TOKEN` on the store's own files, as the caller may, and
/// refuses them when the grant is over.
///
/// Below this layer nobody knows of these nodes: a request for one is handed on with the node that it stands for, and with the grant's
/// number as `Caller.view`. The kernel keeps nothing of them, as nobody would tell it of changes; files are read and written past its
/// pages (`register`). One file of this type for each operation family.
final class ScopedTree: FileSystemLayer {
    let next: ReplayRequests
    /// The last layer: no virtual folders are seen by a grant.
    let files: MountedFileSystem
    let grants: Grants
    let announcer: GrantAnnouncer

    init(before next: ReplayRequests, _ grants: Grants, _ announcer: GrantAnnouncer) {
        self.next = next
        files = next.next.next
        (self.grants, self.announcer) = (grants, announcer)
    }

    var table: NodeTable { files.table }

    /// The kinds of nodes.
    enum Place {
        /// Of the store, or of other virtual folders.
        case elsewhere
        /// The folder of a grant.
        case top(Grant)
        case inside(Grant, Node)
    }

    /// Throws ESTALE if the grant is over.
    func place(_ node: NodeID) throws(Errno) -> Place {
        guard let item = table.node(node).item else { return .elsewhere }
        switch item {
        case let item as ScopedItem:
            if item.grant.isOver { throw .staleNFSFileHandle }
            return .inside(item.grant, item.target)
        case let item as ScopeFolder:
            if item.grant.isOver { throw .staleNFSFileHandle }
            return .top(item.grant)
        default: return .elsewhere
        }
    }

    /// The node of the store that a request is about, and its caller; nil if it is about anything but what is inside a grant.
    /// - Parameter writes: throws EROFS if the grant is for reading alone.
    func inside(_ node: NodeID, _ caller: Caller, writes: Bool = false) throws(Errno) -> (node: NodeID, caller: Caller, grant: Grant)? {
        guard case .inside(let grant, let target) = try place(node) else { return nil }
        if writes, grant.isReadOnly { throw .readOnlyFileSystem }
        // The process repeats changes and makes none.
        if writes, announcer.isCaller(caller) { throw .resourceBusy }
        return (table.id(of: target), caller.within(grant), grant)
    }

    /// The kernel's entry of something that was looked up in the store: the lookup that was counted is that of the kernel's own node, or is
    /// given back.
    func scoped(_ entry: Entry, _ grant: Grant) -> Entry {
        guard entry.node != .none else { return .absent(validity: .none) }
        let target = table.node(entry.node)
        let item = ScopedItem(grant, HeldNode(target, in: table))
        let node = table.lookedUp(item.nodeIdentity, type: target.type, on: target.mountKind, item: item)
        // Where the kernel knew it, `item` ends here, and gives back the lookup.
        return Entry(node: node.id, generation: node.generation, attributes: Attributes(status: entry.attributes.status, validity: .none), validity: .none)
    }

    // MARK: - Lookups and attributes

    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName, reply: consuming Reply<Entry>) {
        let place: Place
        do throws(Errno) { place = try self.place(parent) } catch { return reply.fail(error) }
        switch place {
        case .elsewhere: next.lookup(caller, in: parent, name: name, reply: reply)
        case .top(let grant):
            answer(reply) { () throws(Errno) in
                if let entry = try announcedEntry(name, in: nil, grant, caller) { return entry }
                return try entry(ofTop: grant, name, caller)
            }
        case .inside(let grant, let folder):
            answer(reply) { () throws(Errno) in
                if let entry = try announcedEntry(name, in: folder, grant, caller) { return entry }
                let entry = scoped(try files.lookup(caller.within(grant), in: folder, name: name), grant)
                if entry.node != .none, !announcer.isCaller(caller) { table.node(entry.node).isOnlyReplayed.store(false, ordering: .relaxed) }
                return entry
            }
        }
    }

    func attributes(_ caller: Caller, of node: NodeID, handle: HandleID?) throws(Errno) -> Attributes {
        guard let scoped = try inside(node, caller) else { return try next.attributes(caller, of: node, handle: handle) }
        return Attributes(status: try files.attributes(scoped.caller, of: scoped.node, handle: handle).status, validity: .none)
    }

    func attributesWithBirth(_ caller: Caller, of node: NodeID) throws(Errno) -> (Attributes, birth: Int64) {
        guard let scoped = try inside(node, caller) else { return try next.attributesWithBirth(caller, of: node) }
        let (attributes, birth) = try files.attributesWithBirth(scoped.caller, of: scoped.node)
        return (Attributes(status: attributes.status, validity: .none), birth)
    }

    func change(_ caller: Caller, node: NodeID, handle: HandleID?, to changes: AttributeRequest) throws(Errno) -> Attributes {
        // Times are set for the event alone.
        if announcer.isCaller(caller), try inside(node, caller) != nil { return try attributes(caller, of: node, handle: nil) }
        guard let scoped = try inside(node, caller, writes: true) else { return try next.change(caller, node: node, handle: handle, to: changes) }
        let attributes = try files.change(scoped.caller, node: scoped.node, handle: handle, to: changes)
        noteAttributes(of: scoped.node, caller)
        if changes.size != nil { files.session.current?.notifier.contentsChanged(ofFile: table.node(scoped.node), table) }
        return Attributes(status: attributes.status, validity: .none)
    }

    func readLink(_ caller: Caller, node: NodeID, _ body: (UnsafePointer<CChar>) -> Void) throws(Errno) {
        guard let scoped = try inside(node, caller) else { return try next.readLink(caller, node: node, body) }
        try files.readLink(scoped.caller, node: scoped.node, body)
    }

    func statistics(_ caller: Caller, node: NodeID) throws(Errno) -> statvfs {
        guard let scoped = try inside(node, caller) else { return try next.statistics(caller, node: node) }
        return try files.statistics(scoped.caller, node: scoped.node)
    }

    func extendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        guard let scoped = try inside(node, caller) else { return try next.extendedAttribute(caller, of: node, name: name, into: buffer) }
        // By which programs find the mount's service, where they are not confined.
        if files.mountAttributes.value(of: name) != nil { throw .noData }
        return try files.extendedAttribute(scoped.caller, of: scoped.node, name: name, into: buffer)
    }

    func extendedAttributeNames(_ caller: Caller, of node: NodeID, into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        guard let scoped = try inside(node, caller) else { return try next.extendedAttributeNames(caller, of: node, into: buffer) }
        return try files.extendedAttributeNames(scoped.caller, of: scoped.node, into: buffer)
    }

    func setExtendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, value: UnsafeRawBufferPointer, flags: Int32
    ) throws(Errno) {
        guard let scoped = try inside(node, caller, writes: true) else {
            return try next.setExtendedAttribute(caller, of: node, name: name, value: value, flags: flags)
        }
        try files.setExtendedAttribute(scoped.caller, of: scoped.node, name: name, value: value, flags: flags)
        noteAttributes(of: scoped.node, caller)
    }

    func removeExtendedAttribute(_ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>) throws(Errno) {
        guard let scoped = try inside(node, caller, writes: true) else { return try next.removeExtendedAttribute(caller, of: node, name: name) }
        try files.removeExtendedAttribute(scoped.caller, of: scoped.node, name: name)
        noteAttributes(of: scoped.node, caller)
    }

    func control(_ caller: Caller, node: NodeID, request: UInt32, input: UnsafeRawBufferPointer, outputSize: Int) throws(Errno) -> [UInt8] {
        // The requests that only ask have no argument that goes in (ioctl(2), _IOC_WRITE).
        guard let scoped = try inside(node, caller, writes: request >> 30 & 1 != 0) else {
            return try next.control(caller, node: node, request: request, input: input, outputSize: outputSize)
        }
        return try files.control(scoped.caller, node: scoped.node, request: request, input: input, outputSize: outputSize)
    }

    func share(of node: NodeID) -> RequestShare {
        guard let item = table.node(node).item as? ScopedItem else { return next.share(of: node) }
        return next.share(of: table.id(of: item.target))
    }
}

extension Caller {
    func within(_ grant: Grant) -> Caller {
        var caller = self
        caller.view = grant.number
        return caller
    }
}
