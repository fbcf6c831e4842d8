import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// What a save's program does with its handles.
extension SaveService {
    /// Runs a write through a handle on a working copy, and again after making room if it fails for want of it (rule 7).
    /// `write` returns how much was written, and the part of the file that it may have changed.
    func writing(
        _ handle: FileHandle, _ version: WorkingVersion, by caller: Caller, count wanted: Int,
        _ write: (Descriptor) throws(Errno) -> (count: Int, range: Range<Int64>)
    ) throws(Errno) -> Int {
        version.isUntouched.store(false, ordering: .relaxed)
        func writeAndNote() throws(Errno) -> (count: Int, range: Range<Int64>) {
            try version.writing.shared { () throws(Errno) in
                let written = try write(handle.descriptor)
                version.note(written.range)
                return written
            }
        }
        let written: (count: Int, range: Range<Int64>)
        do throws(Errno) {
            written = try freedRoom.await(after: { $0 == .noSpace || $0 == .diskQuotaExceeded }, writeAndNote)
        } catch {
            guard makesRoom(after: error, for: wanted, handle, version) else { throw error }
            written = try writeAndNote()
        }
        wrote(handle, version, by: caller, end: written.range.upperBound)
        if let published = handle.redirectedTo, published.currentLink != nil { writtenElsewhere(published) }
        return written.count
    }

    private func wrote(_ handle: FileHandle, _ version: WorkingVersion, by caller: Caller, end: Int64) {
        guard let document = handle.node.saved.load() else { return }
        let process = writer(caller.thread, version)
        _ = document.ifActive { _, machine in
            machine.wrote(handle.decision.save, by: process, end: UInt64(clamping: end), now: Self.now)
        }
    }

    private func writer(_ thread: pid_t, _ version: WorkingVersion) -> SaveProcess? {
        guard thread > 0 else { return nil }
        let known = version.lastWriter.withLock { $0 }
        if known.thread == thread { return known.process }
        let process = processes.process(of: thread)
        version.lastWriter.withLock { $0 = (thread, process) }
        return process
    }

    /// Whether the save has become live, for the room that the published version took. Only if that is enough for this write
    /// and a good part of what was written: else the old version would be lost for a save that fails all the same.
    private func makesRoom(
        after error: Errno, for wanted: Int, _ handle: FileHandle, _ version: WorkingVersion
    ) -> Bool {
        let isRoom = error == .noSpace || error == .diskQuotaExceeded
        guard !Self.leavesFileWhole.contains(error), let document = handle.node.saved.load() else { return false }
        if isRoom, document.givesUpPublished(for: wanted, handle.decision.save, version) { return true }
        writeFailed(handle, error)
        return false
    }

    /// Of what its program asked, or to be tried again: nothing is missing in the file because of these.
    private static let leavesFileWhole: Set<Errno> = [.interrupted, .resourceTemporarilyUnavailable, .invalidArgument, .badAddress]

    /// A write through a handle has failed: what it should have written is missing in the save (rule 10).
    func writeFailed(_ handle: FileHandle, _ error: Errno) {
        _ = handle.node.saved.load()?.ifActive { _, machine in
            machine.writeFailed(handle.decision.save, errno: error.rawValue, truncatingMakesRoom: false)
        }
    }

    /// Before a handle without a working copy changes the document. From its first write on, saves are published in place. With no lock
    /// held; waits while a version takes the document's place, to which the thread that publishes it leads the handle.
    func willWriteLive(_ handle: FileHandle) {
        guard handle.isUnused.load(ordering: .sequentiallyConsistent) else { return }
        noteUse(of: handle)
        handle.isUnused.store(false, ordering: .sequentiallyConsistent)
        // A machine that was made before has found it unused.
        noteUse(of: handle)
    }

    private func noteUse(of handle: FileHandle) {
        guard let document = handle.node.saved.load() else { return }
        let isReplacing = document.ifActive { _, machine in
            machine.wrote(handle.decision.save, by: nil, end: 0, now: Self.now)
            return machine.isReplacing
        }
        if isReplacing ?? false { document.awaitPublication() }
    }

    /// ftruncate(2), fallocate(2) and the like through a handle on a working copy.
    func changing<Result>(_ handle: FileHandle, _ body: (Descriptor) throws(Errno) -> Result) throws(Errno) -> Result {
        if handle.version == nil { willWriteLive(handle) }
        return try changing(handle.version) { () throws(Errno) in try body(handle.descriptor) }
    }

    /// truncate(2), by name, of a node that may be a working copy.
    func changing<Result>(_ node: Node, _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        try changing(node.saved.load()?.working(node), body)
    }

    private func changing<Result>(_ version: WorkingVersion?, _ body: () throws(Errno) -> Result) throws(Errno) -> Result {
        guard let version else { return try body() }
        version.isUntouched.store(false, ordering: .relaxed)
        return try version.writing.shared { () throws(Errno) in
            defer { version.note(0..<Int64.max) }
            return try body()
        }
    }

    func truncated(_ handle: FileHandle) {
        guard let document = handle.node.saved.load() else { return }
        _ = document.ifActive { _, machine in machine.truncated(handle.decision.save, now: Self.now) }
    }

    /// Somebody set the times of a node, with its document's name standing. Those of a working copy are its saver's; those of the
    /// published version go to the next one, if it is not written any more. Cheap where nothing is being saved.
    func timesSet(on node: Node, _ times: SetTimes) {
        guard let document = node.saved.load() else { return }
        _ = document.ifActive { state, machine in
            if state.working[node.versionID] == nil {
                state.times = times.joined(with: state.times)
            } else if times.modified != nil {
                machine.timesSet(node.versionID)
            }
        }
    }
}

extension SavedDocument {
    fileprivate func givesUpPublished(for wanted: Int, _ save: SaveHandle, _ version: WorkingVersion) -> Bool {
        var own = cl_status()
        guard let published = state.withLock({ $0.published }), let old = try? service.locator.status(of: published),
            cl_statx_fd(version.copy.file.number, &own) == 0, old.st.st_blocks * 512 >= wanted,
            old.st.st_blocks * 4 >= own.st.st_blocks
        else { return false }
        // If the published file has blocks enough, the content goes into it. Else the working copy is published as by fsync(2), and the
        // old version is emptied, which no program may have open.
        let isInPlace = old.st.st_blocks >= own.st.st_blocks
        let isFree = { !published.isStandIn && published.state.withLock { $0.handles.isEmpty } }
        guard isInPlace || old.st.st_nlink == 1 && isFree(), let file = try? service.locator.opened(published, flags: O_WRONLY)
        else { return false }
        let step = ifActive { _, machine in
            isInPlace ? machine.writeFailed(save, errno: ENOSPC, truncatingMakesRoom: true) : machine.sync(save)
        } ?? .none
        guard case .publish = step else { return false }
        do throws(Errno) {
            try carryOut(step)
            guard !isInPlace else { return true }
            guard published.state.withLock({ $0.isSuperseded }), isFree() else { return false }
            _ = try check(cl_ftruncate(file.number, 0))
            return true
        } catch {
            return false
        }
    }
}
