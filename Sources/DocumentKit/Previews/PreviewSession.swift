import CLinux
import DocumentRendering
public import Foundation
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage
import WorkerProtocol

/// Decides for a ``PreviewSession``, as `QLPreviewControllerDelegate`.
public protocol PreviewSessionDelegate: AnyObject, Sendable {
    /// Whether a link in an item may be opened. Called on the thread that wants to open it. True unless implemented.
    func previewSession(_ session: PreviewSession, shouldOpen url: URL, for item: any PreviewItem) -> Bool
}

extension PreviewSessionDelegate {
    public func previewSession(_ session: PreviewSession, shouldOpen url: URL, for item: any PreviewItem) -> Bool { true }
}

/// Previews of some items, of which one is shown, as `QLPreviewController` has them; how they look is the app's.
///
/// Documents are decoded by `quire-worker` in a sandbox, never in the app, and read as one whole version in a mount. Each item's
/// preview is of the version that it had when it was first asked for, until ``refreshCurrentPreviewItem()`` or ``reloadData()``, or an item far from it is shown.
///
/// All methods may be called on any thread. Making a preview takes some tens of milliseconds, of an office document seconds, a
/// minute at most; no thread is blocked for that.
public final class PreviewSession: Sendable {
    private struct State {
        var items: [any PreviewItem]
        var index: Int
        var previews: [Int: Preview] = [:]
        /// Counts reloads: what was asked for before one is not kept.
        var generation = 0
    }
    /// A leaf lock.
    private let state: Mutex<State>
    private let delegate: WeakDelegate
    private let source: @Sendable () -> [any PreviewItem]

    /// - Parameters:
    ///   - items: gives the items: at once, and again at each ``reloadData()``.
    ///   - delegate: decides about links; not retained.
    public init(items: @escaping @Sendable () -> [any PreviewItem], delegate: (any PreviewSessionDelegate)? = nil) {
        source = items
        let items = items()
        state = Mutex(State(items: items, index: 0))
        self.delegate = WeakDelegate(delegate)
    }

    /// - Parameter urls: the documents.
    public convenience init(urls: [URL]) { self.init(items: { urls }) }

    /// Whether there is more to see of an item than its name, size and time: by its type, and whether it is there. Nothing is decoded.
    public static func canPreview(_ item: any PreviewItem) -> Bool {
        guard let url = item.previewItemURL, let subject = RenderSubject(documentAt: url), let content = try? subject.open() else {
            return false
        }
        guard let status = try? FileStatus(of: content), status.isRegular, status.st.st_size > 0 else { return false }
        return shared.canPreview(subject.name, content)
    }

    // MARK: Items

    public var numberOfItems: Int { state.withLock { $0.items.count } }

    /// The item that is shown; nil if there are none.
    public var currentPreviewItem: (any PreviewItem)? {
        state.withLock { $0.items.indices.contains($0.index) ? $0.items[$0.index] : nil }
    }

    /// The place of the item that is shown, from 0 on. What is set is kept within the items there are.
    public var currentPreviewItemIndex: Int {
        get { state.withLock { $0.index } }
        set { state.withLock { $0.index = max(0, min(newValue, $0.items.count - 1)) } }
    }

    /// What an item is called: as it says, or as its file is.
    public func title(at index: Int) -> String? {
        state.withLock { state in
            guard state.items.indices.contains(index) else { return nil }
            return state.items[index].previewItemTitle ?? state.items[index].previewItemURL?.lastPathComponent
        }
    }

    /// Asks for the items again, and makes all previews anew when they are asked for.
    public func reloadData() {
        let items = source()
        state.withLock { state in
            state.items = items
            state.index = max(0, min(state.index, items.count - 1))
            state.previews = [:]
            state.generation += 1
        }
    }

    /// Has the preview of the item that is shown made anew when it is asked for.
    public func refreshCurrentPreviewItem() {
        state.withLock { state in
            state.previews[state.index] = nil
            state.generation += 1
        }
    }

    // MARK: What is shown

    /// What there is to see of the item that is shown. Throws ``PreviewError`` if there is none, or it cannot be read.
    public func preview() async throws(PreviewError) -> DocumentPreview {
        let preview = try await made()
        return DocumentPreview(
            contentType: preview.type.name, pageCount: preview.pageCount, trouble: preview.trouble, hasText: preview.hasText,
            facts: preview.allFacts.map { ($0.name, $0.value) },
            contents: preview.contents?.entries.filter { !$0.isFolder }.map { $0.path.joined(separator: "/") })
    }

    /// A page of the item that is shown, as PNG.
    /// - Parameters:
    ///   - number: from 1 on.
    ///   - pixels: of its longer side, 16 to 4096.
    public func page(_ number: Int, pixels: Int = 1_600) async throws(PreviewError) -> Data {
        try await part(.page(number), pixels: max(16, min(pixels, 4_096)))
    }

    /// The text of the item that is shown, of a page or of all, 1 MiB of UTF-8 at most.
    public func text(page: Int? = nil) async throws(PreviewError) -> String {
        String(decoding: try await part(.text(page: page)), as: UTF8.self)
    }

    /// The content of a file in the archive that is shown, 64 MiB at most. - Parameter path: one of ``DocumentPreview/contents``.
    public func content(of path: String) async throws(PreviewError) -> Data {
        let entry = try await made().contents?.entries.last { !$0.isFolder && $0.path.joined(separator: "/") == path }
        guard let entry else { throw PreviewError(description: "\(path): is not in it") }
        return try await part(.entry(entry.index))
    }

    /// The links on a page of the item that is shown, if it is PDF or was made PDF of.
    public func links(onPage number: Int) async throws(PreviewError) -> [PreviewLink] {
        let bytes = try await part(.links(page: number))
        return LinkListing(bytes: Array(bytes))?.links.compactMap { link in
            let rect = CGRect(x: link.x, y: link.y, width: link.width, height: link.height)
            return URL(string: link.target).map { PreviewLink(url: $0, rect: rect) }
        } ?? []
    }

    /// Opens a link with the desktop's program for it, unless the delegate says no. Only links to the web and to mail are opened: a
    /// document may name others to do harm. Returns whether it was opened.
    @discardableResult
    public func open(_ link: URL) -> Bool {
        guard let item = currentPreviewItem, ["http", "https", "mailto"].contains(link.scheme?.lowercased()),
            delegate.object?.previewSession(self, shouldOpen: link, for: item) ?? true
        else { return false }
        let program = Process()
        program.executableURL = URL(filePath: "/usr/bin/env")
        program.arguments = ["xdg-open", link.absoluteString]
        return (try? program.run()) != nil
    }

    private func part(_ part: PreviewPart, pixels: Int = Thumbnailer.pagePixels) async throws(PreviewError) -> Data {
        let preview = try await made()
        let file = try await Self.result { Self.shared.part(part, of: preview, pixels: pixels, completion: $0) }
        return Data(bytesOf: file)
    }

    private func made() async throws(PreviewError) -> Preview {
        let (item, index, known, generation) = state.withLock { state in
            let item = state.items.indices.contains(state.index) ? state.items[state.index] : nil
            return (item, state.index, state.previews[state.index], state.generation)
        }
        if let known { return known }
        guard let url = item?.previewItemURL, let subject = RenderSubject(documentAt: url) else {
            throw PreviewError(description: "there is no document to show")
        }
        let preview = try await Self.result { Self.shared.preview(subject, completion: $0) }
        state.withLock { state in
            guard state.generation == generation else { return }
            state.previews[index] = preview
            // Each holds files in memory: those of the nearest items are kept.
            state.previews = state.previews.filter { abs($0.key - index) <= Self.neighbours }
        }
        return preview
    }

    private static let neighbours = 4

    private static func result<Value: Sendable>(
        _ ask: (@escaping @Sendable (Result<Value, PreviewFailure>) -> Void) -> Void
    ) async throws(PreviewError) -> Value {
        let result = await withCheckedContinuation { continuation in ask { continuation.resume(returning: $0) } }
        switch result {
        case .success(let value): return value
        case .failure(let failure): throw PreviewError(description: failure.reason)
        }
    }

    /// The workers of this process.
    private static let shared = Thumbnailer(
        folder: "", providers: ProviderTable(), workerProgram: WorkerProgram.path, threads: 2,
        log: Logger(label: "quire.DocumentKit"))
}

/// Does not keep its object.
private final class WeakDelegate: @unchecked Sendable {
    // Safe: set once; reading a weak reference is atomic.
    private(set) weak var object: (any PreviewSessionDelegate)?
    init(_ object: (any PreviewSessionDelegate)?) { self.object = object }
}

extension RenderSubject {
    /// A document by its path, as it is opened by any app.
    fileprivate init?(documentAt url: URL) {
        guard url.isFileURL else { return nil }
        let path = url.withUnsafeFileSystemRepresentation { text in
            // Safe: the text ends with a NUL and is only read here.
            text.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
        }
        self.init(document: path)
    }
}

extension Data {
    fileprivate init(bytesOf file: Descriptor) {
        guard let status = try? FileStatus(of: file) else {
            self.init()
            return
        }
        self.init(count: Int(status.st.st_size))
        let length = withUnsafeMutableBytes { pread(file.number, $0.baseAddress, $0.count, 0) }
        self = prefix(Swift.max(0, length))
    }
}
