import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    /// The inode flags and project ids that lsattr, chattr and quota tools ask for; other requests have no meaning here.
    func control(_ caller: Caller, node: NodeID, request: UInt32, input: UnsafeRawBufferPointer, outputSize: Int)
        throws(Errno) -> [UInt8]
    {
        let node = table.node(node)
        guard node.isRegular || node.isFolder else { throw .inappropriateIOCTLForDevice }
        guard let known = InodeRequest(rawValue: request) else { throw .inappropriateIOCTLForDevice }
        let descriptor = try locator.opened(node, flags: O_RDONLY)
        var argument = [UInt8](repeating: 0, count: max(known.size, outputSize))
        for (index, byte) in input.prefix(argument.count).enumerated() { argument[index] = byte }
        let result = argument.withUnsafeMutableBytes { cl_ioctl_pointer(descriptor.number, UInt(request), $0.baseAddress!) }
        _ = try check(result)
        if known.answers { return Array(argument.prefix(outputSize)) }
        // Its status change time is another; a folder may take changes again (chattr -a).
        session.current?.notifier.attributesChangedNow(of: table.id(of: node))
        if node.isFolder { saves.store.leftNames.removeAgain() }
        return []
    }

    /// ioctl_iflags(2), FS_IOC_GETFLAGS and its kin, with the numbers of a 64-bit system.
    private enum InodeRequest: UInt32 {
        case getFlags = 0x8008_6601
        case setFlags = 0x4008_6602
        case getExtended = 0x801c_581f
        case setExtended = 0x401c_5820

        var size: Int {
            switch self {
            case .getFlags, .setFlags: 8
            case .getExtended, .setExtended: 28
            }
        }
        var answers: Bool { self == .getFlags || self == .getExtended }
    }
}
