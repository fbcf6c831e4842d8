import CLinux
import Glibc
import WorkerProtocol

/// Renders documents that nobody has looked at yet, in a sandbox: whatever it reads may be made to take it over.
///
/// It is started by `Sandbox` with a channel as descriptor 3, and answers one request after the other until that is closed. A
/// request that it does not survive, by a crash or by a limit, is the daemon's to tell.
@main
enum RenderingWorker {
    static func main() {
        let programs = CommandLine.arguments.dropFirst().first == "--programs"
        Confinement.enter(programs: programs)
        if !programs { Libraries.start() }
        let channel = WorkChannel(number: WorkLimits.channel)
        while let (request, files) = channel.next() {
            // Whoever finds this worker gone knows by that whether the document was its end.
            _ = pwrite(files.output, [0], 1, 0)
            Confinement.limitTime()
            let reply: WorkReply
            do throws(WorkRefusal) {
                reply = try carryOut(request, files)
            } catch {
                reply = .refused(error.reason, isPassing: error.isPassing)
            }
            channel.answer(reply)
        }
    }

    private static func carryOut(_ request: WorkRequest, _ files: WorkFiles) throws(WorkRefusal) -> WorkReply {
        switch request {
        case .render(let subject, let maximum, let page):
            try render(subject, files.input(0), maximum: maximum, page: page).write(to: files.output)
        case .collage(let count, let maximum): try Collage.render(try files.inputs(count), maximum: maximum).write(to: files.output)
        case .facts(let subject): .facts(try PreviewFacts.read(subject, files.input(0)))
        case .text(let subject, let page):
            try files.write(try DocumentText.read(subject, files.input(0), page: page).utf8.prefix(WorkLimits.text))
        case .words(let subject, let form):
            try files.write(try DocumentWords.read(subject, form, files.input(0)).prefix(WorkLimits.words))
        case .links(let subject, let page):
            try files.write(subject == .pages ? try PdfDocument(files.input(0)).links(page: page).bytes : [])
        case .list: try files.write(try ArchiveContents.list(files.input(0)).bytes)
        case .extract(let entry): try files.write(try ArchiveContents.extract(files.input(0), entry: entry))
        case .convert(let command, let suffix, let result):
            try files.write(try ProgramRun.convert(command, suffix: suffix, files, result: result))
        case .probe(let path): .possible(Probe.possible(path, try files.input(0)))
        }
    }

    private static func render(
        _ subject: WorkRequest.Subject, _ input: Int32, maximum: Int, page: Int
    ) throws(WorkRefusal) -> Picture {
        switch subject {
        case .image: try Picture(of: input, maximum: maximum, page: page)
        case .pages: try Picture(of: input, maximum: maximum, page: page, grows: true)
        case .text: try TextSheet.render(input, isCode: false, maximum: maximum)
        case .code: try TextSheet.render(input, isCode: true, maximum: maximum)
        case .archive: try ArchiveSheet.render(input, maximum: maximum)
        case .embedded: try EmbeddedPicture.render(input, maximum: maximum)
        case .media: try MediaPicture.render(input, maximum: maximum)
        }
    }
}

/// Why something is not rendered, for a person.
struct WorkRefusal: Error {
    let reason: String
    /// It may go another time: there was no memory.
    let isPassing: Bool

    init(_ reason: String, isPassing: Bool = false) {
        self.reason = reason
        self.isPassing = isPassing
    }
}
