import CLinux
import FuseKernel
import Glibc
import StorePrimitives

/// What a user may reach in the store: virtual folders, queries and events show nothing else.
///
/// The kernel answers: the thread takes the user's identity and groups, gives up the capabilities that pass permissions by,
/// and asks faccessat(2).
struct Reach: Sendable {
    let store: Descriptor
    /// Whether the daemon serves others than the user it runs as.
    let actsForCallers: Bool

    /// Which of the documents the caller may use in the way of `mode` (R_OK, W_OK), in their order.
    func filter(_ paths: [StorePath], _ caller: Caller, mode: Int32 = R_OK) -> [Bool] {
        guard !paths.isEmpty else { return [] }
        guard actsForCallers, caller.uid != 0 else { return paths.map { isReachable($0, mode) } }
        let groups = ProcessFacts.status(of: caller.thread)?.groups ?? []
        _ = cl_keep_capabilities()
        _ = cl_set_groups(groups.count, groups)
        _ = cl_set_fs_identity(caller.uid, caller.gid)
        cl_forget_assumed()
        for capability in Self.passingCapabilities { _ = cl_raise_capability(capability, 0) }
        defer {
            for capability in Self.passingCapabilities { _ = cl_raise_capability(capability, 1) }
            _ = cl_set_fs_identity(geteuid(), getegid())
            _ = cl_set_groups(0, nil)
        }
        return paths.map { isReachable($0, mode) }
    }

    func may(_ caller: Caller, _ path: StorePath, _ mode: Int32) -> Bool { filter([path], caller, mode: mode)[0] }

    private func isReachable(_ path: StorePath, _ mode: Int32) -> Bool {
        (path.bytes + [0]).withUnsafeBytes {
            cl_effective_access(store.number, $0.assumingMemoryBound(to: CChar.self).baseAddress!, mode) == 0
        }
    }

    private static let passingCapabilities = [Int32(CL_CAP_DAC_OVERRIDE), Int32(CL_CAP_DAC_READ_SEARCH)]
}
