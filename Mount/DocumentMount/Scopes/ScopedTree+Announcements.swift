import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Answers to the process that tells programs in a grant of what was done by other paths (`GrantAnnouncer`): what it asks for is answered
/// as done if it is what is told at this moment, else refused; nothing is carried out. The kernel keeps no names in grants.
extension ScopedTree {
    /// The entry that the process finds under a name; nil: the one that all programs find.
    func announcedEntry(_ name: BorrowedName, in folder: Node?, _ grant: Grant, _ caller: Caller) throws(Errno) -> Entry? {
        guard announcer.isCaller(caller) else { return nil }
        switch announcer.change(of: name, in: folder, of: grant) {
        case .made: return .absent(validity: .none)
        case .gone: return try isThere(name, in: folder, grant, caller) ? nil : table.phantomEntry(type: S_IFREG)
        case .touched, nil: return nil
        }
    }

    /// Nil for a request of any other process.
    func announcedMaking(_ name: BorrowedName, in parent: NodeID, type: mode_t, _ caller: Caller) throws(Errno) -> Entry? {
        guard announcer.isCaller(caller) else { return nil }
        let (grant, folder) = try announcedPlace(parent)
        guard case .made = announcer.change(of: name, in: folder, of: grant) else { throw .resourceBusy }
        let entry = try found(name, in: folder, grant, caller)
        // It is gone again.
        if entry.node == .none { return table.phantomEntry(type: type) }
        guard entry.attributes.status.st_mode & S_IFMT == type else {
            forget(entry.node, count: 1)
            throw .resourceBusy
        }
        // Changes in a folder that no program has looked up are not repeated.
        let node = table.node(entry.node)
        if node.isFolder { node.isOnlyReplayed.store(true, ordering: .relaxed) }
        return entry
    }

    func announcedRemoval(_ name: BorrowedName, in parent: NodeID, _ caller: Caller) throws(Errno) {
        let (grant, folder) = try announcedPlace(parent)
        guard case .gone = announcer.change(of: name, in: folder, of: grant), try !isThere(name, in: folder, grant, caller)
        else { throw .resourceBusy }
    }

    private func announcedPlace(_ folder: NodeID) throws(Errno) -> (Grant, folder: Node?) {
        switch try place(folder) {
        case .elsewhere: throw .resourceBusy
        case .top(let grant): (grant, nil)
        case .inside(let grant, let folder): (grant, folder)
        }
    }

    private func found(_ name: BorrowedName, in folder: Node?, _ grant: Grant, _ caller: Caller) throws(Errno) -> Entry {
        guard let folder else { return try entry(ofTop: grant, name, caller) }
        return scoped(try files.lookup(caller.within(grant), in: folder, name: name), grant)
    }

    private func isThere(_ name: BorrowedName, in folder: Node?, _ grant: Grant, _ caller: Caller) throws(Errno) -> Bool {
        let entry = try found(name, in: folder, grant, caller)
        if entry.node != .none { forget(entry.node, count: 1) }
        return entry.node != .none
    }
}
