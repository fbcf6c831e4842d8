import ArgumentParser
import CLinux
import DocumentRendering
import Glibc
import StorePrimitives
import SystemPackage

struct ThumbnailCommand: TakesManyPaths {
    static let configuration = CommandConfiguration(
        commandName: "thumbnail",
        abstract: "Draw documents as small pictures.",
        discussion: """
            Draws the thumbnail of a document or folder, unless it is there already, and writes it to a PNG file. In a mount the \
            daemon draws, and the picture is also in the mount's folder .thumbnails; elsewhere this command does. File managers find \
            the pictures, which are kept where desktops keep theirs.

            Sizes: normal (128 pixels), large (256), x-large (512), xx-large (1024), or a number of pixels, for which the next \
            larger one is taken.

            --warm draws all that is in a folder, so that it is there when somebody looks; it says how far it is. --clear forgets \
            what was drawn of a document or in a folder. --status says what is kept. Without any of these and without -o only the \
            outcome is told.

            With --json: an object for each path with path, drawn and reason; of --warm drawn, refused and reasons, of --clear \
            documents, of --status place, entries, bytes and trouble.

            Examples:
              quire thumbnail report.pdf -o report.png
              quire thumbnail --size 512 photo.jpg -o - | display
              quire thumbnail --warm ~/Pictures
              quire thumbnail --clear ~/Pictures

            Exit codes: 0 done; 1 something was not drawn, the message says why (with --warm, where much cannot be, only if nothing \
            was); 64 the command line is wrong.
            """)

    @Argument(help: "Documents or folders.") var paths: [PathArgument] = []
    @Option(help: "normal, large, x-large, xx-large, or pixels (large).") var size: SizeArgument = SizeArgument(size: .large)
    @Option(name: .shortAndLong, help: "Write the picture to this file; - is the standard output.") var output: PathArgument?
    @Flag(help: "Draw all that is in the folders.") var warm = false
    @Flag(help: "Forget what was drawn.") var clear = false
    @Flag(help: "Say what is kept.") var status = false
    @Flag(help: "Write JSON.") var json = false

    struct SizeArgument: ExpressibleByArgument {
        let size: ThumbnailSize
        init(size: ThumbnailSize) { self.size = size }
        init?(argument: String) {
            if let size = ThumbnailSize(rawValue: argument) {
                self.size = size
            } else {
                guard let pixels = Int(argument), pixels > 0, pixels <= ThumbnailSize.doubleExtraLarge.pixels else { return nil }
                size = ThumbnailSize(atLeast: pixels)
            }
        }
        var defaultValueDescription: String { size.rawValue }
    }

    func validate() throws {
        guard [warm, clear, status].count(where: { $0 }) <= 1 else { throw ValidationError("--warm, --clear and --status exclude each other.") }
        guard status || !paths.isEmpty else { throw ValidationError("name a document or a folder.") }
        guard output == nil || (paths.count == 1 && !warm && !clear && !status) else {
            throw ValidationError("-o is for the picture of one document.")
        }
    }

    func run() throws {
        if status { return try ThumbnailKeep.report(at: paths.first, json: json) }
        if !clear, !warm { return try render() }
        let places = try paths.map { path throws(CommandFailure) in try Self.canonical(path) }
        if clear {
            var count = 0
            for place in places { count += try ThumbnailSources.source(for: place).clear(place) }
            if json { Output.json(["documents": count]) } else { Output.line("Forgot the thumbnails of \(count) document\(count == 1 ? "" : "s").") }
        } else {
            try ThumbnailWarming(size: size.size, json: json).run(places)
        }
    }

    private struct Drawn: Encodable {
        let path: String
        let drawn: Bool
        let reason: String?
    }

    private func render() throws {
        var outcomes: [Drawn] = []
        for path in paths {
            do throws(CommandFailure) {
                let place = try Self.canonical(path)
                let picture = try ThumbnailSources.source(for: place).render(place, size.size)
                if let output { try Self.write(picture, to: output) }
                outcomes.append(Drawn(path: path.description, drawn: true, reason: nil))
                if !json, output == nil { Output.line("\(path.description): drawn") }
            } catch {
                outcomes.append(Drawn(path: path.description, drawn: false, reason: error.message))
                if !json { Output.error("quire: \(error.message)") }
            }
        }
        if json, output == nil { Output.json(outcomes) }
        if outcomes.contains(where: { !$0.drawn }) { throw ExitCode.failure }
    }

    static func canonical(_ path: PathArgument) throws(CommandFailure) -> [UInt8] {
        do {
            return try CanonicalPath.resolve(path.bytes)
        } catch {
            throw CommandFailure("\(path.description): \(error)")
        }
    }

    static func write(_ picture: Descriptor, to output: PathArgument) throws(CommandFailure) {
        let isStandard = output.bytes.elementsEqual("-".utf8)
        do throws(Errno) {
            let number = isStandard
                ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                : withCString(output.bytes) { cl_openat(AT_FDCWD, $0, O_WRONLY | O_CREAT | O_TRUNC, 0o666) }
            let target = Descriptor(owning: try check(number))
            var chunk = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = Int(try check(cl_read(picture.number, &chunk, chunk.count)))
                if count == 0 { return }
                var written = 0
                while written < count {
                    let result = chunk.withUnsafeBytes { Glibc.write(target.number, $0.baseAddress! + written, count - written) }
                    guard result > 0 else { throw Errno(rawValue: errno) }
                    written += result
                }
            }
        } catch {
            throw CommandFailure("\(isStandard ? "standard output" : output.description): the picture cannot be written: \(error)")
        }
    }
}
