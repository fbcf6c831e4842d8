import DocumentKit
import Foundation

// A small text editor for the terminal that presents its document: `QuireEdit FILE`. What other programs save shows at once;
// what was typed here is saved as soon as another program reads the file. ^S saves, ^R reads the file again, ^Q quits.
@main
struct QuireEdit {
    static func main() {
        guard CommandLine.arguments.count == 2 else {
            print("usage: QuireEdit FILE")
            exit(64)
        }
        guard let terminal = Terminal() else {
            FileHandle.standardError.write(Data("QuireEdit: is for a terminal\n".utf8))
            exit(1)
        }
        let editor = Editor(URL(filePath: CommandLine.arguments[1], directoryHint: .notDirectory), terminal)
        editor.run()
    }
}

/// The document on the screen.
final class Editor: FilePresenter {
    private let screen: ScreenState
    private let terminal: Terminal
    let presentedItemOperationQueue: OperationQueue = {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }()

    init(_ url: URL, _ terminal: Terminal) {
        (screen, self.terminal) = (ScreenState(url), terminal)
    }

    var presentedItemURL: URL? { screen.read(\.url) }

    func run() {
        FileCoordinator.addFilePresenter(self)
        load()
        // Messages and keys have their turn on one queue: the editor is in one state at a time.
        while let key = terminal.nextKey(onResize: { [self] in draw() }) {
            let isOver = DispatchSemaphore(value: 0)
            nonisolated(unsafe) var goesOn = true
            presentedItemOperationQueue.addOperation { [self] in
                goesOn = press(key)
                isOver.signal()
            }
            isOver.wait()
            if !goesOn { break }
        }
        FileCoordinator.removeFilePresenter(self)
        terminal.restore()
    }

    /// Whether to go on.
    private func press(_ key: Key) -> Bool {
        switch key {
        case .control("q"): return false
        case .control("s"): _ = save()
        case .control("r"): load()
        default:
            let hasChanged = screen.change { $0.text.press(key) }
            if hasChanged {
                screen.change { ($0.hasChanges, $0.note) = (true, "") }
                FileCoordinator.setHasUnsavedChanges(true, for: self)
            }
        }
        draw()
        return true
    }

    private func load() {
        let url = screen.read(\.url)
        do {
            let coordinator = FileCoordinator(filePresenter: self)
            let content = try coordinator.coordinate(readingItemAt: url) { try String(contentsOf: $0, encoding: .utf8) }
            screen.change { ($0.hasChanges, $0.note) = (false, "") ; $0.text.replace(with: content) }
            FileCoordinator.setHasUnsavedChanges(false, for: self)
        } catch CocoaError.fileReadNoSuchFile {
            screen.change { $0.note = "new file" }
        } catch {
            screen.change { $0.note = "\(error)" }
        }
        draw()
    }

    private func save() -> (any Error)? {
        let (url, content, hasChanges) = screen.read { ($0.url, $0.text.content, $0.hasChanges) }
        guard hasChanges else { return nil }
        do {
            let coordinator = FileCoordinator(filePresenter: self)
            try coordinator.coordinate(writingItemAt: url, options: .forMerging) {
                try content.write(to: $0, atomically: false, encoding: .utf8)
            }
            screen.change { ($0.hasChanges, $0.note) = (false, "saved") }
            FileCoordinator.setHasUnsavedChanges(false, for: self)
            return nil
        } catch {
            screen.change { $0.note = "not saved: \(error)" }
            return error
        }
    }

    private func draw() { terminal.draw(screen.read { $0 }) }

    // MARK: - What others do

    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        let failure = save()
        draw()
        completionHandler(failure)
    }

    func presentedItemDidChange() {
        guard presentedItemURL.map({ FileManager.default.fileExists(atPath: $0.path) }) ?? false else { return }
        guard !screen.read(\.hasChanges) else {
            screen.change { $0.note = "changed by another program: ^R reads it, ^S replaces it" }
            return draw()
        }
        load()
    }

    func presentedItemDidMove(to newURL: URL) {
        screen.change { $0.url = newURL }
        draw()
    }

    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        // What is on the screen can be saved again.
        screen.change { ($0.hasChanges, $0.note) = (true, "deleted by another program: ^S makes it again") }
        draw()
        completionHandler(nil)
    }
}
