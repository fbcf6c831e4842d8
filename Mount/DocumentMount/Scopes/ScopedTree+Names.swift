import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Making, removing and moving what is inside a grant.
extension ScopedTree {
    func makeNode(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, device: dev_t) throws(Errno) -> Entry {
        if let entry = try announcedMaking(name, in: parent, type: mode & S_IFMT, caller) { return entry }
        guard let scoped = try inside(parent, caller, writes: true) else {
            return try next.makeNode(caller, in: parent, name: name, mode: mode, device: device)
        }
        let entry = try files.makeNode(scoped.caller, in: scoped.node, name: name, mode: mode, device: device)
        note(.appeared, name, in: scoped.node, isFolder: false, caller)
        return self.scoped(entry, scoped.grant)
    }

    func makeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t) throws(Errno) -> Entry {
        if let entry = try announcedMaking(name, in: parent, type: S_IFDIR, caller) { return entry }
        guard let scoped = try inside(parent, caller, writes: true) else { return try next.makeFolder(caller, in: parent, name: name, mode: mode) }
        let entry = try files.makeFolder(scoped.caller, in: scoped.node, name: name, mode: mode)
        note(.appeared, name, in: scoped.node, isFolder: true, caller)
        return self.scoped(entry, scoped.grant)
    }

    func makeSymbolicLink(_ caller: Caller, in parent: NodeID, name: BorrowedName, target: UnsafePointer<CChar>) throws(Errno) -> Entry {
        if let entry = try announcedMaking(name, in: parent, type: S_IFLNK, caller) { return entry }
        guard let scoped = try inside(parent, caller, writes: true) else {
            return try next.makeSymbolicLink(caller, in: parent, name: name, target: target)
        }
        let entry = try files.makeSymbolicLink(scoped.caller, in: scoped.node, name: name, target: target)
        note(.appeared, name, in: scoped.node, isFolder: false, caller)
        return self.scoped(entry, scoped.grant)
    }

    func link(_ caller: Caller, node: NodeID, in parent: NodeID, name: BorrowedName) throws(Errno) -> Entry {
        let (linked, folder) = (try inside(node, caller), try inside(parent, caller, writes: true))
        guard let linked, let folder else {
            // A file in a grant stays there, and no other comes into it.
            if linked != nil || folder != nil { throw .improperLink }
            return try next.link(caller, node: node, in: parent, name: name)
        }
        guard linked.grant === folder.grant else { throw .improperLink }
        let entry = try files.link(folder.caller, node: linked.node, in: folder.node, name: name)
        noteAttributes(of: linked.node, caller)
        note(.appeared, name, in: folder.node, isFolder: false, caller)
        return scoped(entry, folder.grant)
    }

    func unlink(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        if announcer.isCaller(caller) { return try announcedRemoval(name, in: parent, caller) }
        if let grant = try documentFolder(parent) { return try unlink(name, in: grant, caller) }
        guard let scoped = try inside(parent, caller, writes: true) else { return try next.unlink(caller, in: parent, name: name) }
        try files.unlink(scoped.caller, in: scoped.node, name: name)
        note(.disappeared, name, in: scoped.node, isFolder: false, caller)
    }

    func removeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        guard let scoped = try inside(parent, caller, writes: true) else { return try next.removeFolder(caller, in: parent, name: name) }
        try files.removeFolder(scoped.caller, in: scoped.node, name: name)
        note(.disappeared, name, in: scoped.node, isFolder: true, caller)
    }

    func rename(
        _ caller: Caller, from parent: NodeID, name: BorrowedName, to newParent: NodeID, newName: BorrowedName, flags: UInt32
    ) throws(Errno) {
        if parent == newParent, let grant = try documentFolder(parent) { return try rename(name, to: newName, in: grant, flags: flags, caller) }
        let (old, new) = (try inside(parent, caller, writes: true), try inside(newParent, caller, writes: true))
        guard let old, let new else {
            if old != nil || new != nil { throw .improperLink }
            return try next.rename(caller, from: parent, name: name, to: newParent, newName: newName, flags: flags)
        }
        guard old.grant === new.grant else { throw .improperLink }
        try files.rename(old.caller, from: old.node, name: name, to: new.node, newName: newName, flags: flags)
        let isFolder = (try? FileStatus(of: newName, in: files.locator.folder(table.node(new.node))))?.type == S_IFDIR
        noteMove(name, from: old.node, to: newName, in: new.node, isFolder: isFolder, caller)
    }
}
