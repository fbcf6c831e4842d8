import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func rename(
        _ caller: Caller, from parent: NodeID, name: BorrowedName, to newParent: NodeID, newName: BorrowedName, flags: UInt32
    ) throws(Errno) {
        let (parent, newParent) = (table.node(parent), table.node(newParent))
        try refuseHidden(newName)
        if try renameStaged(caller, from: (parent, name), to: (newParent, newName), flags: flags) { return }
        let (folder, newFolder) = (try locator.folder(parent), try locator.folder(newParent))
        let exchanges = flags & CL_RENAME_EXCHANGE != 0
        try publishSaves(of: name, in: folder, before: caller)
        if exchanges { try publishSaves(of: newName, in: newFolder, before: caller) }

        let move = try move((parent, name), folder, (newParent, newName), newFolder, flags: flags, caller)
        guard !move.isNothing else { return }
        for node in move.nodes { saves.renamed(node) }
        if exchanges {
            journal.exchanged((parent, name), (newParent, newName), areFolders: move.areFolders, by: caller)
        } else {
            coordinator.moved(
                from: parent.path?.appending(EntryName(copying: name)), to: newParent.path?.appending(EntryName(copying: newName)))
            if case .aside(let aside) = move.takesOver {
                coordinator.moved(from: aside, to: newParent.path?.appending(EntryName(copying: newName)))
            }
            journal.moved(
                from: (parent, name), to: (newParent, newName), isFolder: move.isFolder, replaces: move.replaces,
                takesOver: move.takesOver, by: caller)
        }
    }

    /// Renames a claim's file. Returns whether it is a folder.
    func renamed(
        _ caller: Caller, _ old: (parent: Node, name: BorrowedName), _ folder: Descriptor,
        _ new: (parent: Node, name: BorrowedName), _ newFolder: Descriptor
    ) throws(Errno) -> Bool { try move(old, folder, new, newFolder, flags: 0, caller).isFolder }

    private func move(
        _ old: (parent: Node, name: BorrowedName), _ folder: Descriptor, _ new: (parent: Node, name: BorrowedName),
        _ newFolder: Descriptor, flags: UInt32, _ caller: Caller
    ) throws(Errno) -> Move {
        try locator.changingNames(in: old.parent, new.parent) { () throws(Errno) -> Move in
            while true {
                let places = try RenamePlaces(folder, old.name, newFolder, new.name)
                let (sourceNode, targetNode) = (table.known(places.source), places.target.flatMap { table.known($0) })
                let move = try namesStanding(of: sourceNode, targetNode, isSame: places.areSame) { () throws(Errno) in
                    try changingNames(in: old.parent, new.parent) { () throws(Errno) in
                        try moved(sourceNode, targetNode, places, old, new, flags: flags, caller)
                    }
                }
                if let move { return move }
            }
        }
    }

    private func changingNames<Result>(
        in parent: Node, _ other: Node, _ body: () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        if parent === other { return try parent.nameChanges.during(body) }
        return try parent.nameChanges.during { () throws(Errno) in try other.nameChanges.during(body) }
    }

    /// Renames with the names of both documents standing. Within `Locator.changingNames`.
    private func moved(
        _ node: Node?, _ targetNode: Node?, _ places: RenamePlaces, _ old: (parent: Node, name: BorrowedName),
        _ new: (parent: Node, name: BorrowedName), flags: UInt32, _ caller: Caller
    ) throws(Errno) -> Move {
        let (source, target) = (places.sourceStatus, places.targetStatus)
        let exchanges = flags & CL_RENAME_EXCHANGE != 0
        let replaced = exchanges ? nil : target.flatMap { pendingUnlink(new.name, in: places.newFolder, $0, by: caller.uid) }
        let isSameFile = places.source == places.target
        var takesOver = FileNameTunnel.Takeover.none
        if let node, !exchanges, !isSameFile, node.isRegular {
            let document = target.flatMap { $0.st.st_mode & S_IFMT == S_IFREG ? $0 : nil }
            takesOver = tunnel.beforeRename(
                of: node, at: FileNameTunnel.Place(folder: places.folder, name: old.name, status: source),
                over: document.map { FileNameTunnel.Place(folder: places.newFolder, name: new.name, status: $0) },
                in: new.parent, new.name, by: caller)
        }
        // The kernel moves the entry that it has. If something was put there outside, it may not have heard of that yet.
        let isKnown = node?.isKnown(as: old.name, in: old.parent) ?? false
        let isTargetKnown = !exchanges || targetNode?.isKnown(as: new.name, in: new.parent) ?? false
        let rename = { () throws(Errno) in
            _ = try check(cl_renameat2(places.folder.number, old.name, places.newFolder.number, new.name, flags))
        }
        if flags & CL_RENAME_WHITEOUT != 0 {
            // The whiteout left behind is made as the caller.
            try privileges.acting(as: caller, mode: 0, rename)
        } else if exchanges || isSameFile {
            try rename()
        } else {
            try expectingRemoval(of: old.name, in: old.parent, rename)
        }
        if isSameFile { return Move(isFolder: false, areFolders: false, replaces: false, takesOver: .none, isNothing: !exchanges) }
        if !isKnown { session.current?.notifier.nameChanged(EntryName(copying: new.name), in: new.parent, table) }
        if !isTargetKnown { session.current?.notifier.nameChanged(EntryName(copying: old.name), in: old.parent, table) }
        replaced?.wentAway(in: new.parent, name: new.name, table)
        node?.moved(from: old.parent, name: old.name, to: new.parent, newName: new.name)
        node?.saved.load()?.note(EntryName(copying: new.name))
        if exchanges {
            targetNode?.moved(from: new.parent, name: new.name, to: old.parent, newName: old.name)
            exchanged(places, old.name, new.name, by: caller)
        } else if let node, node.isRegular {
            tunnel.movedAside(node, from: old.parent, old.name, owner: source.st.st_uid, by: caller)
        }
        return Move(
            isFolder: source.isFolder, areFolders: source.isFolder && target?.isFolder == true, replaces: target != nil, takesOver: takesOver, isNothing: false,
            nodes: [node, exchanges ? targetNode : nil].compactMap { $0 })
    }

    /// A package that has changed places with another folder has its new version there. Within `Locator.changingNames`.
    private func exchanged(_ places: RenamePlaces, _ name: BorrowedName, _ newName: BorrowedName, by caller: Caller) {
        guard places.sourceStatus.isFolder, let target = places.targetStatus, target.isFolder else { return }
        let old = FileNameTunnel.Place(folder: places.folder, name: name, status: target)
        let new = FileNameTunnel.Place(folder: places.newFolder, name: newName, status: places.sourceStatus)
        switch (packages.isPackage(EntryName(copying: name)), packages.isPackage(EntryName(copying: newName))) {
        case (true, false): tunnel.exchanged(package: new, for: old, by: caller)
        case (false, true): tunnel.exchanged(package: old, for: new, by: caller)
        default: break
        }
    }

    /// Has what the caller is saving under a name come first (rule 7). Before the names lock: publishing takes it.
    func publishSaves(of name: BorrowedName, in folder: Descriptor, before caller: Caller) throws(Errno) {
        guard saves.hasActiveDocuments else { return }
        guard let status = try? FileStatus(of: name, in: folder), let node = table.known(FileIdentity(status))
        else { return }
        try saves.renaming(node, by: caller)
    }

    /// Runs what changes the names of documents while no version of these is being put under them. Nil if that has happened
    /// since they were looked up, which `isSame` is asked: they are to be looked up again. Rank 1d, within the names lock.
    func namesStanding<Result>(
        of first: Node?, _ second: Node? = nil, isSame: () throws(Errno) -> Bool, _ body: () throws(Errno) -> Result
    ) throws(Errno) -> Result? {
        let change = try changingFreely(first, second, body)
        let pair: (SavedDocument, SavedDocument)
        switch change {
        case .done(let result): return result
        case .toBeHeld(let one, let other): pair = one.order <= other.order ? (one, other) : (other, one)
        }
        let (one, other) = pair
        func checked() throws(Errno) -> Result? { try isSame() ? try body() : nil }
        if one === other { return try one.naming.withLock(checked) }
        return try one.naming.withLock { () throws(Errno) in try other.naming.withLock(checked) }
    }

    private enum FreeChange<Result> {
        case done(Result)
        case toBeHeld(SavedDocument, SavedDocument)
    }

    /// Runs `body` if neither document is being saved, counted for saves that begin meanwhile.
    private func changingFreely<Result>(
        _ first: Node?, _ second: Node?, _ body: () throws(Errno) -> Result
    ) throws(Errno) -> FreeChange<Result> {
        first?.freeNameChanges.add(1, ordering: .sequentiallyConsistent)
        second?.freeNameChanges.add(1, ordering: .sequentiallyConsistent)
        defer {
            first?.freeNameChanges.subtract(1, ordering: .sequentiallyConsistent)
            second?.freeNameChanges.subtract(1, ordering: .sequentiallyConsistent)
            saves.freeNameChangesEnded.changed()
        }
        // After the count: either this sees the save, or the save the count.
        guard saves.hasActiveDocuments else { return .done(try body()) }
        let (one, other) = (first?.saved.load(), second?.saved.load())
        guard let some = one ?? other else { return .done(try body()) }
        // Also of a document that was never saved: its first save may begin at any moment.
        func document(_ node: Node?) -> SavedDocument? {
            guard let node, node.isRegular else { return node?.saved.load() }
            return saves.document(of: node)
        }
        return .toBeHeld(document(first) ?? some, document(second) ?? some)
    }

    private struct Move {
        let isFolder: Bool
        /// And so is what stood under the new name.
        let areFolders: Bool
        /// Something stood under the new name.
        let replaces: Bool
        let takesOver: FileNameTunnel.Takeover
        /// Two names of one file: rename(2) does nothing.
        let isNothing: Bool
        /// What has another name now.
        var nodes: [Node] = []
    }
}

/// What a rename found under its two names.
private struct RenamePlaces {
    let folder: Descriptor
    let newFolder: Descriptor
    let sourceStatus: cl_status
    /// Nil if nothing stands there.
    let targetStatus: cl_status?
    private let name: BorrowedName
    private let newName: BorrowedName

    init(_ folder: Descriptor, _ name: BorrowedName, _ newFolder: Descriptor, _ newName: BorrowedName) throws(Errno) {
        (self.folder, self.name, self.newFolder, self.newName) = (folder, name, newFolder, newName)
        sourceStatus = try FileStatus(of: name, in: folder)
        targetStatus = try? FileStatus(of: newName, in: newFolder)
        // As rename(2) would answer. No more is asked of what is mounted there.
        guard !sourceStatus.isMountRoot, targetStatus?.isMountRoot != true else { throw .resourceBusy }
    }

    var source: FileIdentity { FileIdentity(sourceStatus) }
    var target: FileIdentity? { targetStatus.map { FileIdentity($0) } }

    /// Whether the same files stand there still.
    func areSame() throws(Errno) -> Bool {
        let now = try RenamePlaces(folder, name, newFolder, newName)
        return now.source == source && now.target == target
    }
}
