public import Foundation

/// Accesses that block the calling thread until they are granted, and run the accessor on it.
///
/// They throw ``FileCoordinationError``, or what the accessor throws. Where Apple's take a pointer to an error and an
/// accessor that returns nothing, these throw and return.
// Disfavoured, as the compiler would take one of these for an accessor that itself has nothing to wait for, in an async
// function too.
extension FileCoordinator {
    /// Reads a document, or a folder with all that is in it.
    /// - Parameters:
    ///   - url: the item. Nothing needs to be there.
    ///   - options: how it is read.
    ///   - reader: is given the URL to read from, which is valid until it returns.
    /// - Throws: ``FileCoordinationError``, or what the accessor throws.
    /// - Returns: what `reader` returns.
    @_disfavoredOverload @available(*, noasync, message: "blocks; use the form with await")
    public func coordinate<Result>(
        readingItemAt url: URL, options: ReadingOptions = [], byAccessor reader: (URL) throws -> Result
    ) throws -> Result {
        let item = FileAccessIntent.readingIntent(with: url, options: options)
        return try access([item]) { try reader(item.url) }
    }

    /// Writes a document or folder. What is in a folder is claimed with it for deleting, moving and replacing.
    /// - Parameters:
    ///   - url: the item. Nothing needs to be there.
    ///   - options: how it is written.
    ///   - writer: is given the URL to write to, which is valid until it returns.
    /// - Throws: ``FileCoordinationError``, or what the accessor throws.
    /// - Returns: what `writer` returns.
    @_disfavoredOverload @available(*, noasync, message: "blocks; use the form with await")
    public func coordinate<Result>(
        writingItemAt url: URL, options: WritingOptions = [], byAccessor writer: (URL) throws -> Result
    ) throws -> Result {
        let item = FileAccessIntent.writingIntent(with: url, options: options)
        return try access([item]) { try writer(item.url) }
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
    @_disfavoredOverload @available(*, noasync, message: "blocks; use the form with await")
    public func coordinate<Result>(
        readingItemAt readingURL: URL, options readingOptions: ReadingOptions = [],
        writingItemAt writingURL: URL, options writingOptions: WritingOptions = [],
        byAccessor readerWriter: (URL, URL) throws -> Result
    ) throws -> Result {
        let source = FileAccessIntent.readingIntent(with: readingURL, options: readingOptions)
        let target = FileAccessIntent.writingIntent(with: writingURL, options: writingOptions)
        return try access([source, target]) { try readerWriter(source.url, target.url) }
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
    @_disfavoredOverload @available(*, noasync, message: "blocks; use the form with await")
    public func coordinate<Result>(
        writingItemAt url1: URL, options options1: WritingOptions = [],
        writingItemAt url2: URL, options options2: WritingOptions = [],
        byAccessor writer: (URL, URL) throws -> Result
    ) throws -> Result {
        let (one, other) = (
            FileAccessIntent.writingIntent(with: url1, options: options1),
            FileAccessIntent.writingIntent(with: url2, options: options2)
        )
        return try access([one, other]) { try writer(one.url, other.url) }
    }

    private func access<Result>(_ intents: [FileAccessIntent], _ body: () throws -> Result) throws -> Result {
        let access = try acquire(intents)
        let result: Result
        do {
            result = try access.run(body)
        } catch {
            try? access.end(discards: true)
            throw error
        }
        try access.end(discards: false)
        return result
    }

    /// Waits on the calling thread.
    func acquire(_ intents: [FileAccessIntent], announces: Bool = true) throws(FileCoordinationError) -> FileAccess {
        let outer = FileAccess.current
        let wait = try begin()
        defer { end(wait) }
        return try acquire(intents, within: outer, announces: announces, wait)
    }
}
