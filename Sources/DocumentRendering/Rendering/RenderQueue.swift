import Glibc
package import StorePrimitives

/// How much somebody wants a thumbnail.
public enum Urgency: Int, Comparable, CaseIterable, Sendable {
    /// Somebody waits for it.
    case awaited
    /// Somebody looks at the folder.
    case browsed
    /// It may be wanted later.
    case later

    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// What is to be rendered: the most urgent first, of those the one asked for first. Leaf lock.
package final class RenderQueue: @unchecked Sendable {
    private struct Key: Hashable {
        let uri: String
        let size: ThumbnailSize
    }
    package struct Completion {
        /// Whether somebody still waits for it. Asked under the lock.
        fileprivate let isWanted: @Sendable () -> Bool
        fileprivate let body: @Sendable (RenderOutcome) -> Void
    }

    package struct Item {
        package let subject: RenderSubject
        package let size: ThumbnailSize
        fileprivate(set) var urgency: Urgency
        /// Who waits for it, of a daemon that serves several.
        fileprivate let user: uid_t?
        /// Of a daemon that serves several: the place in the queue is the user's.
        fileprivate var share: TakenShare?
        package fileprivate(set) var completions: [Completion]
        /// With so many the ones that nobody waits for any more are let go.
        fileprivate var mostUnseen = 4

        fileprivate init(
            _ subject: RenderSubject, _ size: ThumbnailSize, _ urgency: Urgency, _ user: uid_t?, _ completion: Completion? = nil
        ) {
            (self.subject, self.size, self.urgency, self.user) = (subject, size, urgency, user)
            completions = completion.map { [$0] } ?? []
        }
    }

    /// Something else that a worker is wanted for, which somebody waits for.
    package struct Job {
        let run: @Sendable (Renderer) -> Void
        /// Called instead, if it is too late.
        let cancel: @Sendable () -> Void
        /// Who waits for it, of a daemon that serves several.
        fileprivate let user: uid_t?

        package init(
            for user: uid_t? = nil, run: @escaping @Sendable (Renderer) -> Void, cancel: @escaping @Sendable () -> Void
        ) {
            (self.user, self.run, self.cancel) = (user, run, cancel)
        }
    }

    // All guarded by `lock`.
    private var jobs: ArraySlice<Job> = []
    /// They take turns with what is rendered: somebody waits for that, too.
    private var isJobsTurn = true
    private var items: [Key: Item] = [:]
    private var waiting: [[Key]] = Urgency.allCases.map { _ in [] }
    private var starts = Urgency.allCases.map { _ in 0 }
    private var rendering: Set<Key> = []
    /// For how many of each user's requests something is being made.
    private var served: [uid_t?: Int] = [:]
    /// What was asked for while it was rendered: the document may have changed since.
    private var again: [Key: Item] = [:]
    private var isStopped = false
    private var lock = pthread_mutex_t()
    /// All are woken: not each takes everything.
    private var changed = pthread_cond_t()

    /// So many that they are rendered within some minutes.
    package static let capacity = 20_000
    static let mostJobs = 200
    /// What somebody waits for has room beside that.
    static let capacityForAwaited = 2_000
    /// How often who leaves work to others checks whether it is in time.
    private static let pause = 10_000_000
    /// Who asks again and again for the same, without waiting, is told no more often.
    private static let mostTold = 16
    private static let mostAwaiting = 1_000

    /// By which the places are bounded for each user; nil where there is one.
    private let shares: UserShares?
    private var nextSweep = ContinuousClock.now
    private static let sweepPause = Duration.milliseconds(100)

    package init(shares: UserShares? = nil) {
        self.shares = shares
        pthread_mutex_init(&lock, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(&changed, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(&changed)
        pthread_mutex_destroy(&lock)
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(&lock)
        defer { pthread_mutex_unlock(&lock) }
        return body()
    }

    package var count: Int { locked { items.count } }

    /// Adds what is to be rendered, or joins who asked for it before. False if there is no room, or an end, or if too many ask for
    /// it.
    package func add(
        _ subject: RenderSubject, _ size: ThumbnailSize, _ urgency: Urgency, for user: uid_t? = nil,
        _ completion: (@Sendable (RenderOutcome) -> Void)?, isWanted: @escaping @Sendable () -> Bool = { true }
    ) -> Bool {
        let completion = completion.map { Completion(isWanted: isWanted, body: $0) }
        let user = user.map { shares?.accounts.owner(of: $0) ?? $0 }
        return locked {
            let key = Key(uri: subject.uri, size: size)
            let most = urgency == .awaited ? Self.mostAwaiting : Self.mostTold
            guard !isStopped else { return false }
            if rendering.contains(key) { return Self.join(&again[key, default: Item(subject, size, urgency, user)], urgency, completion, most) }
            if let before = items[key]?.urgency {
                guard Self.join(&items[key]!, urgency, completion, most) else { return false }
                // Where it stood before it is passed over.
                if urgency < before { waiting[urgency.rawValue].append(key) }
            } else {
                let most = Self.capacity + (urgency == .awaited ? Self.capacityForAwaited : 0)
                var share = share(for: user)
                if items.count >= most || share == nil && isCounted(user), sweep() { share = self.share(for: user) }
                guard items.count < most, share != nil || !isCounted(user) else { return false }
                items[key] = Item(subject, size, urgency, user, completion)
                items[key]?.share = share
                waiting[urgency.rawValue].append(key)
            }
            pthread_cond_broadcast(&changed)
            return true
        }
    }

    private func isCounted(_ user: uid_t?) -> Bool { shares != nil && user != nil }

    private func share(for user: uid_t?) -> TakenShare? {
        guard let shares, let user else { return nil }
        return TakenShare(.waitingPictures, of: shares, for: user)
    }

    /// Lets go of what nobody waits for any more. False if that was done just now.
    private func sweep() -> Bool {
        guard ContinuousClock.now >= nextSweep else { return false }
        nextSweep = .now + Self.sweepPause
        for key in items.keys where !rendering.contains(key) { _ = isLetGo(key) }
        return true
    }

    /// Of what was asked for by those alone who waited for it, and wait no more.
    private func isLetGo(_ key: Key) -> Bool {
        guard let item = items[key], item.urgency == .awaited, !item.completions.isEmpty,
            !item.completions.contains(where: { $0.isWanted() })
        else { return false }
        items[key] = nil
        return true
    }

    private static func join(_ item: inout Item, _ urgency: Urgency, _ completion: Completion?, _ most: Int) -> Bool {
        if let completion {
            if item.completions.count >= item.mostUnseen {
                item.completions.removeAll { !$0.isWanted() }
                item.mostUnseen = max(4, 2 * item.completions.count)
            }
            guard item.completions.count < most else { return false }
            item.completions.append(completion)
        }
        item.urgency = min(item.urgency, urgency)
        return true
    }

    /// Has a job done, in turns with what is rendered. False if too many wait, or at an end.
    package func add(_ job: Job) -> Bool {
        locked {
            guard !isStopped, jobs.count < Self.mostJobs else { return false }
            jobs.append(job)
            pthread_cond_broadcast(&changed)
            return true
        }
    }

    package enum Next {
        case job(Job)
        case item(Item)
        /// Nothing came for a while.
        case idle
        case stopped
    }

    /// The next one, for the caller to render and `finish`. Waits for it, and leaves it to others while it is not in time;
    /// `isInTime` is asked under the lock.
    /// - Parameters:
    ///   - seconds: how long nothing comes before `.idle` is the answer; nil: without an end, so that an idle daemon is not woken.
    ///   - onlyStarved: take only what a user waits for, for whom nothing is being made while something is for others.
    package func next(idleAfter seconds: Int?, onlyStarved: Bool = false, isInTime: () -> Bool = { true }) -> Next {
        locked {
            var deadline = timespec()
            clock_gettime(CLOCK_MONOTONIC, &deadline)
            deadline.tv_sec += seconds ?? 0
            while true {
                if isStopped { return .stopped }
                if onlyStarved, let next = takeStarved() { return next }
                if hasWork, onlyStarved || !isInTime() {
                    var pause = timespec()
                    clock_gettime(CLOCK_MONOTONIC, &pause)
                    pause.add(nanoseconds: Self.pause)
                    _ = pthread_cond_timedwait(&changed, &lock, &pause)
                    continue
                }
                if !onlyStarved {
                    if isJobsTurn, let job = jobs.popFirst() {
                        isJobsTurn = false
                        served[job.user, default: 0] += 1
                        return .job(job)
                    }
                    isJobsTurn = true
                    if let item = takeFirst() { return .item(item) }
                    if !jobs.isEmpty { continue }
                }
                if seconds == nil {
                    pthread_cond_wait(&changed, &lock)
                } else if pthread_cond_timedwait(&changed, &lock, &deadline) == ETIMEDOUT {
                    return .idle
                }
            }
        }
    }

    private func takeStarved() -> Next? {
        guard !served.isEmpty else { return nil }
        func isStarved(_ user: uid_t?) -> Bool { user != nil && served[user] == nil }
        if let index = jobs.firstIndex(where: { isStarved($0.user) }) {
            let job = jobs.remove(at: index)
            served[job.user, default: 0] += 1
            return .job(job)
        }
        let awaited = Urgency.awaited.rawValue
        for key in waiting[awaited][starts[awaited]...] {
            guard let item = items[key], isStarved(item.user), !rendering.contains(key), !isLetGo(key) else { continue }
            rendering.insert(key)
            served[item.user, default: 0] += 1
            return .item(item)
        }
        return nil
    }

    private func unserve(_ user: uid_t?) {
        served[user, default: 1] -= 1
        if served[user] == 0 { served[user] = nil }
    }

    /// A job was done.
    package func finish(_ job: Job) { locked { unserve(job.user) } }

    private var hasWork: Bool { !jobs.isEmpty || items.count > rendering.count }

    private func takeFirst() -> Item? {
        for urgency in Urgency.allCases.map(\.rawValue) {
            while starts[urgency] < waiting[urgency].count {
                let key = waiting[urgency][starts[urgency]]
                starts[urgency] += 1
                guard let item = items[key], item.urgency.rawValue == urgency, !rendering.contains(key), !isLetGo(key) else { continue }
                rendering.insert(key)
                served[item.user, default: 0] += 1
                return item
            }
            waiting[urgency].removeAll(keepingCapacity: true)
            starts[urgency] = 0
        }
        return nil
    }

    /// What was rendered is told to all who have asked for it by now.
    package func finish(_ item: Item, _ outcome: RenderOutcome) {
        let key = Key(uri: item.subject.uri, size: item.size)
        let completions = locked {
            rendering.remove(key)
            unserve(item.user)
            let completions = items.removeValue(forKey: key)?.completions ?? []
            if let next = again.removeValue(forKey: key) {
                items[key] = next
                waiting[next.urgency.rawValue].append(key)
                pthread_cond_broadcast(&changed)
            }
            return completions
        }
        for completion in completions { completion.body(outcome) }
    }

    /// Nothing is rendered from now on: who waits is told.
    package func stop() {
        let (jobs, completions) = locked {
            isStopped = true
            defer { self.jobs = [] }
            let left = items.filter { !rendering.contains($0.key) }
            for key in left.keys { items[key] = nil }
            pthread_cond_broadcast(&changed)
            defer { again = [:] }
            return (self.jobs, (Array(left.values) + Array(again.values)).flatMap(\.completions))
        }
        for job in jobs { job.cancel() }
        for completion in completions { completion.body(.failed("the mount is going away")) }
    }
}

extension timespec {
    fileprivate mutating func add(nanoseconds: Int) {
        tv_nsec += nanoseconds
        tv_sec += tv_nsec / 1_000_000_000
        tv_nsec %= 1_000_000_000
    }
}
