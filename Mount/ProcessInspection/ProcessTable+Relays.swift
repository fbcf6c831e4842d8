import CLinux
public import Coordination
import Glibc
import StorePrimitives

/// Which programs serve files to others: their handles are each a save of their own.
extension ProcessTable {
    /// Whether a thread is of a relay: a program with such a name, or one that `noteReopening` has recognised. As much as
    /// `process(of:)`.
    public func isRelay(_ thread: pid_t) -> Bool { lookUp(thread)?.isRelay ?? false }

    /// A thread has opened a file by a descriptor that its process keeps (/proc/self/fd), as servers do that were handed their
    /// clients' files. If the process also has a FUSE device open, through which it then serves them, it is a relay from now on;
    /// what its other threads open within 250 ms may still count as a usual program's.
    ///
    /// 3 µs for each descriptor, once for a process.
    public func noteReopening(by thread: pid_t) {
        guard let process = process(of: thread), reopeners.isNew(process) else { return }
        let isServer = hasDevice(process.id)
        reopeners.note(process, isServer: isServer)
        if isServer { forget(thread) }
    }

    /// The relays that were recognised by what they do.
    public var recognisedRelays: [SaveProcess] { reopeners.servers }

    /// Whether one of a process's descriptors is on /dev/fuse. False if they are not shown.
    private func hasDevice(_ process: pid_t) -> Bool {
        guard !proc.isInExec(process) else { return false }
        var isFound = false
        _ = ProcFolder.withPath(process, "fd") { path in
            proc.numbers(in: path) { number in
                isFound = isDevice(process, number)
                return !isFound
            }
        }
        return isFound
    }

    private func isDevice(_ process: pid_t, _ number: Int32) -> Bool {
        let device: StaticString = "/dev/fuse"
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            guard let path = buffer.baseAddress else { return false }
            // A longer path is cut.
            let length = ProcFolder.withPath(process, "fd", number) {
                cl_readlinkat(proc.folder.number, $0, path.assumingMemoryBound(to: CChar.self), buffer.count)
            }
            return length == device.utf8CodeUnitCount && memcmp(path, device.utf8Start, length) == 0
        }
    }
}

/// Processes that have opened files by their own descriptors, and whether each serves a FUSE file system.
final class Reopeners: Sendable {
    /// With more, all are looked at again.
    private static let most = 256
    /// Leaf.
    private let known = Locked<[SaveProcess: Bool]>([:])

    func isNew(_ process: SaveProcess) -> Bool { known.withLock { $0[process] == nil } }
    func isServer(_ process: SaveProcess) -> Bool { known.withLock { $0[process] ?? false } }
    var servers: [SaveProcess] { known.withLock { known in known.filter(\.value).map(\.key) } }

    func note(_ process: SaveProcess, isServer: Bool) {
        known.withLock { known in
            if known.count >= Self.most { known = known.filter(\.value) }
            if known.count >= Self.most { known = [:] }
            known[process] = isServer
        }
    }
}
