import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// How many files and folders users may have open, in snapshots, and known though removed. Each costs the daemon a descriptor, and a
/// user's processes may have a thousand times as many as one process: one user's would leave the others, and the daemon itself, none.
enum HandleShares {
    /// By the daemon's own limit of descriptors: open files and folders have half of it at most, snapshots a quarter, removed files a
    /// sixteenth; an eighth is the folder cache's. `isForOne`: nobody but root and who mounted uses the mount.
    static func bounds(isForOne: Bool) -> [BoundedResource: BoundedResource.Bound] {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(clamping: RLIMIT_NOFILE.rawValue), &limit)
        let all = Int(clamping: limit.rlim_cur)
        // Where there are few, one program may need them.
        if all <= 4_096 {
            func bound(_ share: Int) -> BoundedResource.Bound { .init(forUser: max(1, all / share), forAll: max(1, all / share)) }
            return [.openFiles: bound(2), .openFolders: bound(4), .snapshotFiles: bound(4), .removedFiles: bound(16)]
        }
        func bound(_ resource: BoundedResource, _ share: Int, times: Int) -> BoundedResource.Bound {
            let forAll = min(resource.bound.forAll, all / share * times)
            return BoundedResource.Bound(forUser: isForOne ? forAll : min(resource.bound.forUser, all / share), forAll: forAll)
        }
        return [
            .openFiles: bound(.openFiles, 8, times: 3), .openFolders: bound(.openFolders, 32, times: 3),
            .snapshotFiles: bound(.snapshotFiles, 8, times: 2), .removedFiles: bound(.removedFiles, 32, times: 2),
        ]
    }
}

extension MountedFileSystem {
    /// Throws EMFILE or ENFILE where the caller may have no more of these open. Those that are opened at this moment do not count.
    func checkRoom(for resource: BoundedResource, _ caller: Caller) throws(Errno) {
        switch shares.refusal(of: resource, for: caller.uid) {
        case .userHasMost: throw .tooManyOpenFiles
        case .allHaveMost: throw .tooManyOpenFilesInSystem
        case nil: return
        }
    }
}
