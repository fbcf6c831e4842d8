import FuseServer
import StorePrimitives

/// GETATTR: whose attributes a node has where its handles lead to other versions' files, since no path was walked to these: opens
/// through /proc/self/fd, by a file handle, or with a descriptor that a portal keeps.
extension SaveService {
    /// The node whose attributes the caller is to be told for `node`. One atomic load for a document that has no saves; else reads
    /// of /proc only while there are such handles. With no lock held.
    func shown(_ node: Node, to caller: Caller) -> Node {
        guard let document = node.saved.load() else { return node }
        if let own = document.ownSave(on: node, caller) { return own }
        guard document.isSuperseded(node), isLeft(node, for: caller), let published = document.state.withLock({ $0.published }),
            mayBeRedirected(caller, from: node, to: published)
        else { return node }
        return published
    }

    /// Whether a version that another has replaced stands for that one, to who has come to it by no name: as by a descriptor opened with
    /// O_PATH, which leads to the document's content on a plain folder, however often that is saved. Not if a program reads the version, or
    /// may have looked at it a moment ago, in order to read it; but whoever replaced it, or has the document open by it, knows of the other.
    func isLeft(_ node: Node, for caller: Caller) -> Bool {
        if node.isOpenAsItself { return false }
        guard node.wasJustSuperseded else { return true }
        guard let process = processes.process(of: caller.thread) else { return false }
        let (replacer, handles) = node.state.withLock { ($0.superseded?.by, $0.handles) }
        return replacer == process || handles.contains { processes.process(of: $0.caller.thread) == process }
    }
}

extension SavedDocument {
    /// The working copy that the caller's process writes by a handle on another version's node: the newest.
    fileprivate func ownSave(on node: Node, _ caller: Caller) -> Node? {
        guard isActive.load(ordering: .acquiring) else { return nil }
        let handles = node.state.withLock { $0.handles }
        let saves = handles.compactMap { $0.isElsewhere ? $0.version : nil }
        guard !saves.isEmpty, let process = service.processes.process(of: caller.thread),
            let own = saves.last(where: { $0.process == process && working($0.node) === $0 })
        else { return nil }
        // Of a relay's clients one may be reading: its kernel has one size of the document for all of them.
        let isAlsoRead = service.processes.isRelay(caller.thread)
            && handles.contains { !$0.isElsewhere && service.processes.process(of: $0.caller.thread) == process }
        return isAlsoRead ? nil : own.node
    }
}
