import CLinux
import FuseKernel
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Compares what the kernel has cached under a name of the mount with what the store has there.
///
/// The kernel changes its own names after RENAME, UNLINK, MKNOD and the like were answered, with the folder locked (d_move, d_delete and
/// d_instantiate); a lookup of a name that it has cached takes no lock. Who looks at a name as soon as it was changed may
/// therefore find what stood there before: nothing, where a document was moved to.
///
/// A process of its own looks, since the daemon may not use its own mount. It looks at what is cached alone (RESOLVE_CACHED, openat2(2),
/// Linux 5.12), so it sends no request and waits for no lock.
final class KernelNames: Sendable {
    private let store: Descriptor
    private let device: dev_t
    private let repeater: Repeater

    init(store: Descriptor, _ status: cl_status, log: Logger) {
        self.store = store
        device = status.st.st_dev
        repeater = Repeater(log: log, patience: 1_000_000_000, purpose: "events may be told before the kernel shows what they tell of")
    }

    func start(at place: MountPlace, _ start: @escaping MountConfiguration.StartRepeating) { repeater.start(at: place, start) }

    /// Whether the kernel shows something else there than the store has. False where that is not known. Costs some 50 µs.
    func isBehind(at path: StorePath) -> Bool {
        guard let inode = inode(at: path) else { return false }
        return repeater.repeat(.compare(path.bytes, inode: inode)) == false
    }

    /// 0: nothing is there. Nil: not known, or of another file system, whose numbers the mount does not show.
    private func inode(at path: StorePath) -> UInt64? {
        var status = cl_status()
        do throws(Errno) {
            let held = try path.held(in: store)
            _ = try check(cl_statx_fd(held.number, &status))
        } catch {
            return error == .noSuchFileOrDirectory ? 0 : nil
        }
        return status.st.st_dev == device ? UInt64(status.st.st_ino) : nil
    }

    /// Ends the process, and with it a wait for it. Again: does nothing.
    func stop() { repeater.stop() }

    /// After `stop`, and when nobody asks any more.
    func collect() { repeater.collect() }
}
