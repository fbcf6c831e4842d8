import DocumentRendering
import Glibc
import MountClient
import MountProtocol

/// What is kept of thumbnails, for `quire thumbnail --status`.
enum ThumbnailKeep {
    private struct Report: Encodable {
        let place: String
        let entries: [String: Int]
        let bytes: Int64
        let trouble: String?
    }

    /// - Parameter path: in a mount that is asked whether it can render; the one of the working directory if left out.
    static func report(at path: PathArgument?, json: Bool) throws(CommandFailure) {
        let place = try StateFolders.thumbnailHome()
        var entries: [String: Int] = [:]
        var bytes: Int64 = 0
        for kind in ThumbnailSize.allCases.map(\.rawValue) + ["fail/quire-1"] {
            let folder = Array("\(place)/\(kind)".utf8)
            let names = FileSystem.entries(folder) ?? []
            entries[kind] = names.count
            for name in names { bytes += (try? FileSystem.status(CanonicalPath.join(folder, name)).st_size).map(Int64.init) ?? 0 }
        }
        var trouble: String?
        if let mount = try? path.map({ try MountLocator.mount(holding: $0.bytes) }) ?? MountLocator.mount(meant: nil) {
            trouble = try MountLocator.ask(mount, MountInterface.status).status.thumbnailTrouble
        }
        if json { return Output.json(Report(place: place, entries: entries, bytes: bytes, trouble: trouble)) }
        let counts = ThumbnailSize.allCases.map { "\($0.rawValue) \(entries[$0.rawValue] ?? 0)" }.joined(separator: ", ")
        Output.line("\(place): \(counts); \(Figures.size(bytes)); \(entries["fail/quire-1"] ?? 0) that cannot be drawn")
        if let trouble { Output.line("None can be drawn at the moment: \(trouble)") }
    }
}
