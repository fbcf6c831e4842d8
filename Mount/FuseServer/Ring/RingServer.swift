internal import CFuse
internal import CLinux
internal import Glibc
internal import StorePrimitives
internal import Synchronization
import SystemPackage

/// One thread that serves a queue of the kernel's ring: the requests of apps that run on one processor, on that processor. Or, with
/// one place in each, the queues of processors that are not there, which the kernel wants served as well.
///
/// It holds one place in its queue, so that a thread held up by a slow disk holds up one request.
final class RingServer: Sendable {
    private let session: FuseSession
    private let queues: [UInt16]
    private let capacity: Int
    private let works = Atomic<Bool>(false)

    init(_ session: FuseSession, queues: [Int], capacity: Int) {
        self.session = session
        self.queues = queues.map { UInt16(clamping: $0) }
        self.capacity = capacity
    }

    /// Whether a request is being worked on.
    var isWorking: Bool { works.load(ordering: .relaxed) }

    /// Serves until the mount is gone or the session is told to end. Throws what the kernel refused the ring or a place with.
    func run() throws(Errno) {
        // Where that is not this process's processor, the queue is served all the same.
        if queues.count == 1 { _ = cl_bind_to_processor(Int32(queues[0])) }
        let ring = try Self.openRing()
        var places: [RingRequest] = []
        defer {
            // The kernel may write into a place until the ring is gone: they outlive it.
            withExtendedLifetime(places) { cl_ring_close(ring) }
        }
        for queue in queues {
            let place = try RingRequest(queue: queue, capacity: capacity)
            try place.register(ring, device: session.device, tag: UInt64(places.count))
            places.append(place)
        }
        while !session.isEnding {
            let result = cl_ring_submit_and_wait(ring)
            if result < 0 && result != -EINTR { throw Errno(rawValue: -result) }
            var (tag, outcome): (UInt64, Int32) = (0, 0)
            while cl_ring_next(ring, &tag, &outcome) == 1 {
                // The mount is gone.
                if outcome == -ENOTCONN || outcome == -ECONNABORTED { return }
                if outcome < 0 { throw Errno(rawValue: -outcome) }
                let place = places[Int(clamping: tag)]
                serve(place)
                try place.commit(ring, device: session.device, tag: tag)
            }
        }
    }

    private func serve(_ place: RingRequest) {
        var buffer = place.received()
        works.store(true, ordering: .relaxed)
        place.working { session.process(&buffer) }
        works.store(false, ordering: .relaxed)
    }

    static func openRing() throws(Errno) -> OpaquePointer {
        var ring: OpaquePointer?
        _ = try check(cl_ring_open(submissions, &ring))
        return ring!
    }

    /// As many as wait to be submitted at once; more are submitted in between.
    private static let submissions: UInt32 = 8
}
