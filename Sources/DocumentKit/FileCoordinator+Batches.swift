public import Foundation
import Synchronization

/// Accesses to any number of items.
extension FileCoordinator {
    /// Accesses items, all granted at once, without blocking: returns at once, and runs the accessor on a queue.
    ///
    /// - Parameters:
    ///   - intents: what is accessed. The accessor finds the items at their URLs, which may have changed.
    ///   - queue: where the accessor runs.
    ///   - accessor: is given why the access was not granted, or nil. What goes wrong when the access ends is logged.
    public func coordinate(
        with intents: [FileAccessIntent], queue: OperationQueue,
        byAccessor accessor: @escaping @Sendable (FileCoordinationError?) -> Void
    ) {
        let outer = FileAccess.current
        let wait: AccessWait
        do throws(FileCoordinationError) { wait = try begin() } catch {
            return queue.addOperation { accessor(error) }
        }
        WaitingThreads.claims.run { [self] in
            defer { end(wait) }
            do throws(FileCoordinationError) {
                let access = try acquire(intents, within: outer, wait)
                queue.addOperation {
                    QueuedAccesses.shared.began(access)
                    access.run { accessor(nil) }
                    QueuedAccesses.shared.returned(access)
                    WaitingThreads.releases.run {
                        Self.end(access)
                        QueuedAccesses.shared.ended(access)
                    }
                }
            } catch {
                queue.addOperation { accessor(error) }
            }
        }
    }

    /// Claims items at once for the accesses that the accessor makes with this coordinator, which then cost nothing. Blocks
    /// until they are granted, and runs the accessor on the calling thread.
    ///
    /// - Parameters:
    ///   - readingURLs: the items to be read.
    ///   - readingOptions: how they are read.
    ///   - writingURLs: the items to be written.
    ///   - writingOptions: how they are written.
    ///   - batchAccessor: is given a block to call when all these accesses are done, also later and on another thread. It
    ///     ends the claims, blocking for a moment. If it is let go of without having been called, they end too.
    @_disfavoredOverload @available(*, noasync, message: "blocks; use the form with await")
    public func prepare(
        forReadingItemsAt readingURLs: [URL], options readingOptions: ReadingOptions = [],
        writingItemsAt writingURLs: [URL], options writingOptions: WritingOptions = [],
        byAccessor batchAccessor: (@escaping @Sendable () -> Void) -> Void
    ) throws(FileCoordinationError) {
        let intents = Self.intents(readingURLs, readingOptions, writingURLs, writingOptions)
        let batch = Batch(try acquire(intents, announces: false))
        batch.access.run { batchAccessor { batch.end() } }
    }

    static func intents(
        _ readingURLs: [URL], _ readingOptions: ReadingOptions, _ writingURLs: [URL], _ writingOptions: WritingOptions
    ) -> [FileAccessIntent] {
        readingURLs.map { .readingIntent(with: $0, options: readingOptions) }
            + writingURLs.map { .writingIntent(with: $0, options: writingOptions) }
    }

    /// Ends an access that nobody is left to hear of.
    fileprivate static func end(_ access: FileAccess) {
        do throws(FileCoordinationError) { try access.end(discards: false) } catch {
            log.error("\(access.items[0].path): what was written may not be there: \(error)")
        }
    }

    /// Claims that end once, by the block that the accessor was given or with it.
    private final class Batch: Sendable {
        let access: FileAccess
        private let hasEnded = Mutex(false)

        init(_ access: FileAccess) { self.access = access }
        deinit { end() }

        func end() {
            guard !hasEnded.withLock({ hasEnded in defer { hasEnded = true }; return hasEnded }) else { return }
            FileCoordinator.end(access)
        }
    }
}
