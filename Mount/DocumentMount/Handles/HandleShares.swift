import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

/// How many files and folders users may have open. Each costs the daemon a descriptor, and a user's processes may have a thousand
/// times as many as one process: one user's would leave the others, and the daemon itself, none.
enum HandleShares {
    /// By the daemon's own limit of descriptors: open files and folders have half of it at most. `isForOne`: nobody but root and who
    /// mounted uses the mount.
    static func bounds(isForOne: Bool) -> [SharedResource: SharedResource.Bound] {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(clamping: RLIMIT_NOFILE.rawValue), &limit)
        let all = Int(clamping: limit.rlim_cur)
        // Where there are few, one program may need them.
        if all <= 4_096 {
            let (files, folders) = (all / 2, all / 4)
            return [.openFiles: .init(forUser: files, forAll: files), .openFolders: .init(forUser: folders, forAll: folders)]
        }
        func bound(_ resource: SharedResource, _ share: Int) -> SharedResource.Bound {
            let forAll = min(resource.bound.forAll, all / share * 3)
            return SharedResource.Bound(forUser: isForOne ? forAll : min(resource.bound.forUser, all / share), forAll: forAll)
        }
        return [.openFiles: bound(.openFiles, 8), .openFolders: bound(.openFolders, 32)]
    }
}

extension MountedFileSystem {
    /// Throws EMFILE or ENFILE where the caller may have no more of these open. Those that are opened at this moment do not count.
    func checkRoom(for resource: SharedResource, _ caller: Caller) throws(Errno) {
        switch shares.refusal(of: resource, for: caller.uid) {
        case .userHasMost: throw .tooManyOpenFiles
        case .allHaveMost: throw .tooManyOpenFilesInSystem
        case nil: return
        }
    }
}
