public import Foundation

/// Whoever shows a document or folder: it is asked before others read or write the item, and told when it changes, as an
/// `NSFilePresenter`. In force between ``FileCoordinator/addFilePresenter(_:)`` and
/// ``FileCoordinator/removeFilePresenter(_:)``.
///
/// All members but ``presentedItemURL`` have defaults: questions are answered at once, and what is not minded is passed over.
///
/// **Threads.** Every message is sent on ``presentedItemOperationQueue``, in the order in which things happened, and the next
/// one only when the method has returned, also on a queue that runs several operations at a time.
///
/// **Questions** are the methods with a completion handler or a block to call. They must be answered, in time: in a mount
/// within its `presenter-timeout`, in the process within the same two seconds. Who does not answer is waited for once, and
/// not asked again before it does. An answer may be given on any thread, also after the method has returned.
///
/// Of what its own process does a presenter is told only if it goes through a ``FileCoordinator``, and neither asked nor told
/// of what goes through the coordinators that were made with it.
public protocol FilePresenter: AnyObject, Sendable {
    /// The item; nil for one that is nowhere yet. Read when the presenter is added; moves are followed from then on, and a
    /// presenter that goes over to another item is removed and added again.
    var presentedItemURL: URL? { get }

    /// Where messages are sent. By default a serial queue that all presenters of the process share, so that one that takes
    /// its time holds up the others.
    var presentedItemOperationQueue: OperationQueue { get }

    /// The document that this item belongs to, as subtitles belong to a film. Quire has no use for it, as there is no sandbox
    /// to extend. Nil by default.
    var primaryPresentedItemURL: URL? { get }

    /// Somebody wants to read the item: stop writing it, then call `reader` with a block to be called when the presenter may
    /// write again, or nil. In a mount that is as soon as it has answered, since nobody waits for readers. By default
    /// `reader` is called at once.
    func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void)

    /// Somebody wants to write the item: stop reading and writing it, then call `writer` with a block to be called when the
    /// writer is done, or nil. By default `writer` is called at once.
    ///
    /// Several may be at it at a time: the item is the presenter's again when each block has been called.
    func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void)

    /// Somebody wants to read the item or to change what is in it: save what is not saved, and call the handler. With an
    /// error, the other's access fails. Sent after the item was relinquished. By default there is nothing to save.
    ///
    /// Before a program that knows nothing of coordination opens the item it is sent only to presenters that have said so by
    /// ``FileCoordinator/setHasUnsavedChanges(_:for:)``.
    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

    /// The item will be deleted, or replaced by something else: make room, and call the handler. Sent after the item was
    /// relinquished. For deletions without coordination (`rm`) it is sent when the item is gone, and nobody waits for the
    /// answer. By default the handler is called at once.
    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

    /// The same for an item in the presented folder.
    func accommodatePresentedSubitemDeletion(at url: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void)

    /// The item is at `newURL` now, be it that it was moved or a folder around it. ``presentedItemURL`` is to answer that
    /// from now on.
    func presentedItemDidMove(to newURL: URL)

    /// The item's content or attributes have changed, or it is gone, or messages were missed: look at it again.
    func presentedItemDidChange()

    /// The item has a new version.
    func presentedItemDidGain(_ version: FileVersion)

    /// A version of the item is gone.
    func presentedItemDidLose(_ version: FileVersion)

    /// A conflict of versions was resolved. Quire has no conflicts and never sends this; it is here for code that implements
    /// it.
    func presentedItemDidResolveConflict(_ version: FileVersion)

    /// Something is in the presented folder, at any depth, that was not there. By default ``presentedItemDidChange()``, as
    /// for documents that are folders; so the other messages about items in the folder.
    func presentedSubitemDidAppear(at url: URL)

    /// Something was moved within the presented folder, or out of it.
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL)

    /// The content or the attributes of something in the presented folder have changed, or it is gone.
    func presentedSubitemDidChange(at url: URL)

    /// Something in the presented folder has a new version.
    func presentedSubitem(at url: URL, didGain version: FileVersion)

    /// A version of something in the presented folder is gone.
    func presentedSubitem(at url: URL, didLose version: FileVersion)

    /// Never sent, as ``presentedItemDidResolveConflict(_:)``.
    func presentedSubitem(at url: URL, didResolve version: FileVersion)
}

extension FilePresenter {
    public var presentedItemOperationQueue: OperationQueue { SharedQueue.queue }
    public var primaryPresentedItemURL: URL? { nil }
    public func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) { reader(nil) }
    public func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) { writer(nil) }
    public func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        completionHandler(nil)
    }
    public func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        completionHandler(nil)
    }
    public func accommodatePresentedSubitemDeletion(
        at url: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) { completionHandler(nil) }
    public func presentedItemDidMove(to newURL: URL) {}
    public func presentedItemDidChange() {}
    public func presentedItemDidGain(_ version: FileVersion) {}
    public func presentedItemDidLose(_ version: FileVersion) {}
    public func presentedItemDidResolveConflict(_ version: FileVersion) {}
    public func presentedSubitemDidAppear(at url: URL) { presentedItemDidChange() }
    public func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) { presentedItemDidChange() }
    public func presentedSubitemDidChange(at url: URL) { presentedItemDidChange() }
    public func presentedSubitem(at url: URL, didGain version: FileVersion) {}
    public func presentedSubitem(at url: URL, didLose version: FileVersion) {}
    public func presentedSubitem(at url: URL, didResolve version: FileVersion) {}
}

/// A version of a document, as a presenter is told of it.
public struct FileVersion: Hashable, Sendable {
    /// The document.
    public let url: URL
    /// Rises with each version of a document; nil if the daemon does not know.
    public let generation: UInt64?
    /// When it was made, or went.
    public let date: Date
}

private enum SharedQueue {
    static let queue: OperationQueue = {
        let queue = OperationQueue()
        queue.name = "DocumentKit.presenters"
        queue.maxConcurrentOperationCount = 1
        return queue
    }()
}
