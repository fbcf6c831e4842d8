import CLinux
import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import SystemPackage
import DocumentRendering

/// Thumbnails of documents in a mount: looked up in its folder `.thumbnails`, where the daemon renders them.
struct MountedThumbnails: ThumbnailSource {
    let mount: MountTable.Entry
    /// How long a picture is waited for, in nanoseconds: a document may take a minute, and stand behind others.
    private static let timeout: Int64 = 120_000_000_000

    var place: String { shown(mount.mountPoint) + "/.thumbnails" }

    func render(_ path: [UInt8], _ size: ThumbnailSize) throws(CommandFailure) -> Descriptor {
        let inside = path.dropFirst(mount.mountPoint.count)
        guard !inside.isEmpty else { throw CommandFailure("\(shown(path)): the mount itself has no thumbnail") }
        let picture = mount.mountPoint + Array("/.thumbnails/\(size.rawValue)".utf8) + inside + Array(".png".utf8)
        let deadline = cl_monotonic_ns() + Self.timeout
        while true {
            do throws(Errno) {
                return Descriptor(owning: try check(withCString(picture) { cl_openat(AT_FDCWD, $0, O_RDONLY, 0) }))
            } catch .noSuchFileOrDirectory {
                // A lookup waits for ten seconds; others may be before it.
                if let reason = try reason(path) { throw CommandFailure("\(shown(path)): \(reason)") }
                guard cl_monotonic_ns() < deadline else {
                    throw CommandFailure("\(shown(path)): it was not drawn in \(Self.timeout / 1_000_000_000) seconds; try again")
                }
                usleep(50_000)
            } catch {
                throw CommandFailure("\(shown(picture)): \(error)")
            }
        }
    }

    /// Why it cannot be rendered; nil if nothing is known of that.
    private func reason(_ path: [UInt8]) throws(CommandFailure) -> String? {
        do throws(Errno) {
            let status = try FileSystem.status(path)
            if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 { return "it is empty" }
        } catch {
            return "\(error)"
        }
        if let reason = try MountLocator.ask(mount, ThumbnailInterface.why, .init(DocumentPath(path))).reason { return reason }
        return try MountLocator.ask(mount, MountInterface.status).status.thumbnailTrouble
    }

    func clear(_ path: [UInt8]) throws(CommandFailure) -> Int {
        try MountLocator.ask(mount, ThumbnailInterface.clear, .init(DocumentPath(path))).documents
    }
}
