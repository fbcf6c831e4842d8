import CLinux
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func makeNode(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, device: dev_t) throws(Errno) -> Entry {
        let parent = table.node(parent)
        try refuseHidden(name)
        return try made(caller, in: parent, name: name, mode: mode) { (folder) throws(Errno) in
            _ = try check(cl_mknodat(folder.number, name, mode, device))
        }
    }

    func makeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t) throws(Errno) -> Entry {
        let parent = table.node(parent)
        try refuseHidden(name)
        if try transactions.restoringFolder(name, in: parent, mode: mode, caller) {
            return try lookUp(name, in: parent, locator.folder(parent), caller)
        }
        return try made(caller, in: parent, name: name, mode: mode) { (folder) throws(Errno) in
            _ = try check(cl_mkdirat(folder.number, name, mode))
        }
    }

    func makeSymbolicLink(_ caller: Caller, in parent: NodeID, name: BorrowedName, target: UnsafePointer<CChar>)
        throws(Errno) -> Entry
    {
        let parent = table.node(parent)
        try refuseHidden(name)
        return try makingFile(name, in: parent, caller) { () throws(Errno) in
            try made(caller, in: parent, name: name, mode: 0) { (folder) throws(Errno) in
                _ = try check(cl_symlinkat(target, folder.number, name))
            }
        } _: { (hidden, _) throws(Errno) in
            try hidden.withCString { (name) throws(Errno) in
                var entry = try foundWhenMade(caller, in: parent, name: name, mode: 0) { (folder) throws(Errno) in
                    _ = try check(cl_symlinkat(target, folder.number, name))
                }
                entry.validity = .none
                return entry
            }
        }
    }

    func link(_ caller: Caller, node: NodeID, in parent: NodeID, name: BorrowedName) throws(Errno) -> Entry {
        let (node, parent) = (table.node(node), table.node(parent))
        try refuseHidden(name)
        if saves.hasActiveDocuments { try saves.renaming(node, by: caller) }
        return try makingFile(name, in: parent, caller) { () throws(Errno) in
            let entry = try linked(node, in: parent, name, caller)
            journal.made(in: parent, name: name, by: caller, isIndexed: true)
            return entry
        } _: { (hidden, _) throws(Errno) in
            var entry = try hidden.withCString { (name) throws(Errno) in try linked(node, in: parent, name, caller) }
            entry.validity = .none
            return entry
        }
    }

    private func linked(_ node: Node, in parent: Node, _ name: BorrowedName, _ caller: Caller) throws(Errno) -> Entry {
        let folder = try locator.folder(parent)
        // Each time another version has taken the name meanwhile, that one is to be linked.
        for _ in 0..<Self.maximumAttempts {
            let linked = try saves.newest(of: node, for: caller)
            defer { table.forget(linked, count: 1) }
            guard let entry = try link(linked, in: parent, folder, name) else { continue }
            linked.wasNamed()
            saves.linked(linked)
            return entry
        }
        throw .staleNFSFileHandle
    }

    /// Nil if another version of the document has taken its name.
    private func link(
        _ node: Node, in parent: Node, _ folder: Descriptor, _ name: BorrowedName
    ) throws(Errno) -> Entry? {
        let source = try locator.pathDescriptor(of: node)
        return try locator.changingNames(in: parent) { () throws(Errno) -> Entry? in
            let isSame = { () throws(Errno) in !node.state.withLock { $0.isSuperseded } }
            let isDone: Void? = try namesStanding(of: node, isSame: isSame) { () throws(Errno) in
                try withProcPath(of: source) { (path) throws(Errno) in
                    _ = try check(cl_linkat(AT_FDCWD, path, folder.number, name, AT_SYMLINK_FOLLOW))
                }
            }
            return isDone == nil ? nil : try lookUp(name, in: parent, folder)
        }
    }

    /// Makes something as the caller and looks it up, at once within claims too.
    private func made(
        _ caller: Caller, in parent: Node, name: BorrowedName, mode: mode_t, _ make: (Descriptor) throws(Errno) -> Void
    ) throws(Errno) -> Entry {
        try clearRemoved(caller, in: parent, name: name)
        let entry = try foundWhenMade(caller, in: parent, name: name, mode: mode, make)
        let type = entry.attributes.status.st_mode & S_IFMT
        let isDocument = type == S_IFREG || type == S_IFDIR && packages.isPackage(EntryName(copying: name))
        journal.made(in: parent, name: name, by: caller, isIndexed: isDocument)
        return entry
    }

    private func foundWhenMade(
        _ caller: Caller, in parent: Node, name: BorrowedName, mode: mode_t, _ make: (Descriptor) throws(Errno) -> Void
    ) throws(Errno) -> Entry {
        let folder = try locator.folder(parent)
        let entry = try locator.changingNames(in: parent) { () throws(Errno) in
            try privileges.acting(as: caller, mode: mode) { () throws(Errno) in try make(folder) }
            return try lookUp(name, in: parent, folder)
        }
        table.node(entry.node).wasMade()
        return entry
    }

    /// Programs make nothing with a name that versions have for a moment.
    func refuseHidden(_ name: BorrowedName) throws(Errno) {
        if isHidden(name) { throw .notPermitted }
    }

    /// The names that versions have for a moment (`HiddenName`).
    func isHidden(_ name: BorrowedName) -> Bool { name[0] == CChar(UInt8(ascii: ".")) && HiddenName.isHidden(name) }
}
