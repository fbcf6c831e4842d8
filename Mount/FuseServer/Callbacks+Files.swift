internal import CFuse
internal import Glibc
import SystemPackage

extension FuseSession {
    static func addFileCallbacks(_ table: inout fuse_lowlevel_ops) {
        table.open = { request, node, info in
            dispatch(request) { fs, caller, request in
                fs.open(caller, node: NodeID(node), flags: info!.pointee.flags, reply: Reply(request))
            }
        }
        table.create = { request, parent, name, mode, info in
            dispatch(request) { fs, caller, request in
                guard name![0] != CChar(UInt8(ascii: "/")) else {
                    // O_TMPFILE, see KernelChannel.
                    return fs.createTemporary(
                        caller, in: NodeID(parent), mode: mode, flags: info!.pointee.flags, reply: Reply(request))
                }
                fs.create(
                    caller, in: NodeID(parent), name: name!, mode: mode, flags: info!.pointee.flags, reply: Reply(request))
            }
        }
        table.read = { request, _, size, offset, info in
            dispatch(request) { fs, caller, request in
                fs.read(caller, handle: info!.handle, at: offset, count: size, reply: Reply(request))
            }
        }
        table.write = { request, _, data, count, offset, info in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    let bytes = UnsafeRawBufferPointer(start: data, count: count)
                    return try fs.write(caller, handle: info!.handle, at: offset, flags: info!.pointee.flags, bytes)
                }, { fuse_reply_write($0, $1) })
        }
        table.flush = { request, node, info in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.flush(caller, node: NodeID(node), handle: info!.handle, lockOwner: info!.pointee.lock_owner)
                }, sendDone)
        }
        table.release = { request, _, info in
            dispatch(request, isAsked: false) { fs, _, request in
                // The kernel waits for no answer to RELEASE.
                fs.release(info!.handle)
                fuse_reply_err(request, 0)
            }
        }
        table.fsync = { request, _, dataOnly, info in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.synchronize(caller, handle: info!.handle, dataOnly: dataOnly != 0)
                }, sendDone)
        }
        table.fallocate = { request, _, mode, offset, length, info in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.allocate(caller, handle: info!.handle, mode: mode, offset: offset, length: length)
                }, sendDone)
        }
        table.lseek = { request, _, offset, whence, info in
            answer(
                request,
                { (fs, caller) throws(Errno) in try fs.seek(caller, handle: info!.handle, offset: offset, whence: whence) },
                { fuse_reply_lseek($0, $1) })
        }
        table.copy_file_range = { request, _, offset, info, _, newOffset, newInfo, count, flags in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.copyRange(
                        caller, from: info!.handle, at: offset, to: newInfo!.handle, at: newOffset, count: count,
                        flags: UInt32(bitPattern: flags))
                }, { fuse_reply_write($0, $1) })
        }
    }
}
