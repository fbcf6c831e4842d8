/// What handles do between their opening and their end.
extension DocumentSaves {
    /// A write of any handle that is open for writing, when it has been done.
    /// - Parameters:
    ///   - process: nil for what the kernel writes back of a mapping.
    ///   - end: the offset after the last byte written.
    public mutating func wrote(_ handle: SaveHandle, by process: SaveProcess?, end: UInt64, now: UInt64) {
        guard let writer = writers[handle] else { return }
        writers[handle]?.isSettled = false
        if process != nil { markOpen(handle) }
        guard let index = index(of: writer.version) else { return }
        saves[index].lastActivity = now
        saves[index].size = max(saves[index].size, end)
        saves[index].hasTimeSet = false
        if writer.isJoined {
            saves[index].hasJoinedWrites = true
        } else {
            note(process, in: index)
        }
    }

    /// The version that a handle writes; nil if it is not known.
    public func version(of handle: SaveHandle) -> VersionID? { writers[handle]?.version }

    /// A write that the disk refused: ENOSPC, EDQUOT, EFBIG or EIO (rules 7 and 10).
    ///
    /// `.publish`: do it, then write again; otherwise answer the errno, and the save is discarded when it ends.
    /// - Parameter truncatingMakesRoom: the room that the published version takes would do.
    public mutating func writeFailed(_ handle: SaveHandle, errno: Int32, truncatingMakesRoom: Bool) -> SaveStep {
        guard let writer = writers[handle], let index = index(of: writer.version) else { return .none }
        if truncatingMakesRoom, !saves[index].isToBeDiscarded { return .publish(writer.version, .outOfRoom) }
        // Others of a redirection may make good for one that was killed, but not for what could not be written.
        if !writer.isJoined, saves[index].fault == nil || saves[index].isRedirected {
            saves[index].fault = .writeFailed(errno)
        }
        return .none
    }

    /// ftruncate(2) to nothing: what went wrong before does not matter any more.
    public mutating func truncated(_ handle: SaveHandle, now: UInt64) {
        if let version = writers[handle]?.version, let index = index(of: version) { startedOver(index, now) }
    }

    /// utimensat(2) on the working copy: publishing is to leave the time alone, unless more is written.
    public mutating func timesSet(_ working: VersionID) {
        if let index = index(of: working) { saves[index].hasTimeSet = true }
    }

    /// When a working copy was last written: times that others set later count. Nil if its saver has set them itself since.
    public func lastWrite(of working: VersionID) -> UInt64? {
        index(of: working).flatMap { saves[$0].hasTimeSet ? nil : saves[$0].lastActivity }
    }

    mutating func startedOver(_ index: Int, _ now: UInt64) {
        saves[index].lastActivity = now
        saves[index].size = 0
        saves[index].hasTimeSet = false
        saves[index].hasJoinedWrites = false
        if case .writeFailed = saves[index].fault { saves[index].fault = nil }
    }

    /// Somebody of the lineage uses a descriptor: who is not the opener has inherited it (rules 4 and 10). It is too
    /// late to take over the work of an opener that was killed.
    mutating func note(_ process: SaveProcess?, in index: Int) {
        guard let process, process != saves[index].opener else { return }
        if case .killed = saves[index].fault, !saves[index].isRedirected { return }
        saves[index].isRedirected = true
        saves[index].members.insert(process)
    }

    mutating func markOpen(_ handle: SaveHandle) {
        writers[handle]?.isFlushed = false
        writers[handle]?.isClosed = false
    }

    mutating func confirmClosed(_ handles: Set<SaveHandle>) {
        for handle in handles where writers[handle]?.isFlushed == true { writers[handle]?.isClosed = true }
    }

    func index(of working: VersionID) -> Int? { saves.firstIndex { $0.working == working } }
    func save(on working: VersionID) -> Save? { saves.first { $0.working == working } }
}
