import WorkerProtocol

/// The built-in providers: for types and all that are of those types, and for families of types.
enum BuiltInProviders {
    /// How near a match is: as many steps up the tree as between the type and what the provider renders.
    static func matches(_ type: DocumentType, _ ancestors: [DocumentType]) -> [(steps: Int, subject: WorkRequest.Subject)] {
        var found: [(Int, WorkRequest.Subject)] = []
        if type == .folder { return [] }
        if pages.contains(type.name) { found.append((0, .pages)) }
        if images.contains(type.name) { found.append((0, .image)) }
        if archives.contains(type.name) { found.append((0, .archive)) }
        if embedded.contains(where: { type.name.hasPrefix($0) }) { found.append((0, .embedded)) }
        if let steps = ([type] + ancestors).firstIndex(where: { $0.name == "text/plain" }), !found.contains(where: { $0.0 == 0 }) {
            found.append((steps, prose.contains(type.name) ? .text : .code))
        }
        // Whole families, after all that names a type.
        let last = ancestors.count + 1
        switch type.name.split(separator: "/").first {
        case "image" where !images.contains(type.name) && !pages.contains(type.name): found.append((last, .image))
        case "audio", "video": found.append((last, .media))
        default: if media.contains(type.name) { found.append((last, .media)) }
        }
        return found
    }

    private static let images: Set = [
        "image/jpeg", "image/png", "image/gif", "image/webp", "image/tiff", "image/bmp", "image/heif", "image/heic", "image/avif",
        "image/jxl", "image/jp2", "image/x-portable-pixmap", "image/x-portable-graymap", "image/x-portable-bitmap",
        "image/vnd.microsoft.icon", "image/x-tga", "image/vnd.adobe.photoshop", "image/x-xcf", "image/vnd.radiance",
    ]
    /// Rendered at any size.
    private static let pages: Set = ["application/pdf", "image/svg+xml", "image/svg+xml-compressed", "application/illustrator"]
    /// These alone: many a document is a zip archive underneath.
    private static let archives: Set = [
        "application/zip", "application/x-tar", "application/x-compressed-tar", "application/x-bzip-compressed-tar",
        "application/x-bzip2-compressed-tar", "application/x-xz-compressed-tar", "application/x-zstd-compressed-tar",
        "application/x-lzma-compressed-tar", "application/x-lz4-compressed-tar", "application/x-7z-compressed", "application/vnd.rar",
        "application/x-rar", "application/x-cpio", "application/x-cd-image", "application/vnd.efi.iso", "application/java-archive",
        "application/x-java-archive", "application/vnd.debian.binary-package", "application/x-deb", "application/x-rpm",
        "application/vnd.ms-cab-compressed", "application/x-lha", "application/x-xar",
    ]
    private static let embedded = [
        "application/vnd.oasis.opendocument.", "application/vnd.openxmlformats-officedocument.", "application/epub+zip",
    ]
    private static let prose: Set = ["text/plain", "text/markdown", "text/x-readme", "text/x-log", "text/x-authors", "text/x-copying"]
    private static let media: Set = ["application/ogg", "application/vnd.rn-realmedia", "application/x-matroska"]
}
