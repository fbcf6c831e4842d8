internal import CFuse
internal import Glibc
import SystemPackage

extension FuseSession {
    static func addLockCallbacks(_ table: inout fuse_lowlevel_ops) {
        table.getlk = { request, node, info, lock in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.conflictingLock(
                        caller, node: NodeID(node), handle: info!.handle, lockOwner: info!.pointee.lock_owner,
                        lock: RecordLock(lock!.pointee))
                },
                { request, found in
                    var result = flock(found)
                    fuse_reply_lock(request, &result)
                })
        }
        table.setlk = { request, node, info, lock, sleeps in
            dispatch(request) { fs, caller, request in
                fs.setLock(
                    caller, node: NodeID(node), handle: info!.handle, lockOwner: info!.pointee.lock_owner,
                    lock: RecordLock(lock!.pointee), waits: sleeps != 0, reply: Reply(request))
            }
        }
        table.flock = { request, node, info, operation in
            dispatch(request) { fs, caller, request in
                fs.lockWhole(
                    caller, node: NodeID(node), handle: info!.handle, lockOwner: info!.pointee.lock_owner,
                    operation: operation, reply: Reply(request))
            }
        }
    }
}

extension RecordLock {
    /// libfuse turns the kernel's inclusive end into a length; 0 is "to the end".
    init(_ lock: flock) {
        self.init(
            type: lock.l_type, start: Int64(lock.l_start),
            end: lock.l_len == 0 ? .max : Int64(lock.l_start) + Int64(lock.l_len) - 1, process: lock.l_pid)
    }
}

extension flock {
    init(_ lock: RecordLock) {
        self.init()
        l_type = lock.type
        l_whence = Int16(truncatingIfNeeded: SEEK_SET)
        l_start = off_t(lock.start)
        l_len = lock.end == .max ? 0 : off_t(lock.end - lock.start + 1)
        l_pid = lock.process
    }
}
