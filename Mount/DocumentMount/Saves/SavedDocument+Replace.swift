import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// A working copy takes the document's name (rule 8).
extension SavedDocument {
    /// Puts the working copy under the document's name and tells everybody. Returns the document's folder. With `turn` held.
    func replace(_ published: Node, by version: WorkingVersion, _ plan: PublishPlan) throws(PublishFailure) -> Descriptor {
        // Handles of earlier saves may still write to the version that goes: not between the rename and their redirection.
        let (link, folder) = try earlierSaves(on: published).map(\.writing).exclusive { () throws(PublishFailure) in
            try putUnderName(of: published, version, plan)
        }
        // The machine's hold on the old version goes on to there; that on the working copy is now the one on the published version.
        service.saveNotifier.superseded(published)
        // The kernel told the watches of the saver's inode of its writes, before other programs could read these.
        if version.isExchanged { service.writtenElsewhere(version.node) }
        // The watcher tells of what the kernel has written for apps, in their names.
        if let status = try? FileStatus(of: version.copy.file) {
            version.node.state.withLock { $0.written = Node.Seen(status.st) }
        }
        service.journal.written(version.node, version.caller)
        // Its times changed in the store, and the kernel did not do it.
        service.changedFolders.add(link.parent)
        // Who has the old version open sees that it has no name any more.
        if published.state.withLock({ !$0.handles.isEmpty }) {
            service.session.current?.notifier.attributesChangedNow(of: service.table.id(of: published))
        }
        return folder
    }

    /// Saves that were published by fsync before, and of which handles write the version, the oldest first.
    private func earlierSaves(on published: Node) -> [WorkingVersion] {
        let found = ifActive { state, _ in
            state.handles.values.compactMap { handle in
                (handle.redirectedTo ?? handle.node) === published ? handle.version : nil
            }
        } ?? []
        var saves: [WorkingVersion] = []
        for save in found where !saves.contains(where: { $0 === save }) { saves.append(save) }
        return saves.sorted { $0.node.generation < $1.node.generation }
    }

    private func putUnderName(
        of published: Node, _ version: WorkingVersion, _ plan: PublishPlan
    ) throws(PublishFailure) -> (Node.Link, Descriptor) {
        let (link, handles, folder) = try service.locator.names.changing { () throws(PublishFailure) in
            try naming.withLock { () throws(PublishFailure) in
                try service.awaitFreeNameChanges(of: published)
                guard let link = published.currentLink else { throw .removed }
                let folder: Descriptor
                let pinned: Descriptor
                do throws(Errno) {
                    folder = try service.locator.folder(link.parent)
                    pinned = try descriptor(of: published, version, link, folder)
                } catch {
                    throw error == .noSuchFileOrDirectory ? .removed : .failed(error)
                }
                // Whoever opens it on the way finds it so: its name is the other's at the same time as the rename.
                published.state.withLock { $0.pin = Pin(counted: pinned) }
                // Before any request can find the old version replaced: what it asks or changes of that is redirected (`changed`).
                replacedAt.store(cl_monotonic_ns(), ordering: .releasing)
                var isPublished = false
                defer { if !isPublished { published.state.withLock { $0.pin = nil } } }
                let times = state.withLock { state in
                    state.machine?.lastWrite(of: version.node.versionID).flatMap { state.times?.after(lastWrite: $0) }
                }
                try link.parent.nameChanges.during { () throws(PublishFailure) in
                    try version.copy.publish(
                        as: link.name, in: folder, replacing: published.identity, keepingTimes: !plan.setsModificationTime, times
                    ) {
                        // It keeps access lists, which expire with no time.
                        service.session.current?.notifier.attributesChangedNow(of: service.table.id(of: version.node))
                    }
                    isPublished = true
                    version.node.isExchanged.store(false, ordering: .sequentiallyConsistent)
                    link.name.withCString { _ = version.node.seen(in: link.parent, name: $0, hasOtherNames: false) }
                    let isOpen = published.state.withLock { !$0.handles.isEmpty }
                    if !isOpen { pinned.keepUntilClosed(FreedRoom.Share(of: service.freedRoom)) }
                    let pin = Pin(pinned, for: version.caller.uid, of: service.shares)
                    published.superseded(by: version.process, pin: pin)
                }
                service.table.detach(published)
                return (link, takeOver(version), folder)
            }
        }
        redirect(handles, to: version.copy.file, of: version.node)
        return (link, folder)
    }

    /// By which the old version is found when it has no name any more.
    private func descriptor(
        of published: Node, _ version: WorkingVersion, _ link: Node.Link, _ folder: Descriptor
    ) throws(Errno) -> Descriptor {
        if version.copy.documentIdentity == published.identity { return version.copy.document }
        return try .named(link.name, in: folder, flags: CL_O_PATH | O_NOFOLLOW)
    }

    /// The working copy is the published version from here on. Returns the handles that are to go on with another file.
    private func takeOver(_ version: WorkingVersion) -> [FileHandle] {
        ifActive { state, machine in
            let id = version.node.versionID
            let writers = machine.published(id)
            state.working[id] = nil
            state.published = version.node
            state.savedBy = version.caller.uid
            state.identity = version.node.identity
            return writers.compactMap { state.handles[$0.handle] }.filter { $0.node !== version.node || $0.served !== version.node }
        } ?? []
    }
}
