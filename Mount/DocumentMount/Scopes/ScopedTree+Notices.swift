import DocumentStore
import FuseServer
import Glibc
import StorePrimitives

/// Tells of what is done by a grant where it does not show by itself: the kernel, which remembers names and attributes of the document's own path,
/// and programs that watch there.
extension ScopedTree {
    /// So long a request waits until the kernel has forgotten a name: programs find what was done when it returns. The kernel may have to wait for the
    /// holder of the folder's lock, who waits for one of our threads: there are more of these, but not without end.
    /// No more wait at once than for RELEASEs (`SaveService.unlessManyWait`).
    private static let longestWait = 0.1

    /// A name was made or removed, or another file has it.
    func note(_ kind: OutsideChange.Kind, _ name: BorrowedName, in folder: NodeID, isFolder: Bool, _ caller: Caller) {
        let (folder, name) = (table.node(folder), EntryName(copying: name))
        forget(name, in: folder)
        replay(kind, name, in: folder, isFolder: isFolder, caller)
    }

    func noteMove(
        _ name: BorrowedName, from folder: NodeID, to newName: BorrowedName, in newFolder: NodeID, isFolder: Bool, _ caller: Caller
    ) {
        let (old, new) = (table.node(folder), table.node(newFolder))
        let (name, newName) = (EntryName(copying: name), EntryName(copying: newName))
        forget(name, in: old)
        forget(newName, in: new)
        guard let path = new.path else { return }
        replay(.moved(to: .init(folder: new.identity, folderPath: path, name: newName)), name, in: old, isFolder: isFolder, caller)
    }

    /// Attributes of a node of the store were changed.
    func noteAttributes(of node: NodeID, _ caller: Caller) {
        let node = table.node(node)
        files.session.current?.notifier.attributesChangedNow(of: table.id(of: node))
        if let link = node.currentLink { replay(.attributesChanged, link.name, in: link.parent, isFolder: node.isFolder, caller) }
    }

    /// A file was closed that was open for writing.
    func noteClosed(_ node: Node, _ caller: Caller) {
        guard let link = files.saves.named(node).currentLink, !link.isStaged, !link.name.withCString(HiddenName.isHidden) else { return }
        replay(.contentChanged, link.name, in: link.parent, isFolder: false, caller, [.modified, .closed])
    }

    private func forget(_ name: EntryName, in folder: Node) {
        guard let notifier = files.session.current?.notifier else { return }
        // Told in this order: the wait is for both. Where many wait, the kernel is told all the same.
        notifier.contentsChanged(of: table.id(of: folder))
        var isTold = false
        files.saves.unlessManyWait {
            isTold = true
            _ = notifier.waiting(atMost: Self.longestWait) { notifier.nameChanged(name, in: folder, table, done: $0) }
        }
        if !isTold { notifier.nameChanged(name, in: folder, table) }
    }

    private func replay(
        _ kind: OutsideChange.Kind, _ name: EntryName, in folder: Node, isFolder: Bool, _ caller: Caller, _ writing: OutsideChange.Writing = []
    ) {
        guard let path = folder.path else { return }
        let change = OutsideChange(
            folder: folder.identity, folderPath: path, name: name, kind: kind, isFolder: isFolder, pid: caller.thread, writing: writing)
        files.replay.take(change, isForgotten: true)
    }
}
