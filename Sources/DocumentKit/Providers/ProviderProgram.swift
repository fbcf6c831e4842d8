public import Foundation

/// A program with an app's providers.
///
/// ```swift
/// @main
/// enum SketchPictures {
///     static func main() { ProviderProgram(thumbnails: SketchThumbnails(), previews: SketchPreviews()).run() }
/// }
/// ```
///
/// `SketchPictures --install` tells the desktop of it, for the calling user: its types (`~/.local/share/mime`), and that it draws
/// them (`~/.local/share/thumbnailers`), which is where mounts and file managers look. `--uninstall` takes that back. Build it with
/// `--static-swift-stdlib`: in the sandbox there are the system's libraries only.
public struct ProviderProgram: Sendable {
    let thumbnails: (any ThumbnailProvider)?
    let previews: (any PreviewProvider)?

    /// - Parameters:
    ///   - thumbnails: draws thumbnails.
    ///   - previews: makes previews.
    public init(thumbnails: (any ThumbnailProvider)? = nil, previews: (any PreviewProvider)? = nil) {
        precondition(thumbnails != nil || previews != nil, "a program of providers has at least one")
        self.thumbnails = thumbnails
        self.previews = previews
    }

    var contentTypes: [DocumentContentType] {
        var types: [DocumentContentType] = []
        let all = (thumbnails.map { type(of: $0).contentTypes } ?? []) + (previews.map { type(of: $0).contentTypes } ?? [])
        for type in all where !types.contains(type) { types.append(type) }
        return types
    }

    /// Does what the command line says and ends the process: 0 done, 1 failed, 64 the command line is wrong.
    public func run() -> Never { exit(run(Array(CommandLine.arguments.dropFirst()))) }

    func run(_ arguments: [String]) -> Int32 {
        do {
            switch (arguments.first, arguments.count) {
            case ("--thumbnail", 4):
                guard let pixels = Double(arguments[3]), pixels >= 1 else { return usage }
                try drawThumbnail(of: URL(filePath: arguments[1]), to: URL(filePath: arguments[2]), pixels: pixels)
            case ("--preview", 3): try makePreview(of: URL(filePath: arguments[1]), to: URL(filePath: arguments[2]))
            case ("--install", 1):
                try ProviderInstallation(of: self).install()
                // A daemon that serves all believes what the system has.
                if geteuid() == 0 { say("root's own mounts draw by the system's thumbnailers alone, those in /usr/share/thumbnailers") }
            case ("--uninstall", 1): try ProviderInstallation(of: self).uninstall()
            default: return usage
            }
            return 0
        } catch {
            say("\(error)")
            return 1
        }
    }

    private var usage: Int32 {
        let name = ProviderInstallation.program.lastPathComponent
        say("usage: \(name) --install | --uninstall | --thumbnail DOCUMENT PICTURE PIXELS | --preview DOCUMENT RESULT")
        return 64
    }

    private func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

    private func drawThumbnail(of document: URL, to result: URL, pixels: Double) throws {
        guard let thumbnails else { throw ProviderFailure("this program draws no thumbnails") }
        let request = FileThumbnailRequest(
            fileURL: document, maximumSize: CGSize(width: pixels, height: pixels), minimumSize: CGSize(width: 1, height: 1), scale: 1)
        switch try thumbnails.thumbnail(for: request).kind {
        case .file(let url): try FileManager.default.copyItem(at: url, to: result)
        case .drawing(let size, let drawing):
            guard size.width >= 1, size.height >= 1, size.width <= pixels, size.height <= pixels else {
                throw ProviderFailure("\(size.width) x \(size.height) points are more than \(pixels), or none")
            }
            guard DrawingSurface.writePicture(to: result.path, size: size, scale: 1, drawing) else {
                throw ProviderFailure("\(document.path) cannot be drawn")
            }
        }
    }

    private func makePreview(of document: URL, to result: URL) throws {
        guard let previews else { throw ProviderFailure("this program makes no previews") }
        switch try previews.preview(for: FilePreviewRequest(fileURL: document)).kind {
        case .file(let url): try FileManager.default.copyItem(at: url, to: result)
        case .data(let data): try data.write(to: result)
        case .pages(let size, let count, let drawing):
            guard DrawingSurface.writePages(to: result.path, size: size, count: count, drawing) else {
                throw ProviderFailure("\(document.path) cannot be drawn")
            }
        }
    }
}

/// Why a provider's program failed.
struct ProviderFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
