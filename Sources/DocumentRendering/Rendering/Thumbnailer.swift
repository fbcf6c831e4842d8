public import Glibc
public import Logging
public import StorePrimitives
import Synchronization

/// The render pool: renders thumbnails into a cache, by one thread and one worker for each processor, in the background.
public final class Thumbnailer: Sendable {
    public let cache: ThumbnailCache
    public let providers: ProviderTable
    let log: Logger
    let queue: RenderQueue
    let contents = RenderedContents()
    let handed = HandedPictures()
    /// The program of the workers.
    let workerProgram: String
    private let renderers: [Renderer]
    let isStoreInUse: @Sendable () -> Bool
    private let threads = Mutex<[NamedThread]>([])
    /// How many were rendered, and how many could not be.
    let renderedCount = Atomic<Int>(0)
    let refusedCount = Atomic<Int>(0)
    /// Why no worker could be started last.
    let trouble = Mutex<String?>(nil)
    /// Why a picture could not be kept last.
    let keepingTrouble = Mutex<String?>(nil)

    /// - Parameters:
    ///   - folder: where thumbnails are kept, see `ThumbnailCache`.
    ///   - threads: how many are rendered at a time.
    ///   - servesSeveral: whether different users wait; none is then kept waiting by what is made for another alone.
    ///   - shares: by which the cache is bounded for each owner of documents; nil for a desktop's own.
    ///   - isStoreInUse: whether apps make changes or open documents just now: one processor is left to them then. Called often, by
    ///     any thread.
    public init(
        folder: String, providers: ProviderTable, workerProgram: String, threads: Int, log: Logger,
        servesSeveral: Bool = false, shares: UserShares? = nil, isStoreInUse: @escaping @Sendable () -> Bool = { false }
    ) {
        self.isStoreInUse = isStoreInUse
        queue = RenderQueue(shares: shares)
        cache = ThumbnailCache(folder: folder, shares: shares) { providers.stamp }
        self.providers = providers
        self.workerProgram = workerProgram
        self.log = log
        renderers = (0..<max(1, threads)).map { Renderer(yields: $0 > 0 && $0 == threads - 1, isReserve: false) }
            + (0..<(servesSeveral ? Self.reserves : 0)).map { _ in Renderer(yields: false, isReserve: true) }
    }

    /// So many users may have something rendered that takes long before others wait for it.
    private static let reserves = 3

    /// Asks for a thumbnail, whatever the cache has. `completion` is called once, on a thread that renders, which it may not hold
    /// up. False, without that, if too many wait or `stop` was called. O(1); a leaf lock.
    /// - Parameter isWanted: asked under that lock; what is not wanted any more may not be called.
    @discardableResult
    public func render(
        _ subject: RenderSubject, _ size: ThumbnailSize, _ urgency: Urgency, for user: uid_t? = nil,
        completion: (@Sendable (RenderOutcome) -> Void)? = nil, isWanted: @escaping @Sendable () -> Bool = { true }
    ) -> Bool {
        startIfNeeded()
        return queue.add(subject, size, urgency, for: user, completion, isWanted: isWanted)
    }

    /// Whether anybody renders documents of a content's type, or makes previews of them.
    public func canPreview(_ name: EntryName, _ content: Descriptor) -> Bool {
        let type = DocumentType(of: name) { Renderer.beginning(of: content) }
        return !providers.providers(for: type).isEmpty || !providers.converters(for: type).isEmpty
    }

    /// Has something else done where documents are rendered. `cancel` is called instead, if too many wait or `stop` was called.
    func perform(for user: uid_t?, _ run: @escaping @Sendable (Renderer) -> Void, cancel: @escaping @Sendable () -> Void) {
        startIfNeeded()
        if !queue.add(RenderQueue.Job(for: user, run: run, cancel: cancel)) { cancel() }
    }

    public struct Status: Sendable {
        public let waiting: Int
        public let rendered: Int
        public let refused: Int
        /// Why nothing is rendered, for a person.
        public let trouble: String?
    }

    public var status: Status {
        Status(
            waiting: queue.count, rendered: renderedCount.load(ordering: .relaxed), refused: refusedCount.load(ordering: .relaxed),
            trouble: trouble.withLock { $0 } ?? keepingTrouble.withLock { $0 })
    }

    /// Starts the threads, which otherwise the first request does. They take over the rights of the thread that starts them.
    public func start() { startIfNeeded() }

    private func startIfNeeded() {
        threads.withLock { threads in
            guard threads.isEmpty else { return }
            cache.bounds?.start()
            threads = renderers.enumerated().map { index, renderer in
                NamedThread("quire-render-\(index)") { [weak self] in renderer.serve { self } }
            }
        }
    }

    /// Ends the workers and the threads. What waits is not rendered any more.
    public func stop() {
        queue.stop()
        for renderer in renderers { renderer.interrupt() }
        let started = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for thread in started { thread.join() }
        cache.bounds?.stop()
    }
}
