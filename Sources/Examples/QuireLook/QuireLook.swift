import DocumentKit
import Foundation

// Looks at documents in a terminal, one after the other: `QuireLook FILE…`, and then a command a line.
@main
final class QuireLook: PreviewSessionDelegate {
    static func main() async {
        let urls = CommandLine.arguments.dropFirst().map { URL(filePath: $0) }
        let shown = urls.filter { PreviewSession.canPreview($0) }
        for url in urls where !shown.contains(url) { print("\(url.lastPathComponent): there is nothing to see") }
        guard !shown.isEmpty else {
            print("usage: QuireLook FILE…")
            exit(urls.isEmpty ? 64 : 1)
        }
        let delegate = QuireLook()
        let session = PreviewSession(items: { shown }, delegate: delegate)
        await delegate.show(session)
        while let line = readLine() {
            if line == "quit" { return }
            await delegate.obey(line.split(separator: " ").map(String.init), session)
        }
    }

    /// Only what is encrypted on its way.
    func previewSession(_ session: PreviewSession, shouldOpen url: URL, for item: any PreviewItem) -> Bool { url.scheme == "https" }

    private func obey(_ words: [String], _ session: PreviewSession) async {
        switch (words.first, words.count) {
        case ("next", 1): session.currentPreviewItemIndex += 1
        case ("previous", 1): session.currentPreviewItemIndex -= 1
        case ("reload", 1): session.reloadData()
        case ("page", 3): return await report { try await session.page(Int(words[1]) ?? 1).write(to: URL(filePath: words[2])) }
        case ("text", 1): return await report { print(try await session.text()) }
        case ("links", 2):
            return await report { for link in try await session.links(onPage: Int(words[1]) ?? 1) { print(link.url, link.rect) } }
        case ("open", 2):
            guard let url = URL(string: words[1]) else { return }
            return print(session.open(url) ? "opened" : "not opened")
        default: return print("next, previous, reload, page NUMBER FILE, text, links PAGE, open URL, quit")
        }
        await show(session)
    }

    private func show(_ session: PreviewSession) async {
        let index = session.currentPreviewItemIndex
        print("\(index + 1) of \(session.numberOfItems): \(session.title(at: index) ?? "")")
        await report {
            for fact in try await session.preview().facts { print("  \(fact.name): \(fact.value)") }
        }
    }

    private func report(_ body: () async throws -> Void) async {
        do { try await body() } catch { print(error) }
    }
}
