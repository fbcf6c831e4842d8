internal import CFuse
internal import CLinux
internal import Glibc
internal import StorePrimitives
import SystemPackage

/// FUSE over io_uring (Linux 6.14): a queue for each processor, served by threads bound to it. A request is worked on where the app
/// runs, so that no other processor has to be woken for it: measured 11 us a request where read(2) and write(2) of the device take
/// 20 to 60. FORGET and INTERRUPT still come by the device.
///
/// No answer may wait for another process here, so locks are left to the kernel. Tried with Linux 6.18: a request that finds no
/// free place is queued, and a place that is registered then does not fetch it; only the next answer on that queue does. When
/// all places of a queue waited for locks, so did everything behind them. And a signal that comes before the request has reached
/// the daemon is lost.
final class KernelRings: Sendable {
    /// Processors that run, and those that may be added: the kernel has a queue for each.
    private let online: [Int]
    private let absent: [Int]
    private let threadsPerQueue: Int
    private let capacity: Int

    /// Nil where the kernel has no such rings or may not be asked for them. As root it turns them on, for servers that ask as
    /// this one does: `enable_uring` of the fuse module is off by default.
    ///
    /// - Parameter capacity: the largest read or write, in bytes.
    init?(threads: Int, capacity: Int) {
        guard Self.areEnabled() || Self.enable(), let ring = try? RingServer.openRing(),
            let possible = Self.processors("possible"), let online = Self.processors("online")
        else { return nil }
        cl_ring_close(ring)
        // As many queues as processors, numbered from 0 even where the processors' numbers have gaps.
        self.online = online.filter { $0 < possible.count }
        absent = (0..<possible.count).filter { !online.contains($0) }
        threadsPerQueue = max(4, threads / max(1, online.count))
        self.capacity = capacity
    }

    /// The threads' servers, to be run once the kernel has agreed (in INIT). It sends no request before each queue has a place.
    func servers(_ session: FuseSession) -> [RingServer] {
        var servers: [RingServer] = []
        for queue in online {
            for _ in 0..<threadsPerQueue { servers.append(RingServer(session, queues: [queue], capacity: capacity)) }
        }
        if !absent.isEmpty { servers.append(RingServer(session, queues: absent, capacity: capacity)) }
        return servers
    }

    // MARK: Answers

    /// Takes an answer to the request that the calling thread works on. Nil if it is to another, or a notice. Returns the answer's
    /// length.
    static func take(_ vector: UnsafePointer<iovec>, count: Int) -> Int? {
        let unique = vector[0].iov_base.loadUnaligned(as: quire_out_header.self).unique
        guard let current = RingRequest.current, current.unique == unique else { return nil }
        return current.answer(vector, count: count)
    }

    // MARK: Whether the system has them

    private static let switchPath = "/sys/module/fuse/parameters/enable_uring"

    private static func areEnabled() -> Bool {
        guard let file = try? Descriptor(opening: switchPath, flags: O_RDONLY) else { return false }
        var letter: UInt8 = 0
        return cl_read(file.number, &letter, 1) == 1 && letter == UInt8(ascii: "Y")
    }

    private static func enable() -> Bool {
        guard geteuid() == 0, let file = try? Descriptor(opening: switchPath, flags: O_WRONLY) else { return false }
        return cl_write(file.number, "Y", 1) == 1 && areEnabled()
    }

    /// A list of processors: `0-1,4` (Documentation/admin-guide/cputopology.rst).
    private static func processors(_ list: String) -> [Int]? {
        guard let file = try? Descriptor(opening: "/sys/devices/system/cpu/" + list, flags: O_RDONLY) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let length = cl_read(file.number, &bytes, bytes.count)
        guard length > 0 else { return nil }
        let text = String(decoding: bytes.prefix(length), as: UTF8.self).filter { !$0.isWhitespace }
        return text.split(separator: ",").flatMap { range -> [Int] in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last else { return [] }
            return Array(first...last)
        }
    }
}
