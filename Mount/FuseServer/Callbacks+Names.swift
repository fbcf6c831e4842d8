internal import CFuse
internal import Glibc
import SystemPackage

extension FuseSession {
    static func addNameCallbacks(_ table: inout fuse_lowlevel_ops) {
        table.lookup = { request, parent, name in
            dispatch(request) { fs, caller, request in
                fs.lookup(caller, in: NodeID(parent), name: name!, reply: Reply(request))
            }
        }
        table.forget = { request, node, count in
            dispatch(request, isAsked: false) { fs, _, request in
                fs.forget(NodeID(node), count: count)
                fuse_reply_none(request)
            }
        }
        table.forget_multi = { request, count, list in
            dispatch(request, isAsked: false) { fs, _, request in
                for item in UnsafeBufferPointer(start: list, count: count) { fs.forget(NodeID(item.ino), count: item.nlookup) }
                fuse_reply_none(request)
            }
        }
        table.mknod = { request, parent, name, mode, device in
            answerEntry(request) { (fs, caller) throws(Errno) in
                try fs.makeNode(caller, in: NodeID(parent), name: name!, mode: mode, device: device)
            }
        }
        table.mkdir = { request, parent, name, mode in
            answerEntry(request) { (fs, caller) throws(Errno) in
                try fs.makeFolder(caller, in: NodeID(parent), name: name!, mode: mode)
            }
        }
        table.symlink = { request, target, parent, name in
            answerEntry(request) { (fs, caller) throws(Errno) in
                try fs.makeSymbolicLink(caller, in: NodeID(parent), name: name!, target: target!)
            }
        }
        table.link = { request, node, parent, name in
            answerEntry(request) { (fs, caller) throws(Errno) in
                try fs.link(caller, node: NodeID(node), in: NodeID(parent), name: name!)
            }
        }
        table.unlink = { request, parent, name in
            answer(request, { (fs, caller) throws(Errno) in try fs.unlink(caller, in: NodeID(parent), name: name!) }, sendDone)
        }
        table.rmdir = { request, parent, name in
            answer(
                request, { (fs, caller) throws(Errno) in try fs.removeFolder(caller, in: NodeID(parent), name: name!) },
                sendDone)
        }
        table.rename = { request, parent, name, newParent, newName, flags in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.rename(
                        caller, from: NodeID(parent), name: name!, to: NodeID(newParent), newName: newName!, flags: flags)
                }, sendDone)
        }
        table.readlink = { request, node in
            dispatch(request) { fs, caller, request in
                do throws(Errno) {
                    try fs.readLink(caller, node: NodeID(node)) { _ = fuse_reply_readlink(request, $0) }
                } catch {
                    refuse(request, error)
                }
            }
        }
    }
}
