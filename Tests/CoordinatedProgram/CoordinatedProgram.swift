import DocumentKit
import Foundation
import Synchronization

// A program that uses DocumentKit, for tests of several processes. Prints a line for each thing that happens, at once.
//
//   CoordinatedProgram read|write PATH [OPTION=VALUE]…     accesses the item, and prints what it reads
//   CoordinatedProgram present PATH [OPTION=VALUE]…        presents the item until the file stop= is there
//   CoordinatedProgram events PATH stop=FILE
//   CoordinatedProgram bookmark PATH      prints the bookmark of a document
//   CoordinatedProgram resolve BOOKMARK   prints where the document of a bookmark is
//   CoordinatedProgram query FOLDER text=QUERY [mode=once] stop=FILE     searches, and prints each update of the results
//
// Options: hold=FILE (goes on when the file is there), timeout=SECONDS, mode=blocking|async|queue, cancel=SECONDS,
// again=FILE (once more after a failure, when the file is there), with=PATH (a second item, written), text=TEXT (what is
// written or not saved), thumbnail=FILE (an image of it), option=WORD, move=PATH, delay=SECONDS, count=NUMBER.
@main
struct CoordinatedProgram {
    static let words = CommandLine.arguments
    static let path = URL(filePath: words[2], directoryHint: .notDirectory)

    static func option(_ name: String) -> String? {
        words.dropFirst(3).first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    static func say(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    static func waitFor(_ file: String) {
        while !FileManager.default.fileExists(atPath: file) { Thread.sleep(forTimeInterval: 0.01) }
    }

    static func main() async {
        switch words[1] {
        case "present": present()
        case "events": await listen()
        case "query": await query()
        case "bookmark", "resolve": bookmark()
        default:
            for attempt in 1...2 {
                do {
                    try await access()
                    exit(0)
                } catch let error as FileCoordinationError {
                    say("\(kind(error)): \(error)")
                } catch {
                    say("failed: \(error)")
                }
                guard attempt == 1, let file = option("again") else { exit(1) }
                waitFor(file)
            }
        }
    }

    static func kind(_ error: FileCoordinationError) -> String {
        switch error {
        case .cancelled: "cancelled"
        case .timedOut: "timedOut"
        case .deadlock: "deadlock"
        case .permissionDenied: "permissionDenied"
        case .disconnected: "disconnected"
        case .failed: "refused"
        }
    }

    // MARK: - Access

    static let writingOptions: [String: FileCoordinator.WritingOptions] = [
        "forDeleting": .forDeleting, "forMoving": .forMoving, "forMerging": .forMerging, "forReplacing": .forReplacing,
        "metadata": .contentIndependentMetadataOnly,
    ]

    static func access() async throws {
        let coordinator = FileCoordinator()
        if let seconds = option("timeout").flatMap(Double.init) { coordinator.timeout = .milliseconds(Int(seconds * 1000)) }
        let intent = words[1] == "read"
            ? FileAccessIntent.readingIntent(with: path)
            : FileAccessIntent.writingIntent(with: path, options: option("option").flatMap { writingOptions[$0] } ?? [])
        let others = option("with").map { [FileAccessIntent.writingIntent(with: URL(filePath: $0))] } ?? []
        if let seconds = option("cancel").flatMap(Double.init) {
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: seconds)
                coordinator.cancel()
            }
        }
        switch option("mode") {
        case "queue":
            let failure = await withCheckedContinuation { continuation in
                coordinator.coordinate(with: [intent] + others, queue: OperationQueue()) { error in
                    if error == nil { try? use(intent, coordinator) }
                    continuation.resume(returning: error)
                }
            }
            if let failure { throw failure }
        case "blocking": try block(coordinator, intent)
        default: try await coordinator.coordinate(with: [intent] + others) { try use(intent, coordinator) }
        }
        say("done")
    }

    static func block(_ coordinator: FileCoordinator, _ intent: FileAccessIntent) throws {
        if words[1] == "read" {
            try coordinator.coordinate(readingItemAt: path) { _ in try use(intent, coordinator) }
        } else {
            try coordinator.coordinate(writingItemAt: path) { _ in try use(intent, coordinator) }
        }
    }

    static func use(_ intent: FileAccessIntent, _ coordinator: FileCoordinator) throws {
        say("granted \(intent.url.lastPathComponent)")
        if words[1] == "read" { say("content " + (try String(contentsOf: intent.url, encoding: .utf8))) }
        if let image = option("thumbnail") { coordinator.setThumbnail(try Data(contentsOf: URL(filePath: image)), forItemAt: intent.url) }
        if let text = option("text") { try text.write(to: intent.url, atomically: false, encoding: .utf8) }
        if let target = option("move") {
            try FileManager.default.moveItem(atPath: intent.url.path, toPath: target)
            coordinator.item(at: intent.url, didMoveTo: URL(filePath: target))
        }
        if option("option") == "forDeleting" { try FileManager.default.removeItem(at: intent.url) }
        if let file = option("hold") { waitFor(file) }
    }

    // MARK: - Presenting

    static func present() {
        let presenter = ProgramPresenter(path, unsaved: option("text"), delay: option("delay").flatMap(Double.init))
        FileCoordinator.addFilePresenter(presenter)
        if option("text") != nil { FileCoordinator.setHasUnsavedChanges(true, for: presenter) }
        // With many beside it: PATH.1, PATH.2 and so on.
        for number in 1..<(option("count").flatMap(Int.init) ?? 1) {
            FileCoordinator.addFilePresenter(ProgramPresenter(path.appendingPathExtension("\(number)"), unsaved: nil, delay: nil))
        }
        say("presenting")
        if let file = option("stop") { waitFor(file) }
        FileCoordinator.removeFilePresenter(presenter)
    }

    static func bookmark() {
        do throws(FileCoordinationError) {
            if words[1] == "bookmark" { return say(String(decoding: try path.bookmarkData(), as: UTF8.self)) }
            var isStale = false
            let url = try URL(resolvingBookmarkData: Data(words[2].utf8), bookmarkDataIsStale: &isStale)
            say((isStale ? "stale " : "") + url.path(percentEncoded: false))
        } catch {
            say("\(kind(error)): \(error)")
            exit(1)
        }
    }

    static func query() async {
        let query = MetadataQuery(option("text") ?? "", in: path, order: .name)
        func names(_ items: some Sequence<MetadataItem>) -> String { items.map(\.url.lastPathComponent).joined(separator: ",") }
        do throws(FileCoordinationError) {
            if option("mode") == "once" { return say(names(try await query.results())) }
            Thread.detachNewThread {
                waitFor(option("stop") ?? "/")
                exit(0)
            }
            var (count, last) = (0, [MetadataItem]())
            for try await update in query.updates {
                count += 1
                let moves = update.moved.map { "\($0.from)-\($0.to)" }.joined(separator: ",")
                say("update \(count)\(update.isComplete ? "" : " incomplete"): \(names(update.items)); removed \(names(update.removed.map { last[$0] })); "
                    + "inserted \(names(update.inserted.map { update.items[$0] })); moved \(moves); changed \(names(update.changed.map { update.items[$0] }))")
                last = update.items
            }
        } catch {
            say("\(kind(error)): \(error)")
            exit(1)
        }
    }

    static func listen() async {
        do {
            let events = try await FileCoordinator.events(forItemAt: path)
            say("listening")
            Thread.detachNewThread {
                waitFor(option("stop") ?? "/")
                exit(0)
            }
            for await event in events {
                let old = event.oldURL.map { $0.lastPathComponent + " -> " } ?? ""
                say("\(event.kind.rawValue) \(old)\(event.url.lastPathComponent) by \(event.process?.name ?? "nobody")")
            }
        } catch {
            say("\(kind(error)): \(error)")
            exit(1)
        }
    }
}

final class ProgramPresenter: FilePresenter {
    private let state: Mutex<(url: URL, unsaved: String?)>
    private let delay: Double?

    init(_ url: URL, unsaved: String?, delay: Double?) {
        state = Mutex((url, unsaved))
        self.delay = delay
    }

    private func say(_ text: String) { CoordinatedProgram.say(text) }

    var presentedItemURL: URL? { state.withLock { $0.url } }

    func relinquishPresentedItem(toReader reader: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        say("relinquish reader")
        reader { self.say("reacquired") }
    }

    func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((@Sendable () -> Void)?) -> Void) {
        say("relinquish writer")
        writer { self.say("reacquired") }
    }

    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        say("save")
        if let delay { Thread.sleep(forTimeInterval: delay) }
        let (url, text) = state.withLock { ($0.url, $0.unsaved) }
        do {
            if let text {
                let coordinator = FileCoordinator(filePresenter: self)
                try coordinator.coordinate(writingItemAt: url) { try text.write(to: $0, atomically: false, encoding: .utf8) }
                FileCoordinator.setHasUnsavedChanges(false, for: self)
            }
            completionHandler(nil)
        } catch {
            completionHandler(error)
        }
    }

    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        say("accommodate")
        completionHandler(nil)
    }

    func presentedItemDidMove(to newURL: URL) {
        state.withLock { $0.url = newURL }
        say("moved \(newURL.lastPathComponent)")
    }

    func presentedItemDidChange() { say("changed") }
    func presentedSubitemDidAppear(at url: URL) { say("appeared in \(url.lastPathComponent)") }
    func presentedSubitemDidChange(at url: URL) { say("changed in \(url.lastPathComponent)") }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) {
        say("moved in \(oldURL.lastPathComponent) \(newURL.lastPathComponent)")
    }
}
