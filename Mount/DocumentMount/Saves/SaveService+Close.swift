import CLinux
import Coordination
import FuseServer
import Glibc
import ProcessInspection
import StorePrimitives
import SystemPackage

/// FLUSH, RELEASE, fsync, and what comes before a rename: where saves end.
extension SaveService {
    /// A descriptor was closed. Publishes what ends by it; throws what close(2) is to answer.
    func flushed(_ handle: FileHandle, by caller: Caller) throws(Errno) {
        handle.isFlushed.store(true, ordering: .relaxed)
        guard let document = handle.node.saved.load(), document.isActive.load(ordering: .acquiring) else { return }
        let process = processes.process(of: caller.thread)
        let found = document.ifActive { state, machine -> (FlushQuestion, WorkingVersion)? in
            guard let question = machine.flushing(handle.decision.save, by: process),
                let version = state.working[question.working]
            else { return nil }
            return (question, version)
        } ?? nil
        guard let (question, version) = found else { return document.settle() }
        // Mostly it is published by the first: the disk may begin while /proc is read.
        if question.holders != nil, !version.wasClosed.exchange(true, ordering: .relaxed) { version.copy.beginWritingOut() }
        let files = [version.node.identity] + version.hosts.withLock { $0 }
        let trace = VersionTrace(
            names: document.names.withLock { $0 }, inodes: files.map { locator.presentedInode($0.inode, on: $0.device) })
        var facts = processes.facts(
            for: question, from: caller.thread, of: process, trace: trace, since: version.moment, image: version.image,
            mayBeMapped: version.mayBeMapped.load(ordering: .relaxed))
        noteOpener(of: version, question, process, &facts)
        if facts.isInDoubt, version.doubts.wrappingAdd(1, ordering: .relaxed).oldValue < Self.doubtsWaitedFor {
            version.doubtedAt.store(Self.now, ordering: .relaxed)
        }
        let step = document.ifActive { _, machine in machine.flush(handle.decision.save, facts) } ?? .none
        try document.carryOut(step, waitsForKernel: true)
    }

    /// Adds the opener's end to the facts.
    private func noteOpener(
        of version: WorkingVersion, _ question: FlushQuestion, _ process: SaveProcess?, _ facts: inout FlushFacts
    ) {
        if version.isOpenedByRing.load(ordering: .relaxed), question.holders != nil {
            facts.closed = []
            facts.isInDoubt = true
        }
        if process != question.opener { (facts.openerDeath, facts.openerHasExeced) = end(ofOpener: version) }
        version.isHeldByOthers.store(facts.closed.isEmpty, ordering: .relaxed)
    }

    /// How the save's opener has ended, and whether it had exec'd since it began.
    private func end(ofOpener version: WorkingVersion) -> (death: Death, hasExeced: Bool) {
        guard let opener = version.opener else { return (.none, false) }
        let death = processes.end(of: opener)
        guard case .killed = death else { return (death, false) }
        return (death, processes.hasExeced(version.process, since: version.image))
    }

    /// Who closes descriptors in a row, each in doubt, does not keep those waiting who look the name up.
    private static let doubtsWaitedFor = 4

    /// The last descriptor and mapping are gone, wherever they were.
    func released(_ handle: FileHandle) {
        guard handle.isWritable, let document = handle.node.saved.load() else { return }
        let version = handle.version
        if let version { keepNow(version) }
        // Mostly it is published and over.
        let open = version.flatMap { document.working($0.node) }
        let opener = open.map(end(ofOpener:)) ?? (.none, false)
        let step = document.ifActive { state, machine in
            state.handles[handle.decision.save] = nil
            let step = machine.release(handle.decision.save, openerDeath: opener.death, openerHasExeced: opener.hasExeced)
            if step != .none {
                version?.isHeldByOthers.store(false, ordering: .relaxed)
                version?.isEnding.store(true, ordering: .relaxed)
            }
            return step
        }
        guard let step else { return }
        defer { version?.isEnding.store(false, ordering: .relaxed) }
        do throws(Errno) {
            try document.carryOut(step)
        } catch {
            log.warning("\(handle.node.path ?? .root): a save failed after its program had closed it: \(error)")
        }
    }

    /// Before fsync(2): the save is published by it.
    func synchronizing(_ handle: FileHandle) throws(Errno) {
        guard handle.version != nil, let document = handle.node.saved.load() else { return }
        let step = document.ifActive { _, machine in machine.sync(handle.decision.save) } ?? .none
        try document.carryOut(step, waitsForKernel: true)
    }

    /// Before a rename or link of the document's name by the caller: what it was saving there comes first (rule 7).
    func renaming(_ node: Node, by caller: Caller) throws(Errno) {
        guard let document = node.saved.load(), document.isActive.load(ordering: .acquiring) else { return }
        let asker = document.saver(caller)
        let steps = document.ifActive { _, machine in machine.renaming(by: asker) } ?? []
        for step in steps { try document.carryOut(step) }
    }
}
