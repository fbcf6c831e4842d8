import CLinux
import DocumentRendering
import DocumentStore
import Glibc
import StorePrimitives
import SystemPackage

/// The picture that a package keeps of itself, which is that of the document.
extension DocumentThumbnails {
    /// Where apps keep it, the best first: as Quick Look and OpenDocument (part 2, section 3.7) have it.
    private static let folders = ["QuickLook", "Thumbnails", ""].map { EntryName($0.utf8) }
    private static let names = [
        "Thumbnail.jpg", "Thumbnail.png", "Preview.jpg", "Preview.png", "Preview.pdf", "thumbnail.png", "preview.jpg", "preview.png",
    ].map { EntryName($0) }

    struct PackagePart {
        let path: StorePath
        let status: cl_status
    }

    /// Nil if it keeps none, or one that not all who may read and search the package may see.
    func picture(inPackage package: StorePath) -> PackagePart? {
        guard let held = try? HeldFolder(package, in: store) else { return nil }
        let readers = access.actsForCallers ? PackageReaders(held.descriptor) : nil
        for inner in Self.folders {
            guard let folder = inner == nil ? held : try? HeldFolder(inner.map { package.appending($0) } ?? package, in: store), let status = folder.status,
                inner == nil || readers?.mayEnter(folder.descriptor) ?? !access.actsForCallers
            else { continue }
            for name in Self.names {
                guard let found = folder.status(of: name), found.isRegular, found.st.st_size > 0, isReadable(found, name, byReadersOf: status, folder)
                else { continue }
                return PackagePart(path: (inner.map { package.appending($0) } ?? package).appending(name), status: found)
            }
        }
        return nil
    }
}
