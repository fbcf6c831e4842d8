import ArgumentParser
import DocumentRendering
import Glibc
import StorePrimitives

struct PreviewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Show a document without the program that made it.",
        discussion: """
            In a terminal that shows pictures (kitty's graphics or sixels) a page is shown as one, with what the document says of \
            itself; elsewhere its text, or what is in an archive, or else what the document says of itself. Pages are there of \
            PDF documents, images, text, films (a frame), sound (its cover) and, if LibreOffice is installed, office documents.

            Documents are decoded in a sandbox. In a mount the same is in the folder .previews: .previews/report.pdf/page-1.png, \
            text.txt, facts.txt, and of an archive its files in .previews/box.zip/contents.

            With --json: an object with path, type, kind, size, modified, pages, hasText, facts, contents and trouble.

            Examples:
              quire preview report.pdf
              quire preview report.pdf --page 3 -o page.png
              quire preview --text letter.odt | wc -w
              quire preview --json film.mp4 | jq -r .facts.duration

            Exit codes: 0 shown; 1 there is no such document, page or text; 64 the command line is wrong.
            """)

    @Argument(help: "A document.") var path: PathArgument
    @Option(help: "The page to show, from 1 on.") var page: Int?
    @Option(name: .shortAndLong, help: "Write the page as PNG to this file; - is the standard output.") var output: PathArgument?
    @Option(help: "Pixels of the picture's longer side, up to 4096.") var pixels: Int?
    @Flag(help: "Write the text.") var text = false
    @Flag(help: "Write what the document says of itself.") var facts = false
    @Flag(help: "Write JSON.") var json = false

    func validate() throws {
        guard page.map({ $0 >= 1 }) ?? true else { throw ValidationError("pages count from 1.") }
        guard pixels.map({ (16...4_096).contains($0) }) ?? true else { throw ValidationError("--pixels takes 16 to 4096.") }
        guard [text, facts, json, output != nil].count(where: { $0 }) <= 1 else {
            throw ValidationError("--text, --facts, --json and -o exclude each other.")
        }
    }

    func run() throws {
        let local = try LocalPreview(of: try ThumbnailCommand.canonical(path))
        defer { local.end() }
        let preview = local.preview
        if json {
            Output.json(PreviewOutput.report(preview, path: path.description))
        } else if facts {
            Output.lines(PreviewOutput.facts(preview))
        } else if let output {
            try ThumbnailCommand.write(try picture(local), to: output)
        } else if text {
            guard preview.hasText else { throw CommandFailure("\(path.description): there is no text in it") }
            try showText(local)
        } else if preview.pageCount > 0, let terminal = TerminalPicture.known() {
            TerminalPicture.show(try picture(local, fitting: TerminalPicture.pixels), by: terminal)
            Output.lines(PreviewOutput.facts(preview))
        } else if preview.hasText {
            try showText(local)
        } else if let contents = preview.contents {
            Output.lines(PreviewOutput.contents(contents))
        } else {
            if let page, page > max(1, preview.pageCount) { _ = try picture(local) }
            Output.lines(PreviewOutput.facts(preview))
        }
    }

    private func picture(_ local: LocalPreview, fitting fit: Int = Thumbnailer.pagePixels) throws(CommandFailure) -> Descriptor {
        let preview = local.preview
        guard preview.pageCount > 0 else {
            throw CommandFailure("\(path.description): \(preview.trouble ?? "it has no pages")")
        }
        return try local.part(.page(page ?? 1), pixels: pixels ?? fit)
    }

    private func showText(_ local: LocalPreview) throws(CommandFailure) {
        let bytes = PreviewOutput.bytes(of: try local.part(.text(page: page)))
        let text = PreviewOutput.plain(String(decoding: bytes, as: UTF8.self))
        Output.text(text.hasSuffix("\n") ? text : text + "\n")
    }
}
