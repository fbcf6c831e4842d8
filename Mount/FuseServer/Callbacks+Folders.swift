internal import CFuse
internal import Glibc
import SystemPackage

extension FuseSession {
    static func addFolderCallbacks(_ table: inout fuse_lowlevel_ops) {
        table.opendir = { request, node, info in
            dispatch(request) { fs, caller, request in
                fs.openFolder(caller, node: NodeID(node), reply: Reply(request))
            }
        }
        table.readdir = { request, node, size, offset, info in
            list(request, node, size, offset, info!.handle, plus: false)
        }
        table.readdirplus = { request, node, size, offset, info in
            list(request, node, size, offset, info!.handle, plus: true)
        }
        table.releasedir = { request, _, info in
            dispatch(request, isAsked: false) { fs, _, request in
                fs.releaseFolder(info!.handle)
                fuse_reply_err(request, 0)
            }
        }
        table.fsyncdir = { request, _, dataOnly, info in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.synchronizeFolder(caller, handle: info!.handle, dataOnly: dataOnly != 0)
                }, sendDone)
        }
        table.statfs = { request, node in
            answer(
                request, { (fs, caller) throws(Errno) in try fs.statistics(caller, node: NodeID(node)) },
                { request, statistics in
                    var copy = statistics
                    fuse_reply_statfs(request, &copy)
                })
        }
    }

}

private func list(
    _ request: fuse_req_t?, _ node: fuse_ino_t, _ size: Int, _ offset: off_t, _ handle: HandleID, plus: Bool
) {
    dispatch(request) { fs, caller, request in
        var buffer = DirectoryBuffer(request: request, capacity: size)
        do throws(Errno) {
            try fs.readFolder(
                caller, node: NodeID(node), handle: handle, offset: Int64(offset), plus: plus, into: &buffer)
            buffer.send()
        } catch {
            // Entries already added count as lookups: send them, and the error comes again with the next request.
            if buffer.isEmpty { refuse(request, error) } else { buffer.send() }
        }
    }
}
