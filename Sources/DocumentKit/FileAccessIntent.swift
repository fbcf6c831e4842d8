public import Foundation
import Synchronization

/// One item of an access, and what it is accessed for, as `NSFileAccessIntent`. For
/// ``FileCoordinator/coordinate(with:queue:byAccessor:)`` and ``FileCoordinator/coordinate(with:byAccessor:)``.
public final class FileAccessIntent: Sendable {
    enum Access: Hashable, Sendable {
        case reading(FileCoordinator.ReadingOptions)
        case writing(FileCoordinator.WritingOptions)
    }

    let access: Access
    /// A leaf lock.
    private let location: Mutex<URL>

    init(_ url: URL, _ access: Access) {
        self.access = access
        location = Mutex(url)
    }

    /// An item to be read.
    public static func readingIntent(with url: URL, options: FileCoordinator.ReadingOptions = []) -> FileAccessIntent {
        FileAccessIntent(url, .reading(options))
    }

    /// An item to be written. Nothing needs to be there.
    public static func writingIntent(with url: URL, options: FileCoordinator.WritingOptions = []) -> FileAccessIntent {
        FileAccessIntent(url, .writing(options))
    }

    /// Where the item is: what the accessor is to use, and not the URL that the intent was made with. It is another one if
    /// the item was moved before the access was granted, if a symbolic link was resolved, or for `forUploading`.
    public internal(set) var url: URL {
        get { location.withLock { $0 } }
        set { location.withLock { $0 = newValue } }
    }

    var isWriting: Bool { if case .writing = access { true } else { false } }
    var readingOptions: FileCoordinator.ReadingOptions { if case .reading(let options) = access { options } else { [] } }
    var writingOptions: FileCoordinator.WritingOptions { if case .writing(let options) = access { options } else { [] } }

    /// Whether it is granted without a wait, and without a question to anybody.
    var isMetadataOnly: Bool {
        switch access {
        case .reading(let options): options.contains(.immediatelyAvailableMetadataOnly)
        case .writing(let options): options.contains(.contentIndependentMetadataOnly)
        }
    }

    /// Whether it concerns all that is in a folder: a reader gets the whole folder, and who deletes it deletes everything.
    var coversContents: Bool {
        !isWriting || !writingOptions.isDisjoint(with: [.forDeleting, .forMoving, .forReplacing])
    }

    /// What presenters are asked before this is granted; nil for what does not concern them.
    func question(at item: AbsolutePath) -> AccessQuestion? {
        guard !isMetadataOnly else { return nil }
        return AccessQuestion(
            item: item, isWriting: isWriting,
            savesChanges: isWriting ? writingOptions.contains(.forMerging) : !readingOptions.contains(.withoutChanges),
            isDeletion: !writingOptions.isDisjoint(with: [.forDeleting, .forReplacing]))
    }
}
