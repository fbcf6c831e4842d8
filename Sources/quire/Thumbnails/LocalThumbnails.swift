import CLinux
import DocumentRendering
import Glibc
import Logging
import StorePrimitives
import Synchronization
import SystemPackage

/// Thumbnails of documents that are in no mount: rendered by this process, into the desktop's cache.
final class LocalThumbnails: ThumbnailSource {
    private let thumbnailer: Thumbnailer

    init() throws(CommandFailure) {
        thumbnailer = Thumbnailer(
            folder: try StateFolders.desktopThumbnails(), providers: ProviderTable(), workerProgram: WorkerProgram.path,
            threads: sysconf(Int32(truncatingIfNeeded: _SC_NPROCESSORS_ONLN)), log: Logger(label: "quire"))
    }

    deinit { thumbnailer.stop() }

    var place: String { thumbnailer.cache.folder }

    func render(_ path: [UInt8], _ size: ThumbnailSize) throws(CommandFailure) -> Descriptor {
        let subject = try Self.subject(path)
        let done = Signal()
        let outcome = Mutex<RenderOutcome?>(nil)
        thumbnailer.render(subject, size, .awaited) { result in
            outcome.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        switch outcome.withLock({ $0 }) {
        case .rendered(_, let entry):
            do throws(Errno) {
                return try thumbnailer.cache.open(entry, of: subject.uri, size)
            } catch {
                throw CommandFailure("\(shown(path)): its thumbnail is gone again: \(error)")
            }
        case .refused(let reason), .failed(let reason): throw CommandFailure("\(shown(path)): \(reason)")
        case nil: throw CommandFailure("\(shown(path)): it was not drawn")
        }
    }

    func clear(_ path: [UInt8]) throws(CommandFailure) -> Int {
        var count = 0
        var next = [path]
        while let path = next.popLast() {
            if thumbnailer.cache.remove(DesktopURI.uri(ofPath: path)) { count += 1 }
            var status = stat()
            guard withCString(path, { lstat($0, &status) }) == 0, FileSystem.isFolder(status) else { continue }
            next += (FileSystem.entries(path) ?? []).map { CanonicalPath.join(path, $0) }
        }
        return count
    }

    static func type(of path: [UInt8]) throws(Errno) -> DocumentType {
        if FileSystem.isFolder(try FileSystem.status(path)) { return .folder }
        let content = try open(path)
        let name = path.split(separator: UInt8(ascii: "/")).last.flatMap { EntryName($0) } ?? EntryName("document")
        return DocumentType(of: name) {
            var bytes = [UInt8](repeating: 0, count: 4 << 10)
            let count = cl_read(content.number, &bytes, bytes.count)
            return Array(bytes.prefix(Swift.max(0, Int(count))))
        }
    }

    private static func open(_ path: [UInt8]) throws(Errno) -> Descriptor {
        Descriptor(owning: try check(withCString(path) { cl_openat(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) }))
    }

    static func subject(_ path: [UInt8]) throws(CommandFailure) -> RenderSubject {
        let isFolder: Bool
        do throws(Errno) {
            let status = try FileSystem.status(path)
            isFolder = FileSystem.isFolder(status)
            guard isFolder || status.st_mode & S_IFMT == S_IFREG else { throw .invalidArgument }
        } catch {
            throw CommandFailure("\(shown(path)): \(error == .invalidArgument ? "is neither a document nor a folder" : "\(error)")")
        }
        let open: @Sendable () throws(Errno) -> Descriptor = { () throws(Errno) in try Self.open(path) }
        let name = path.split(separator: UInt8(ascii: "/")).last.flatMap { EntryName($0) } ?? EntryName("root")
        return RenderSubject(name: name, uri: DesktopURI.uri(ofPath: path), open: open, folder: isFolder ? folder(path) : nil)
    }

    private static func folder(_ path: [UInt8]) -> RenderSubject.Folder {
        RenderSubject.Folder { _ in
            let changed = changed(path) ?? 0
            let names = (FileSystem.entries(path) ?? []).filter { $0.first != UInt8(ascii: ".") }
            let parts = names.sorted { $0.lexicographicallyPrecedes($1) }.compactMap { name -> RenderSubject.Folder.Part? in
                let inner = CanonicalPath.join(path, name)
                guard let status = try? FileSystem.status(inner), status.st_mode & S_IFMT == S_IFREG, let subject = try? subject(inner)
                else { return nil }
                return RenderSubject.Folder.Part(subject, changed: saturatedNanoseconds(status.st_ctim))
            }
            return (changed, parts)
        } isCurrent: { made, _ in
            changed(path) == made.changed
                && made.parts.allSatisfy { changed(CanonicalPath.join(path, Array($0.name.bytes))) == $0.changed }
        }
    }

    private static func changed(_ path: [UInt8]) -> Int64? { (try? FileSystem.status(path)).map { saturatedNanoseconds($0.st_ctim) } }
}
