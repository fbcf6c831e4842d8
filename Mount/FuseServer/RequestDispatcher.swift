internal import CLinux
internal import Glibc
internal import StorePrimitives
internal import Synchronization

/// Which of the serving threads read requests.
///
/// Many readers are no help: each request would wake another one, with cold caches. Two hold a seat and take turns: while one
/// ends its work the other is woken beside the app, which measured 1.5 to 2.5 times as fast as one reader when the scheduler
/// spreads them over the processors, and a fifth slower when it does not. A thread gives its seat away before work that is
/// known to wait (fsync). A pulse, 5 ms apart while there is anything to do, takes the seat away from a thread held up in one
/// request, and adds seats, up to one for each core, while requests queue up. So a slow disk holds up nobody for more than
/// 10 ms, and many clients get all cores.
final class RequestDispatcher: @unchecked Sendable {
    /// One serving thread, as the pulse sees it.
    final class Slot: Sendable {
        /// Odd while a request is worked on; each start and each end counts one.
        fileprivate let progress = Atomic<UInt64>(0)
        /// Whether it does what was put aside (`RequestShares`), and does not read.
        let isAside: Bool
        fileprivate let isSeated = Atomic<Bool>(false)
        /// How often the thread had to wait for a request.
        fileprivate let waits = Atomic<UInt64>(0)
        // What the request is about.
        fileprivate let user = Atomic<UInt64>(0)
        fileprivate let item = Atomic<UInt64>(0)
        fileprivate let device = Atomic<UInt64>(0)
        /// Whether it was put aside: `RequestShares` counts it then.
        fileprivate let isPutAside = Atomic<Bool>(false)

        fileprivate init(isAside: Bool) { self.isAside = isAside }

        fileprivate var holding: RequestShares.HeldShares {
            RequestShares.HeldShares(
                user: user.load(ordering: .relaxed), item: item.load(ordering: .relaxed), device: device.load(ordering: .relaxed))
        }
    }

    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let seatFreed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let madeReady = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // Guarded by `lock`.
    private var seats = minimumSeats
    private var taken = 0
    private var isOver = false

    let slots: [Slot]
    let shares: RequestShares
    private let users = HeavyUsers()
    /// Answers requests that have waited too long.
    var onLate: @Sendable (RequestShares.Waiting) -> Void = { _ in }
    private static let minimumSeats = 2
    // Guarded by `lock`.
    private var maximumSeats: Int
    /// Microseconds.
    private static let tick: UInt32 = 5_000
    /// When a request was last answered, in microseconds on the monotonic clock.
    private let lastAnswer = Atomic<Int>(0)
    /// When a thread that reads last answered a request, which was not put aside; as `lastAnswer`.
    private let lastRead = Atomic<Int>(0)
    /// With one processor spinning only keeps the app from asking.
    private let maySpin: Bool
    /// Until when no thread spins, because others need the processors; as `lastAnswer`.
    private let busyUntil = Atomic<Int>(0)
    /// Microseconds.
    private static let longestGap = 80
    private static let activity = 10_000
    private static let longestPause = 2_000
    static let longestYield = 500
    private static let busyTime = 100_000
    private let isPulseAsleep = Atomic<Bool>(false)
    private let pulse = Signal()

    /// - Parameter threads: those that read; others do what was put aside.
    init(threads: Int, cores: Int, limits: UserShares) {
        slots = (0..<threads + RequestShares.threadsAside(besides: threads)).map { Slot(isAside: $0 >= threads) }
        shares = RequestShares(threads: threads, cores: cores, limits: limits)
        maySpin = cores > 1
        maximumSeats = max(Self.minimumSeats, min(cores, threads - 1))
        pthread_mutex_init(lock, nil)
        pthread_cond_init(seatFreed, nil)
        pthread_cond_init(madeReady, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        pthread_cond_destroy(seatFreed)
        pthread_cond_destroy(madeReady)
        lock.deallocate()
        seatFreed.deallocate()
        madeReady.deallocate()
    }

    enum Turn {
        case seat
        /// One that was put aside is to be served.
        case request(RequestShares.Waiting)
        case over
    }

    /// Waits for a seat unless the thread has one, or, if it does not read, for a request that was put aside.
    func takeTurn(_ slot: Slot) -> Turn {
        if slot.isSeated.load(ordering: .relaxed) { return .seat }
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while true {
            if isOver { return .over }
            if slot.isAside {
                if let waiting = shares.takeReady() { return .request(waiting) }
                pthread_cond_wait(madeReady, lock)
            } else {
                if taken < seats { break }
                pthread_cond_wait(seatFreed, lock)
            }
        }
        taken += 1
        slot.isSeated.store(true, ordering: .relaxed)
        return .seat
    }

    /// Lets another thread read while this one works on something slow.
    func giveSeat(_ slot: Slot) {
        pthread_mutex_lock(lock)
        leaveSeat(slot)
        pthread_mutex_unlock(lock)
    }

    private func leaveSeat(_ slot: Slot) {
        guard slot.isSeated.exchange(false, ordering: .relaxed) else { return }
        taken -= 1
        if taken < seats { pthread_cond_signal(seatFreed) }
    }

    func began(_ slot: Slot, waited: Bool, _ holding: RequestShares.HeldShares, isPutAside: Bool = false) {
        slot.user.store(holding.user, ordering: .relaxed)
        slot.item.store(holding.item, ordering: .relaxed)
        slot.device.store(holding.device, ordering: .relaxed)
        slot.isPutAside.store(isPutAside, ordering: .relaxed)
        slot.progress.wrappingAdd(1, ordering: .relaxed)
        if waited { slot.waits.wrappingAdd(1, ordering: .relaxed) }
        if isPulseAsleep.load(ordering: .relaxed), isPulseAsleep.exchange(false, ordering: .relaxed) { pulse.signal() }
    }

    /// Times are microseconds on the monotonic clock.
    func ended(_ slot: Slot, began: Int, at time: Int) {
        slot.progress.wrappingAdd(1, ordering: .relaxed)
        lastAnswer.store(time, ordering: .relaxed)
        if !slot.isAside { lastRead.store(time, ordering: .relaxed) }
        users.used(slot.user.load(ordering: .relaxed), microseconds: time &- began)
    }

    /// How long a thread rests after a request that was put aside, in microseconds: three times as long as it has worked, while other
    /// users ask for something. The apps whose requests are put aside need processors, too, and get as much time as they are answered.
    func pause(after request: RequestShares.Waiting, microseconds: Int, at time: Int) -> UInt32 {
        guard request.holding.user != RequestShares.HeldShares.lettingGo else { return 0 }
        guard time &- lastRead.load(ordering: .relaxed) < Self.activity else { return 0 }
        return UInt32(clamping: min(microseconds.multiplied(clamping: 3), Self.longestPause))
    }

    /// As `RequestShares.putAside`; has a thread take what is ready.
    func putAside(
        _ header: RequestShares.Header, _ holding: RequestShares.HeldShares, at time: Int64, bytes: () -> RequestBytes
    ) -> RequestShares.Decision {
        let decision = shares.putAside(header, holding, at: time, bytes: bytes)
        if decision == .ready { wake(1) }
        return decision
    }

    /// Has threads take what is ready, this one another.
    func ended(_ request: RequestShares.Waiting) {
        let ready = shares.ended(request)
        if ready > 1 { wake(ready - 1) }
    }

    private func wake(_ threads: Int) {
        pthread_mutex_lock(lock)
        for _ in 0..<min(threads, slots.count) { pthread_cond_signal(madeReady) }
        pthread_mutex_unlock(lock)
    }

    /// Whether a request came so soon after the last answer that the next one is worth looking out for.
    func isConversation(at time: Int) -> Bool {
        maySpin && time &- lastAnswer.load(ordering: .relaxed) < Self.longestGap && time > busyUntil.load(ordering: .relaxed)
    }

    /// Whoever looked out and let others go first got the processor back late.
    func processorsAreBusy(at time: Int) { busyUntil.store(time &+ Self.busyTime, ordering: .relaxed) }

    /// Whether a request is being worked on.
    var isBusy: Bool { !shares.isEmpty || slots.contains { $0.progress.load(ordering: .relaxed) % 2 == 1 } }

    /// Wakes everybody for the end.
    func finish() {
        pthread_mutex_lock(lock)
        isOver = true
        pthread_cond_broadcast(seatFreed)
        pthread_cond_broadcast(madeReady)
        pthread_mutex_unlock(lock)
        pulse.signal()
    }

    /// The pulse: runs on a thread of its own until `finish`.
    func watch() {
        var before = slots.map { _ in (progress: UInt64(0), waits: UInt64(0)) }
        var quietTicks = 0
        while true {
            if quietTicks > 20 {
                isPulseAsleep.store(true, ordering: .sequentiallyConsistent)
                pulse.wait()
                isPulseAsleep.store(false, ordering: .relaxed)
                quietTicks = 0
            } else {
                usleep(Self.tick)
            }
            pthread_mutex_lock(lock)
            let over = isOver
            var isQuiet = true
            var (held, slow): ([RequestShares.HeldShares], [RequestShares.HeldShares]) = ([], [])
            for (index, slot) in slots.enumerated() {
                let now = (progress: slot.progress.load(ordering: .relaxed), waits: slot.waits.load(ordering: .relaxed))
                defer { before[index] = now }
                if now.progress != before[index].progress || now.progress % 2 == 1 { isQuiet = false }
                if now.progress % 2 == 1, now.progress == before[index].progress {
                    if slot.isPutAside.load(ordering: .relaxed) { slow.append(slot.holding) } else { held.append(slot.holding) }
                }
                guard slot.isSeated.load(ordering: .relaxed) else { continue }
                if now.progress % 2 == 1, now.progress == before[index].progress {
                    leaveSeat(slot)  // held up
                } else if now.progress &- before[index].progress > 40, now.waits == before[index].waits, seats < maximumSeats {
                    seats += 1  // busy without a pause: requests queue up
                    pthread_cond_signal(seatFreed)
                } else if now.waits != before[index].waits, seats > Self.minimumSeats, taken == seats {
                    seats -= 1
                    leaveSeat(slot)
                }
            }
            let now = cl_monotonic_ns()
            users.beat(at: now)
            let (ready, late) = shares.beat(held: held, slow: slow, heavy: users.heavy, at: now)
            for _ in 0..<min(ready, slots.count) { pthread_cond_signal(madeReady) }
            pthread_mutex_unlock(lock)
            for request in late { onLate(request) }
            if over { return }
            if shares.areSomeLimited || shares.hasReady { isQuiet = false }
            quietTicks = isQuiet ? quietTicks + 1 : 0
        }
    }
}
