import Glibc
import StorePrimitives
import SystemPackage

extension Renderer {
    private static let partsShown = 4
    /// Documents looked at before a folder is given up: they may be of types that nobody renders.
    private static let partsTried = 12

    /// The picture of a folder: of what is in it, which is rendered for that.
    func collage(
        of folder: RenderSubject.Folder, _ version: ThumbnailVersion, _ size: ThumbnailSize, _ thumbnailer: Thumbnailer
    ) throws(RenderRefusal) -> (image: [UInt8], FolderParts) {
        let contents = folder.contents(version)
        var pictures: [Descriptor] = []
        var shown: [FolderParts.Part] = []
        var owners: Set<uid_t?> = []
        for part in contents.parts.prefix(Self.partsTried) where pictures.count < Self.partsShown {
            guard case .rendered(_, let entry) = render(part.subject, .normal, for: thumbnailer),
                let picture = try? thumbnailer.cache.open(entry, of: part.subject.uri, .normal)
            else { continue }
            pictures.append(picture)
            shown.append(FolderParts.Part(name: part.subject.name, changed: part.changed))
            owners.insert(nextOwner)
        }
        guard !pictures.isEmpty else { throw RenderRefusal("nothing in it can be drawn", lasts: .always) }
        // A worker of its own for pictures of several.
        if owners.count > 1 { nextOwner = nil }
        let image = try picture(.collage(count: pictures.count, maximum: size.pixels), pictures, thumbnailer)
        return (image, FolderParts(changed: contents.changed, parts: shown))
    }
}
