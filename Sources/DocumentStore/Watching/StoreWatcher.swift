import CLinux
import Glibc
public import Logging
public import StorePrimitives
import Synchronization
public import SystemPackage

/// Tells of changes made in the store by anybody other than this process, within 60 ms.
///
/// With CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH by fanotify, which covers the store at no cost a folder and knows who did it;
/// else by inotify, which needs a watch on each folder and tells of this process's own changes too. Both work on a store
/// that the mount covers, because everything goes through the root's descriptor.
public final class StoreWatcher: Sendable {
    public enum Method: Hashable, Sendable { case fanotify, inotify }

    /// How much of the store is watched.
    public enum Coverage: Hashable, Sendable {
        case all
        /// So many folders (inotify) or file systems (fanotify) are; the reason says what is not, and what to do about it.
        case partial(watched: Int, reason: String)
    }

    public struct Options: Sendable {
        /// Nil: fanotify, and inotify where that is refused.
        public var method: Method?
        /// A mount of the store that nobody else uses, as open_tree(2) with OPEN_TREE_CLONE makes it. If all file contents
        /// are written through it, by this process or by kernel passthrough, those writes are not told (fanotify only).
        public var ownMount: Descriptor?
        /// The pause after each batch. A longer one means fewer wake-ups while the mount is busy, and later news.
        public var pauseMilliseconds: Int32 = 20
        /// How long `init` may take to set inotify's watches. What remains is done by the watcher's thread, which then tells
        /// an overflow, because changes may have been missed meanwhile.
        public var watchSettingMilliseconds: Int64 = 200

        public init() {}
    }

    /// Which method is used.
    public let method: Method
    /// False on file systems that can change without this kernel knowing (`MountKind`): cached names and attributes
    /// should live a short time only.
    public let seesRemoteChanges: Bool

    private let stopSignal: Descriptor
    private let watching: Watching
    /// Nil once stopped.
    private let thread: Mutex<NamedThread?>

    /// Starts watching. Changes made after `init` has returned are told; `handler` runs on the watcher's thread, perhaps
    /// before `init` has returned, and what it does delays what comes next.
    ///
    /// Throws EMFILE or ENOMEM, or the root's error if it cannot be read; with a method asked for, also why that is refused.
    public init(
        _ store: SharedStore, log: Logger, options: Options = Options(),
        handler: @escaping @Sendable ([OutsideChange]) -> Void
    ) throws(Errno) {
        let mounts = try InnerMounts(store)
        let source: any ChangeSource
        (source, method) = try Self.source(store, mounts: mounts, options: options, log: log)
        seesRemoteChanges = store.root.mountKind == .local
        stopSignal = Descriptor(owning: try check(cl_eventfd()))
        watching = Watching(
            source: source, mounts: mounts, stopSignal: stopSignal, pause: options.pauseMilliseconds, log: log,
            handler: handler)
        thread = Mutex(nil)
        let started = try NamedThread(starting: "quire-watch") { [watching] in watching.run() }
        thread.withLock { $0 = started }
    }

    deinit { stop() }

    /// How much of the store is watched now.
    public var coverage: Coverage { watching.coverage.withLock { $0 } }

    /// Ends the watcher's thread and waits for it, and so for a handler that is running; from within the handler it only
    /// asks the thread to end. Again: does nothing. The kernel goes on collecting for it until the watcher is released.
    public func stop() {
        guard let running = thread.withLock({ $0.take() }) else { return }
        _ = cl_eventfd_signal(stopSignal.number)
        watching.end()
        if running.isCurrent {
            running.detach()
        } else {
            running.join()
        }
    }

    private static func source(
        _ store: SharedStore, mounts: InnerMounts, options: Options, log: Logger
    ) throws(Errno) -> (any ChangeSource, Method) {
        if options.method != .inotify {
            do throws(Errno) {
                let source = try FanotifySource(store, inner: mounts.mounts, ownMount: options.ownMount, log: log)
                return (source, .fanotify)
            } catch {
                if options.method == .fanotify { throw error }
                log.debug("fanotify is refused, inotify takes its place", metadata: ["error": "\(error)"])
            }
        }
        let source = try InotifySource(store, log: log, settingLimit: options.watchSettingMilliseconds)
        return (source, .inotify)
    }
}

/// What the watcher's thread works with.
///
/// `@unchecked Sendable`: made on one thread and handed to the watcher's, which alone touches `source` and `mounts`.
private final class Watching: @unchecked Sendable {
    private let source: any ChangeSource
    private var mounts: InnerMounts
    private let stopSignal: Descriptor
    private let pause: Int32
    private let log: Logger
    private let handler: @Sendable ([OutsideChange]) -> Void
    let coverage: Mutex<StoreWatcher.Coverage>

    init(
        source: any ChangeSource, mounts: InnerMounts, stopSignal: Descriptor, pause: Int32, log: Logger,
        handler: @escaping @Sendable ([OutsideChange]) -> Void
    ) {
        self.source = source
        self.mounts = mounts
        self.stopSignal = stopSignal
        self.pause = pause
        self.log = log
        self.handler = handler
        coverage = Mutex(source.coverage)
    }

    func run() {
        var next = NextCollection.atOnce
        do throws(Errno) {
            while try !isStopped(within: next == .atOnce ? 0 : pause) {
                let ready = try wait(next == .whenReadable ? -1 : 0)
                if ready & 1 != 0 { return }
                var changes: [OutsideChange] = []
                if ready & 0b100 != 0, mounts.refresh() {
                    source.innerMountsChanged(to: mounts.mounts, telling: &changes)
                }
                next = try source.collect(into: &changes)
                coverage.withLock { $0 = source.coverage }
                if !changes.isEmpty { handler(changes) }
            }
        } catch {
            log.error("changes made outside are no longer seen", metadata: ["error": "\(error)"])
            coverage.withLock { $0 = .partial(watched: 0, reason: "reading the kernel's events failed: \(error)") }
        }
    }

    /// From any thread: `source` is a constant, and its `end` may be called from any.
    func end() { source.end() }

    /// The bits: 1 asked to stop, 2 events, 4 something was mounted or unmounted.
    private func wait(_ milliseconds: Int32) throws(Errno) -> Int32 {
        let descriptors = [stopSignal.number, source.queue, mounts.table.number]
        return try check(cl_wait_any(descriptors, 3, 0b100, milliseconds))
    }

    private func isStopped(within milliseconds: Int32) throws(Errno) -> Bool {
        let descriptors = [stopSignal.number]
        return try check(cl_wait_any(descriptors, 1, 0, milliseconds)) != 0
    }
}
