import CLinux
import DocumentRendering
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
    func picture(inPackage package: StorePath, _ status: cl_status) -> PackagePart? {
        for name in Self.folders {
            let path = name.map { package.appending($0) } ?? package
            guard let folder = try? HeldFolder(path, in: store), let folderStatus = folder.status, isOpen(folderStatus, folder, toReadersOf: status)
            else { continue }
            for name in Self.names {
                guard let found = folder.status(of: name), found.isRegular, found.st.st_size > 0, isReadable(found, name, byReadersOf: folderStatus, folder)
                else { continue }
                return PackagePart(path: path.appending(name), status: found)
            }
        }
        return nil
    }

    /// Whether a folder in a package may be entered by all who may enter the package.
    private func isOpen(_ folder: cl_status, _ held: HeldFolder, toReadersOf package: cl_status) -> Bool {
        guard access.actsForCallers else { return true }
        return folder.st.st_uid == package.st.st_uid && folder.st.st_gid == package.st.st_gid && !held.hasAccessList
            && package.st.st_mode & 0o555 & ~folder.st.st_mode == 0
    }

    /// What a part of a package's picture is now.
    func status(ofPart name: EntryName, inPackage package: StorePath) -> cl_status? {
        Self.folders.lazy.compactMap { [store] folder in
            (try? HeldFolder(folder.map { package.appending($0) } ?? package, in: store))?.status(of: name)
        }.first
    }
}
