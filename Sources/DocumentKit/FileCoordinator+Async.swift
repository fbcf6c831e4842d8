public import Foundation

/// Accesses that suspend the task until they are granted, and run the accessor where the caller runs: an actor's methods may
/// be called in it. They end early, with ``FileCoordinationError/cancelled``, when the task is cancelled.
///
/// They throw ``FileCoordinationError``, or what the accessor throws.
extension FileCoordinator {
    /// Reads a document, or a folder with all that is in it.
    /// - Parameters:
    ///   - url: the item. Nothing needs to be there.
    ///   - options: how it is read.
    ///   - reader: is given the URL to read from, which is valid until it returns.
    /// - Throws: ``FileCoordinationError``, or what the accessor throws.
    /// - Returns: what `reader` returns.
    public nonisolated(nonsending) func coordinate<Result>(
        readingItemAt url: URL, options: ReadingOptions = [],
        byAccessor reader: nonisolated(nonsending) (URL) async throws -> Result
    ) async throws -> Result {
        let item = FileAccessIntent.readingIntent(with: url, options: options)
        return try await access([item]) { try await reader(item.url) }
    }

    /// Writes a document or folder. What is in a folder is claimed with it for deleting, moving and replacing.
    /// - Parameters:
    ///   - url: the item. Nothing needs to be there.
    ///   - options: how it is written.
    ///   - writer: is given the URL to write to, which is valid until it returns.
    /// - Throws: ``FileCoordinationError``, or what the accessor throws.
    /// - Returns: what `writer` returns.
    public nonisolated(nonsending) func coordinate<Result>(
        writingItemAt url: URL, options: WritingOptions = [],
        byAccessor writer: nonisolated(nonsending) (URL) async throws -> Result
    ) async throws -> Result {
        let item = FileAccessIntent.writingIntent(with: url, options: options)
        return try await access([item]) { try await writer(item.url) }
    }

    /// Reads one item and writes another; both are granted at once, whatever order others name them in.
    /// - Parameters:
    ///   - readingURL: the item to be read.
    ///   - readingOptions: how it is read.
    ///   - writingURL: the item to be written.
    ///   - writingOptions: how it is written.
    ///   - readerWriter: is given the two URLs, which are valid until it returns.
    /// - Throws: ``FileCoordinationError``, or what the accessor throws.
    /// - Returns: what `readerWriter` returns.
    public nonisolated(nonsending) func coordinate<Result>(
        readingItemAt readingURL: URL, options readingOptions: ReadingOptions = [],
        writingItemAt writingURL: URL, options writingOptions: WritingOptions = [],
        byAccessor readerWriter: nonisolated(nonsending) (URL, URL) async throws -> Result
    ) async throws -> Result {
        let source = FileAccessIntent.readingIntent(with: readingURL, options: readingOptions)
        let target = FileAccessIntent.writingIntent(with: writingURL, options: writingOptions)
        return try await access([source, target]) { try await readerWriter(source.url, target.url) }
    }

    /// Writes two items, as for a move from the one to the other; both are granted at once.
    /// - Parameters:
    ///   - url1: an item to be written.
    ///   - options1: how it is written.
    ///   - url2: another one.
    ///   - options2: how that is written.
    ///   - writer: is given the two URLs, which are valid until it returns.
    /// - Throws: ``FileCoordinationError``, or what the accessor throws.
    /// - Returns: what `writer` returns.
    public nonisolated(nonsending) func coordinate<Result>(
        writingItemAt url1: URL, options options1: WritingOptions = [],
        writingItemAt url2: URL, options options2: WritingOptions = [],
        byAccessor writer: nonisolated(nonsending) (URL, URL) async throws -> Result
    ) async throws -> Result {
        let one = FileAccessIntent.writingIntent(with: url1, options: options1)
        let other = FileAccessIntent.writingIntent(with: url2, options: options2)
        return try await access([one, other]) { try await writer(one.url, other.url) }
    }

    /// Accesses any number of items, all granted at once.
    /// - Parameters:
    ///   - intents: what is accessed; some item.
    ///   - accessor: finds the items at the intents' URLs, which may have changed.
    /// - Throws: ``FileCoordinationError``, or what the accessor throws.
    /// - Returns: what `accessor` returns.
    public nonisolated(nonsending) func coordinate<Result>(
        with intents: [FileAccessIntent], byAccessor accessor: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        try await access(intents, accessor)
    }

    /// Claims any number of items at once for the accesses that the accessor makes with this coordinator, which then cost
    /// nothing. What it throws is passed on, after the claims have ended.
    /// - Parameters:
    ///   - readingURLs: the items to be read.
    ///   - readingOptions: how they are read.
    ///   - writingURLs: the items to be written.
    ///   - writingOptions: how they are written.
    ///   - batchAccessor: makes the accesses.
    /// - Throws: ``FileCoordinationError``, or what the accessor throws.
    /// - Returns: what `batchAccessor` returns.
    public nonisolated(nonsending) func prepare<Result>(
        forReadingItemsAt readingURLs: [URL], options readingOptions: ReadingOptions = [],
        writingItemsAt writingURLs: [URL], options writingOptions: WritingOptions = [],
        byAccessor batchAccessor: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        let intents = Self.intents(readingURLs, readingOptions, writingURLs, writingOptions)
        return try await access(intents, announces: false, batchAccessor)
    }

    private nonisolated(nonsending) func access<Result>(
        _ intents: [FileAccessIntent], announces: Bool = true,
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        let access = try await acquire(intents, announces: announces)
        let result: Result
        do {
            result = try await access.run(body)
        } catch {
            _ = await WaitingThreads.releases.result { try? access.end(discards: true) }
            throw error
        }
        let failure = await WaitingThreads.releases.result { () -> FileCoordinationError? in
            do throws(FileCoordinationError) { try access.end(discards: false) } catch { return error }
            return nil
        }
        if let failure { throw failure }
        return result
    }

    /// Waits on a thread of its own.
    private nonisolated(nonsending) func acquire(
        _ intents: [FileAccessIntent], announces: Bool
    ) async throws(FileCoordinationError) -> FileAccess {
        let outer = FileAccess.current
        let wait = try begin()
        defer { end(wait) }
        let granted = await withTaskCancellationHandler {
            await WaitingThreads.claims.result { () -> Result<FileAccess, FileCoordinationError> in
                do throws(FileCoordinationError) {
                    return .success(try self.acquire(intents, within: outer, announces: announces, wait))
                } catch {
                    return .failure(error)
                }
            }
        } onCancel: {
            wait.cancel()
        }
        return try granted.get()
    }
}
