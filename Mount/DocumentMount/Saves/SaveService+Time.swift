import Coordination
import DocumentStore
import StorePrimitives
import SystemPackage

/// What time does to saves (rule 11).
extension SaveService {
    /// On the thread of the clock.
    func tick() {
        staleRetries.forgetOld()
        renameRetries.forgetOld()
        tellOfFolders()
        saveNotifier.tellOfWriting()
        for document in activeDocuments {
            document.makeFindable()
            for version in document.state.withLock({ Array($0.working.values) }) { document.noteUnheardWrites(to: version) }
            let now = Self.now
            let due = document.ifActive { state, machine -> [VersionID: WorkingVersion]? in
                guard let deadline = machine.nextDeadline, deadline <= now else { return nil }
                return state.working
            } ?? nil
            guard let working = due else {
                document.settle()
                continue
            }
            // Looked up before, for every save: /proc is not read with a lock held.
            let execed = working.compactMapValues { version in
                version.image.map { processes.hasExeced(version.process, since: $0) } ?? false
            }
            // An open may wait for other requests for as long as these take.
            let arriving = document.ifActive { _, machine in machine.arrivingThreads } ?? []
            let expected = arriving.filter { staleRetries.isExpected($0.rawValue) && processes.isThread($0.rawValue) }
            let steps = document.ifActive { _, machine in
                machine.tick(now: now, isExpected: { expected.contains($0) }) { _, version in execed[version] ?? false }
            } ?? []
            for step in steps {
                // What became a stream is copied into the document's own inode.
                guard case .publish(let id, _) = step else {
                    document.finish(step)
                    continue
                }
                guard !document.isQueued.exchange(true, ordering: .relaxed) else { continue }
                // `CopyQueue.stop` has it done before the service goes.
                let copy: @Sendable () -> Void = {
                    document.finish(step)
                    document.isQueued.store(false, ordering: .relaxed)
                    document.settle()
                }
                if !copies.add(of: working[id]?.caller.uid ?? 0, copy) { document.isQueued.store(false, ordering: .relaxed) }
            }
            document.settle()
        }
    }

    /// Takes the hidden names of working copies out of a folder that is to be removed: their documents have been moved elsewhere, or
    /// are gone. False if there were none.
    func clearNames(outOf folder: FileIdentity) -> Bool {
        var isCleared = false
        for document in activeDocuments {
            let (working, published) = document.state.withLock { (Array($0.working.values), $0.published) }
            for version in working where version.copy.hasName {
                let place = published?.currentLink.flatMap { try? locator.folder($0.parent) }
                if version.copy.moveName(outOf: folder, to: place) { isCleared = true }
            }
        }
        return isCleared
    }

    /// Ten times a second for all that was saved meanwhile: each save alone would have the kernel ask for its folder's times.
    private func tellOfFolders() {
        changedFolders.tellOfAll { session.current?.notifier.attributesChangedNow(of: table.id(of: $0)) }
    }

    /// A document was written through another version's node: the kernel does not tell its watches.
    func writtenElsewhere(_ published: Node) {
        if saveNotifier.written(published) { clock.wake() }
    }

    func stop() {
        clock.stop()
        copies.stop()
        saveNotifier.stop()
        keepUnfinished()
    }
}

extension SavedDocument {
    /// A tenth of a second: most saves are over by then, and cost nothing more.
    private static let unnamedAge: Int64 = 100_000_000

    /// Gives a working copy that lasts a hidden name, by which it is found when this daemon is killed, and which it needs to be published in
    /// any case.
    fileprivate func makeFindable() {
        let (working, published) = state.withLock { (Array($0.working.values), $0.published) }
        let unnamed = working.filter { $0.copy.age > Self.unnamedAge && !$0.copy.hasName }
        guard !unnamed.isEmpty, let link = published?.currentLink, let folder = try? service.locator.folder(link.parent) else { return }
        for version in unnamed {
            do throws(Errno) {
                try version.copy.makeFindable(in: folder)
            } catch {
                service.log.debug("a save could not be given a hidden name: \(error)")
            }
        }
    }

    fileprivate func finish(_ step: SaveStep) {
        do throws(Errno) {
            try carryOut(step)
        } catch {
            service.log.warning("a document that is written in pieces could not be brought up to date: \(error)")
        }
    }
}
