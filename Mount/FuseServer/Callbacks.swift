internal import CFuse
internal import Glibc
import SystemPackage

// The kernel's requests, decoded: each callback finds the file system, calls it and answers. Nothing else happens here.

/// Finds the session's file system. `body` must not keep it. `isAsked`: somebody waits for the answer, who is the caller.
@inline(__always)
func dispatch(
    _ request: fuse_req_t?, isAsked: Bool = true, _ body: (any FileSystemOperations, Caller, fuse_req_t) -> Void
) {
    let request = request!
    let context = fuse_req_ctx(request).pointee
    let caller = Caller(uid: context.uid, gid: context.gid, thread: context.pid, umask: context.umask)
    // Safe: the session outlives every request, and holds its file system in a constant.
    Unmanaged<FuseSession>.fromOpaque(fuse_req_userdata(request))._withUnsafeGuaranteedRef {
        if isAsked { $0.fileSystem.begins(caller) }
        body($0.fileSystem, caller, request)
    }
}

/// Calls and answers with `send`, or with the errno thrown.
@inline(__always)
func answer<Value>(
    _ request: fuse_req_t?, _ call: (any FileSystemOperations, Caller) throws(Errno) -> Value,
    _ send: (fuse_req_t, Value) -> Void
) {
    dispatch(request) { fileSystem, caller, request in
        do throws(Errno) {
            send(request, try call(fileSystem, caller))
        } catch {
            refuse(request, error)
        }
    }
}

func sendDone(_ request: fuse_req_t, _: Void) { fuse_reply_err(request, 0) }

/// Calls and answers with an entry, which counts one lookup of its node. A caller that is gone took nothing: the lookup is
/// taken back.
@inline(__always)
func answerEntry(_ request: fuse_req_t?, _ call: (any FileSystemOperations, Caller) throws(Errno) -> Entry) {
    dispatch(request) { fileSystem, caller, request in
        do throws(Errno) {
            let entry = try call(fileSystem, caller)
            var parameters = fuse_entry_param(entry)
            if fuse_reply_entry(request, &parameters) != 0, entry.node != .none { fileSystem.forget(entry.node, count: 1) }
        } catch {
            refuse(request, error)
        }
    }
}

func sendAttributes(_ request: fuse_req_t, _ attributes: Attributes) {
    var status = attributes.status
    fuse_reply_attr(request, &status, attributes.validity.seconds)
}

extension UnsafeMutablePointer where Pointee == fuse_file_info {
    var handle: HandleID { HandleID(pointee.fh) }
}

extension FuseSession {
    /// The table libfuse calls.
    static func callbacks() -> fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        addNameCallbacks(&table)
        addFileCallbacks(&table)
        addFolderCallbacks(&table)
        addAttributeCallbacks(&table)
        addLockCallbacks(&table)
        table.`init` = { userData, connection in
            Unmanaged<FuseSession>.fromOpaque(userData!)._withUnsafeGuaranteedRef { $0.negotiate(connection!) }
        }
        return table
    }
}
