import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives

/// The nodes and handles of an OPEN for writing.
extension SavedDocument {
    /// Whether an OPEN that comes with the node must ask the machine: the document is being saved, or another version has taken the node's
    /// place. Takes the state.
    func isAmongSaves(_ node: Node) -> Bool { isActive.load(ordering: .acquiring) || isSuperseded(node) }

    func isOpenSave(_ node: Node) -> Bool { ifActive { _, machine in machine.isOpenSave(node.versionID) } ?? false }

    /// Waits until the version is in place that perhaps is being put there at this moment.
    func awaitPublication() { turn.withLock {} }

    /// The node of a working copy, with a lookup counted for the machine.
    func workingNode(of copy: WorkingCopy) -> Node {
        let working = versionNode(copy.identity, copy.file)
        state.withLock { $0.others += 1 }
        return working
    }

    /// The node of a file that was made for a version, and has no name yet, with a lookup counted.
    func versionNode(_ identity: FileIdentity, _ file: Descriptor) -> Node {
        let node = service.table.lookedUp(identity, type: S_IFREG, on: file.mountKind)
        node.state.withLock { $0.pin = Pin(counted: file) }
        node.hasNoCapabilities.store(true, ordering: .relaxed)
        _ = node.saved.storeIfNil(self)
        return node
    }

    /// A handle that the machine knows is not to be.
    func giveUp(_ handle: SaveHandle, _ then: SaveStep) {
        let step = ifActive { _, machine in machine.withdraw(handle) } ?? .none
        try? carryOut(step)
        try? carryOut(then)
    }

    /// Makes the handle known to the machine, leads it to a version that was published since the decision, and carries out what the open
    /// ended. With no lock held.
    func registered(_ handle: FileHandle, _ opening: SaveService.Opening) {
        if moved(handle, opening) != nil {
            // With no version being put in place, which would lead it on to that.
            turn.withLock {
                guard let written = moved(handle, opening),
                    let file = try? service.locator.opened(written, flags: handle.flags & (SaveService.openFlagsKept | O_APPEND))
                else { return }
                handle.redirect(to: file, of: written)
                if handle.isWritable { service.session.current?.notifier.attributesChangedNow(of: service.table.id(of: written)) }
            }
        }
        try? carryOut(opening.then)
        settle()
    }

    /// Makes a handle known to the document's state. Returns the version that it is to be led to: another one was published between the
    /// decision and now, or it writes the published one by another's node, which is to be known there, too. Nil if it is as it should be.
    private func moved(_ handle: FileHandle, _ opening: SaveService.Opening) -> Node? {
        if let redirected = handle.redirectedTo, state.withLock({ $0.published === redirected }) { return nil }
        let moved = ifActive { state, machine -> Node? in
            guard let published = state.published else { return nil }
            if handle.isWritable {
                state.handles[handle.decision.save] = handle
                // The machine that decided may be gone, and this one made before the handle was there to be seen.
                if machine.version(of: handle.decision.save) == nil {
                    machine.adopt(LiveWriter(
                        handle: handle.decision.save, process: nil, reason: handle.decision.reason ?? .outlivedSave,
                        isSettled: handle.isUnused.load(ordering: .sequentiallyConsistent)))
                }
                // The machine takes it for unused, and the mount does not hear of all that is written by it.
                if handle.decision.isRelayed, !handle.isUnused.load(ordering: .relaxed) {
                    machine.wrote(handle.decision.save, by: nil, end: 0, now: SaveService.now)
                }
                guard machine.version(of: handle.decision.save) == published.versionID else { return nil }
            }
            return published === opening.served || opening.decision.version?.node === published ? nil : published
        } ?? state.withLock { state in
            // Saved by somebody, and over, in between.
            guard handle.isWritable, opening.decision.version == nil, let published = state.published,
                opening.served.map({ state.isOther($0) }) ?? true
            else { return nil }
            return published
        }
        let isUnheard = handle.isWritable && handle.decision.isElsewhere && opening.decision.version == nil
        return moved ?? (isUnheard ? opening.served : nil)
    }
}
