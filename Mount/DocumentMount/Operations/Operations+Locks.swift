import Coordination
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func conflictingLock(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, lock: RecordLock)
        throws(Errno) -> RecordLock
    {
        guard let range = LockRange(start: lock.start, end: lock.end), let mode = LockMode(recordType: lock.type)
        else { throw .invalidArgument }
        let asked = AdvisoryLock.record(
            mode, range, of: LockedDocument(table.node(node).lockKey), owner: LockOwner(lockOwner),
            handle: LockHandle(handle.rawValue), pid: lock.process)
        guard let found = locks.firstConflict(with: asked) else {
            var none = lock
            none.type = Int16(truncatingIfNeeded: F_UNLCK)
            return none
        }
        return RecordLock(
            type: Int16(clamping: found.mode == .shared ? F_RDLCK : F_WRLCK), start: found.range.start, end: found.range.end,
            process: found.pid)
    }

    func setLock(
        _ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, lock: RecordLock, waits: Bool,
        reply: consuming Reply<Done>
    ) {
        guard let range = LockRange(start: lock.start, end: lock.end) else { return reply.fail(.invalidArgument) }
        let (document, owner) = (LockedDocument(table.node(node).lockKey), LockOwner(lockOwner))
        if lock.type == Int16(truncatingIfNeeded: F_UNLCK) {
            do throws(Errno) {
                try locks.unlock(range, of: owner, .record, on: document, for: caller.uid)
                return reply.succeed()
            } catch {
                return reply.fail(error)
            }
        }
        guard let mode = LockMode(recordType: lock.type) else { return reply.fail(.invalidArgument) }
        let asked = AdvisoryLock.record(
            mode, range, of: document, owner: owner, handle: LockHandle(handle.rawValue), pid: lock.process, user: caller.uid)
        locks.request(asked, waits: waits, reply)
    }

    func lockWhole(
        _ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, operation: Int32, reply: consuming Reply<Done>
    ) {
        let (document, owner) = (LockedDocument(table.node(node).lockKey), LockOwner(lockOwner))
        let mode: LockMode
        switch operation & ~LOCK_NB {
        case LOCK_UN:
            locks.unlockWhole(document, of: owner)
            return reply.succeed()
        case LOCK_SH: mode = .shared
        case LOCK_EX: mode = .exclusive
        default: return reply.fail(.invalidArgument)
        }
        let asked = AdvisoryLock.whole(
            mode, of: document, owner: owner, handle: LockHandle(handle.rawValue), pid: caller.thread, user: caller.uid)
        locks.request(asked, waits: operation & LOCK_NB == 0, reply)
    }
}

extension LockMode {
    fileprivate init?(recordType: Int16) {
        switch Int32(recordType) {
        case F_RDLCK: self = .shared
        case F_WRLCK: self = .exclusive
        default: return nil
        }
    }
}
