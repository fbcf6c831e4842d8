internal import CFuse
internal import CLinux
internal import Glibc
internal import StorePrimitives
internal import Synchronization
internal import SystemPackage

/// One thread that serves a queue of the kernel's ring: the requests of apps that run on one processor, on that processor. Or, with
/// one place in each, the queues of processors that are not there, which the kernel wants served as well.
///
/// It holds one place in its queue, so that a thread held up by a slow disk holds up one request. A request that is parked keeps its
/// place until it is answered: then the thread registers another, and what answers leaves the parked one in the mailbox, since only
/// this thread may use its ring.
final class RingServer: @unchecked Sendable {
    private let session: FuseSession
    private let queues: [UInt16]
    private let capacity: Int
    private let bell: Descriptor
    private let mailbox = Mutex<[RingRequest]>([])
    private let works = Atomic<Bool>(false)

    // The thread's own.
    private var ring: OpaquePointer!
    private var places: [RingRequest] = []
    /// How many places the kernel has.
    private var offered = 0

    private static let bellTag: UInt64 = .max

    /// Throws .tooManyOpenFiles.
    init(_ session: FuseSession, queues: [Int], capacity: Int) throws(Errno) {
        self.session = session
        self.queues = queues.map { UInt16($0) }
        self.capacity = capacity
        bell = Descriptor(owning: try check(cl_eventfd()))
    }

    /// Whether a request is being worked on.
    var isWorking: Bool { works.load(ordering: .relaxed) }

    /// Serves until the mount is gone or the session is told to end. Throws what the kernel refused the ring or the place with.
    func run() throws(Errno) {
        // Where that is not this process's processor, the queue is served all the same.
        if queues.count == 1 { _ = cl_bind_to_processor(Int32(queues[0])) }
        ring = try Self.openRing()
        defer { cl_ring_close(ring) }
        for queue in queues { try addPlace(in: queue) }
        try listen()
        while !session.isEnding {
            let result = cl_ring_submit_and_wait(ring)
            if result < 0 && result != -EINTR { throw Errno(rawValue: -result) }
            var (tag, outcome): (UInt64, Int32) = (0, 0)
            while cl_ring_next(ring, &tag, &outcome) == 1 {
                if tag == Self.bellTag {
                    try deliverAnswers()
                } else if outcome >= 0 {
                    try serve(places[Int(tag)], tag)
                } else {
                    // The mount is gone.
                    if outcome == -ENOTCONN || outcome == -ECONNABORTED { return }
                    throw Errno(rawValue: -outcome)
                }
            }
        }
    }

    private func serve(_ place: RingRequest, _ tag: UInt64) throws(Errno) {
        offered -= 1
        var buffer = place.received()
        works.store(true, ordering: .relaxed)
        place.working { session.process(&buffer) }
        works.store(false, ordering: .relaxed)
        switch place.progress {
        case .answered:
            try place.commit(ring, device: session.device, tag: tag)
            offered += 1
        case .parked:
            if offered == 0 { try addPlace(in: queues[0]) }
        case .working:
            place.fail(.ioError)
            try place.commit(ring, device: session.device, tag: tag)
            offered += 1
        }
    }

    private func addPlace(in queue: UInt16) throws(Errno) {
        let place = RingRequest(queue: queue, capacity: capacity)
        places.append(place)
        try place.register(ring, device: session.device, tag: UInt64(places.count - 1))
        place.owner = self
        offered += 1
    }

    // MARK: Parked requests

    /// A parked request was answered, on any thread.
    func answered(_ place: RingRequest) {
        mailbox.withLock { $0.append(place) }
        _ = cl_eventfd_signal(bell.number)
    }

    private func listen() throws(Errno) { _ = try check(cl_ring_poll(ring, bell.number, Self.bellTag)) }

    private func deliverAnswers() throws(Errno) {
        var count: UInt64 = 0
        _ = cl_read(bell.number, &count, 8)
        let answered = mailbox.withLock { mailbox in
            defer { mailbox = [] }
            return mailbox
        }
        for place in answered {
            guard let tag = places.firstIndex(where: { $0 === place }) else { continue }
            try place.commit(ring, device: session.device, tag: UInt64(tag))
            offered += 1
        }
        try listen()
    }

    /// As many as places that are parked at once before it submits in between.
    private static let submissions: UInt32 = 16

    static func openRing() throws(Errno) -> OpaquePointer {
        var ring: OpaquePointer?
        _ = try check(cl_ring_open(submissions, &ring))
        return ring!
    }
}
