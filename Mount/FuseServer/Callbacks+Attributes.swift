internal import CFuse
internal import Glibc
import SystemPackage

extension FuseSession {
    static func addAttributeCallbacks(_ table: inout fuse_lowlevel_ops) {
        table.getattr = { request, node, info in
            answer(
                request,
                { (fs, caller) throws(Errno) in try fs.attributes(caller, of: NodeID(node), handle: info?.handle) },
                sendAttributes)
        }
        table.setattr = { request, node, status, valid, info in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.change(
                        caller, node: NodeID(node), handle: info?.handle, to: AttributeRequest(status!.pointee, valid: valid))
                }, sendAttributes)
        }
        table.getxattr = { request, node, name, size in
            withValueBuffer(request, size) { (fs, caller, buffer) throws(Errno) in
                try fs.extendedAttribute(caller, of: NodeID(node), name: name!, into: buffer)
            }
        }
        table.listxattr = { request, node, size in
            withValueBuffer(request, size) { (fs, caller, buffer) throws(Errno) in
                try fs.extendedAttributeNames(caller, of: NodeID(node), into: buffer)
            }
        }
        table.setxattr = { request, node, name, value, size, flags in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.setExtendedAttribute(
                        caller, of: NodeID(node), name: name!, value: UnsafeRawBufferPointer(start: value, count: size),
                        flags: flags)
                }, sendDone)
        }
        table.removexattr = { request, node, name in
            answer(
                request,
                { (fs, caller) throws(Errno) in try fs.removeExtendedAttribute(caller, of: NodeID(node), name: name!) },
                sendDone)
        }
        table.ioctl = { request, node, command, _, _, flags, input, inputSize, outputSize in
            answer(
                request,
                { (fs, caller) throws(Errno) in
                    try fs.control(
                        caller, node: NodeID(node), request: command,
                        input: UnsafeRawBufferPointer(start: input, count: inputSize), outputSize: outputSize)
                }, { request, bytes in _ = bytes.withUnsafeBytes { fuse_reply_ioctl(request, 0, $0.baseAddress, $0.count) } })
        }
    }
}

/// Answers a question of the getxattr form: size 0 asks for the length, else the value must fit. Small values (nearly all)
/// are read on the stack.
private func withValueBuffer(
    _ request: fuse_req_t?, _ size: Int,
    _ call: (any FileSystemOperations, Caller, UnsafeMutableRawBufferPointer) throws(Errno) -> Int
) {
    dispatch(request) { fs, caller, request in
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
            do throws(Errno) {
                let length = try call(fs, caller, buffer)
                if size == 0 {
                    fuse_reply_xattr(request, length)
                } else {
                    fuse_reply_buf(request, buffer.baseAddress!.assumingMemoryBound(to: CChar.self), length)
                }
            } catch {
                refuse(request, error)
            }
        }
    }
}

extension AttributeRequest {
    init(_ status: stat, valid: Int32) {
        func has(_ bit: Int32) -> Bool { valid & bit != 0 }
        if has(FUSE_SET_ATTR_MODE) { mode = status.st_mode }
        if has(FUSE_SET_ATTR_UID) { uid = status.st_uid }
        if has(FUSE_SET_ATTR_GID) { gid = status.st_gid }
        if has(FUSE_SET_ATTR_SIZE) { size = status.st_size }
        if has(FUSE_SET_ATTR_ATIME_NOW) {
            accessed = .now
        } else if has(FUSE_SET_ATTR_ATIME) {
            accessed = .exactly(status.st_atim)
        }
        if has(FUSE_SET_ATTR_MTIME_NOW) {
            modified = .now
        } else if has(FUSE_SET_ATTR_MTIME) {
            modified = .exactly(status.st_mtim)
        }
    }
}
