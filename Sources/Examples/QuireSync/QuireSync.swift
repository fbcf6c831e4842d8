import DocumentKit
import Foundation

// Keeps a copy of a folder: `QuireSync SOURCE TARGET`. Copies whole versions only, each as soon as it is there.
//
// The source is best in a Quire mount: then events tell what any program does, and a coordinated read waits for who is in
// the middle of writing. What is missing from the source is removed from the target only when its deletion is told.
@main
struct QuireSync {
    let source: URL
    let target: URL
    let coordinator = FileCoordinator()

    static func main() async {
        let paths = CommandLine.arguments.dropFirst()
        guard paths.count == 2, let source = paths.first, let target = paths.last else {
            say("usage: QuireSync SOURCE TARGET")
            exit(64)
        }
        let sync = QuireSync(
            source: URL(filePath: source, directoryHint: .isDirectory).resolvingSymlinksInPath(),
            target: URL(filePath: target, directoryHint: .isDirectory))
        do {
            // Listening before looking: so nothing falls between the two.
            let events = try await FileCoordinator.events(forItemAt: sync.source)
            await sync.copyTree(sync.source)
            say("copied; waiting for changes")
            for await event in events { await sync.follow(event) }
        } catch {
            say("QuireSync: \(error)")
            exit(1)
        }
    }

    static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    func follow(_ event: FileEvent) async {
        switch event.kind {
        case .changed, .appeared, .attributesChanged: await copyTree(event.url)
        case .moved:
            if let old = event.oldURL.flatMap(place) { try? FileManager.default.removeItem(at: old) }
            await copyTree(event.url)
        case .deleted: if let gone = place(of: event.url) { try? FileManager.default.removeItem(at: gone) }
        case .missed: await copyTree(source)
        case .versionGained, .versionLost, .saveAborted: break
        }
    }

    /// Copies a document, or all documents in a folder.
    func copyTree(_ url: URL) async {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else { return }
        guard isFolder.boolValue else { return await copy(url) }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        // Names with a dot are the mount's own folders, and files that are not meant to be seen.
        for name in names.sorted() where !name.hasPrefix(".") { await copyTree(url.appending(path: name)) }
    }

    func copy(_ url: URL) async {
        guard let place = place(of: url) else { return }
        let folder = place.deletingLastPathComponent()
        let part = folder.appending(path: ".\(place.lastPathComponent).part")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try await coordinator.coordinate(readingItemAt: url) { version in
                try Data(contentsOf: version).write(to: part)
            }
            // Others see the old version or the new one, as here.
            guard rename(part.path, place.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
            Self.say("copied \(place.path)")
        } catch {
            try? FileManager.default.removeItem(at: part)
            // It may be gone again, and if not there will be another event when it is let go.
            Self.say("not copied: \(url.path): \(error)")
        }
    }

    /// Where an item's copy is; nil for what is not in the source, or is not copied.
    func place(of url: URL) -> URL? {
        let (names, root) = (url.pathComponents, source.pathComponents)
        guard names.count > root.count, names.starts(with: root) else { return nil }
        let rest = names.dropFirst(root.count)
        return rest.contains { $0.hasPrefix(".") } ? nil : target.appending(path: rest.joined(separator: "/"))
    }
}
