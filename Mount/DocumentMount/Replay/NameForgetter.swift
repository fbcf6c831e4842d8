import FuseServer
import Logging
import StorePrimitives
import Synchronization

/// Has the kernel forget names and contents by a process of its own that looks them up, or opens them, as any app does.
///
/// The kernel's own notices (FUSE_NOTIFY_INVAL_ENTRY, FUSE_NOTIFY_INVAL_INODE) do the same, but the thread that sends one waits for the
/// folder's lock, or the pages, with the device open, and an app may have these until its request is answered: killed meanwhile, the
/// daemon would never close the device, and neither of the two would ever end. This process has no descriptor of the device.
final class NameForgetter: Sendable {
    private enum Subject {
        case name(EntryName, in: NodeID)
        case content(NodeID)
    }
    private struct Invalidation {
        let subject: Subject
        var isAskedFor = false
    }

    /// Apps hold a folder's lock for as long as an open waits for a claim.
    private static let timeout: Int64 = 15_000_000_000

    private let replayer: Replayer
    /// Leaf.
    private let current = Mutex<Invalidation?>(nil)

    init(log: Logger) {
        replayer = Replayer(
            log: log, timeout: Self.timeout, purpose: "the kernel is told of changed names by a thread that waits for apps")
    }

    func start(at place: MountPlace, _ start: @escaping MountConfiguration.StartReplay) {
        replayer.start(at: place, start)
    }

    // MARK: - For the notifier: on one thread at a time

    /// Waits for who holds the folder's lock. False if it could not be done.
    /// - Parameter path: the folder's, below the mount's root.
    func forget(_ name: EntryName, in folder: NodeID, at path: [UInt8]) -> Bool {
        let path = path.isEmpty ? Array(name.bytes) : path + [UInt8(ascii: "/")] + name.bytes
        return isDone(.revalidate(path), .name(name, in: folder))
    }

    /// Waits for pages that are being read. False if it could not be done.
    func dropContent(of file: NodeID, at path: [UInt8]) -> Bool { isDone(.open(path), .content(file)) }

    private func isDone(_ operation: ReplayProcess.Operation, _ subject: Subject) -> Bool {
        current.withLock { $0 = Invalidation(subject: subject) }
        let isDone = replayer.replay(operation)
        // The path may lead to something else by now.
        let isAskedFor = current.withLock { $0.take()?.isAskedFor ?? false }
        return isDone == true && isAskedFor
    }

    // MARK: - Requests of the process

    @inline(__always)
    func isCaller(_ caller: Caller) -> Bool { replayer.isCaller(caller) }

    /// Whether the process, which looks a name up, is to have the kernel forget it: it is not there then.
    func isForgetting(_ name: BorrowedName, in folder: Node, _ table: NodeTable) -> Bool {
        isAskedFor { subject in
            if case .name(let expected, let parent) = subject { parent == table.id(of: folder) && expected.matches(name) } else { false }
        }
    }

    /// Whether the process, which opens a file, is to have the kernel drop its content.
    func isDropping(_ file: Node, _ table: NodeTable) -> Bool {
        isAskedFor { if case .content(let node) = $0 { node == table.id(of: file) } else { false } }
    }

    private func isAskedFor(_ isMeant: (Subject) -> Bool) -> Bool {
        current.withLock { current in
            guard let invalidation = current, isMeant(invalidation.subject) else { return false }
            current?.isAskedFor = true
            return true
        }
    }

    // MARK: - End

    /// Ends the process, and with it a wait for it. Again: does nothing.
    func stop() { replayer.stop() }

    /// After `stop`, and when nothing is to be forgotten any more.
    func collect() { replayer.collect() }
}

extension Notifier {
    /// The name may stand for something else now, or for nothing.
    ///
    /// - Parameter done: see `entryChanged`.
    func nameChanged(_ name: EntryName, in folder: Node, _ table: NodeTable, done: Done? = nil) {
        entryChanged(in: table.id(of: folder), name: Array(name.bytes), path: { folder.path?.bytes }, done: done)
    }

    /// A regular file's content, which the kernel writes out first where apps have stored something through mappings.
    func contentsChanged(ofFile file: Node, _ table: NodeTable, waitingAtMost seconds: Double? = nil) {
        contentsChanged(ofFile: table.id(of: file), path: { file.path?.bytes }, waitingAtMost: seconds)
    }
}
