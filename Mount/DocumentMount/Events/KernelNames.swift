import CLinux
import FuseServer
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Compares what the kernel has cached under a name of the mount with what the store has there.
///
/// The kernel changes its own names after RENAME, UNLINK, MKNOD and the like were answered, with the folder locked (d_move, d_delete and
/// d_instantiate); a lookup of a name that it has cached takes no lock. A program that looks at a name as soon as the daemon has changed it may
/// therefore find what stood there before: nothing, where a document was moved to.
///
/// A process of its own looks at the mount, which the daemon may not use. Both look at the kernel's cache alone (`cl_open_cached`), and wait
/// for no disk and no lock.
final class KernelNames: Sendable {
    private let store: Descriptor
    private let replayer: Replayer

    init(store: Descriptor, log: Logger) {
        self.store = store
        replayer = Replayer(log: log, timeout: 300_000_000, purpose: "events may be told before the kernel shows what they tell of")
    }

    func start(at place: MountPlace, _ start: @escaping MountConfiguration.StartReplay) { replayer.start(at: place, start) }

    /// A name, and the inode that the kernel is to show there.
    struct Expected {
        let change: KernelCatchUp.Change
        /// 0: nothing.
        fileprivate let inode: UInt64
    }

    /// Bytes of paths that are compared in one call.
    static let most = Int(CL_REPLAY_MOST)

    /// Looks a changed name up in the store's cache. Nil if its inode is not known, and for a name on another file system, which may
    /// never answer. Waits for no disk.
    func expected(_ change: KernelCatchUp.Change) -> Expected? {
        var inode: UInt64 = 0
        let error = change.path.withCString { cl_cached_inode(store.number, $0, &inode) }
        if error == 0 { return Expected(change: change, inode: inode) }
        // The kernel has a removed name cached no more, as a rule.
        guard error == -ENOENT || error == -EAGAIN && change.isGone else { return nil }
        let parent = change.path.parent
        var folder: UInt64 = 0
        guard parent.isRoot || parent.withCString({ cl_cached_inode(store.number, $0, &folder) }) == 0 else { return nil }
        return Expected(change: change, inode: 0)
    }

    /// Whether the name was not changed again since, of which another event tells.
    func isStill(_ expected: Expected) -> Bool { self.expected(expected.change)?.inode == expected.inode }

    /// The first that the kernel does not show yet; nil if it shows all, or as far as that is not known. Costs some 50 µs.
    func firstBehind(of all: [Expected]) -> Int? {
        guard !all.isEmpty, case .differs(let index)? = replayer.outcome(of: .compare(all.map { ($0.change.path.bytes, $0.inode) })),
            index < all.count
        else { return nil }
        return index
    }

    /// Ends the process, and with it a wait for it. Again: does nothing.
    func stop() { replayer.stop() }

    /// After `stop`, and when nobody asks any more.
    func collect() { replayer.collect() }
}
