import CLinux
import DocumentIndex
import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import SystemPackage

/// A document's tags, read and written through the path given, in a mount or not.
struct TaggedDocument {
    private static let attribute = "user.xdg.tags"

    let path: [UInt8]
    let tags: [Tag]
    private let value: [UInt8]

    /// Reads the tags of a document; nil if the path is a folder.
    static func open(_ argument: PathArgument) throws(CommandFailure) -> TaggedDocument? {
        let path = argument.bytes
        do {
            if FileSystem.isFolder(try FileSystem.status(path)) { return nil }
            let value = try FileSystem.attribute(attribute, of: path)
            return TaggedDocument(path: path, tags: Tag.parse(value), value: value)
        } catch .noData {
            return TaggedDocument(path: path, tags: [], value: [])
        } catch {
            throw failure(error, path)
        }
    }

    /// Adds tags to documents, and removes others. Goes on after a failure, and fails in the end. Those in a mount are changed by its daemon,
    /// many at once.
    static func change(_ paths: [PathArgument], adding: [Tag] = [], removing: [Tag] = []) throws(CommandFailure) {
        var (failures, others): ([String], [PathArgument]) = ([], [])
        var inMounts: [MountTable.Entry: [DocumentPath: PathArgument]] = [:]
        let table = MountTable.current()
        var folders = ResolvedFolders()
        for path in paths {
            guard let place = folders.resolve(path.bytes), let mount = table.holding(place), mount.isQuire else {
                others.append(path)
                continue
            }
            inMounts[mount, default: [:]][DocumentPath(place)] = path
        }
        for (mount, documents) in inMounts {
            let failed = try MountLocator.ask(mount) { (service) throws(ServiceCallError) in
                var failed: [PathFailure] = []
                for part in parts(of: documents.keys) {
                    failed += try service.call(MountInterface.changeTags, .init(part, add: adding.map(\.text), remove: removing.map(\.text))).failures
                }
                return failed
            }
            for failure in failed {
                guard let path = documents[failure.path] else { continue }
                if failure.claimed == true { others.append(path) } else { failures.append("\(shown(path.bytes)): \(failure.message)") }
            }
        }
        for path in others {
            do throws(CommandFailure) {
                guard let document = try open(path) else {
                    throw CommandFailure("\(shown(path.bytes)): is a folder; tags are for documents")
                }
                let kept = document.tags.filter { !removing.contains($0) }
                let tags = kept + adding.filter { !kept.contains($0) }
                if tags != document.tags { try document.write(tags) }
                if (try? MountLocator.mount(holding: path.bytes, in: table)) == nil {
                    Output.error("quire: \(shown(path.bytes)): is in no Quire mount; the tag is kept with the file only")
                }
            } catch {
                failures.append(error.message)
            }
        }
        if !failures.isEmpty { throw CommandFailure(failures.joined(separator: "\nquire: ")) }
    }

    /// What fits into a message, which has a megabyte at most: in JSON a byte of a path may take six.
    private static func parts(of paths: some Sequence<DocumentPath>) -> [[DocumentPath]] {
        var (parts, part, bytes): ([[DocumentPath]], [DocumentPath], Int) = ([], [], 0)
        for path in paths {
            if bytes + path.bytes.count > mostBytes, !part.isEmpty {
                parts.append(part)
                (part, bytes) = ([], 0)
            }
            part.append(path)
            bytes += path.bytes.count
        }
        return part.isEmpty ? parts : parts + [part]
    }

    private static let mostBytes = 150_000

    private func write(_ tags: [Tag]) throws(CommandFailure) {
        let written = Tag.format(tags, keeping: value)
        let result = withCString(path) { path in
            written.isEmpty
                ? cl_removexattr(path, Self.attribute)
                : cl_setxattr(path, Self.attribute, written, written.count, 0)
        }
        if result < 0, result != -ENODATA { throw Self.failure(Errno(rawValue: -result), path) }
    }

    private static func failure(_ error: Errno, _ path: [UInt8]) -> CommandFailure {
        switch error {
        case .notSupported:
            CommandFailure("\(shown(path)): this file system keeps no attributes, so no tags; mount it with Quire")
        default: CommandFailure("\(shown(path)): \(error)")
        }
    }
}
