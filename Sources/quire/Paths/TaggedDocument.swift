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
        let table = MountTable.current()
        var folders = ResolvedFolders()
        let first = try ask(for: paths, in: table, adding: adding, removing: removing) { folders.place(of: $0) }
        // Whether a path leads through a link at its end is looked at only now: each look is a system call.
        var (links, failures): ([PathArgument], [String]) = ([], [])
        for (path, failure) in first.failed {
            do throws(Errno) {
                if try CanonicalPath.resolve(path.bytes) == failure.path.bytes { failures.append("\(shown(path.bytes)): \(failure.message)") } else { links.append(path) }
            } catch {
                failures.append("\(shown(path.bytes)): \(error)")
            }
        }
        let second = try ask(for: first.elsewhere + links, in: table, adding: adding, removing: removing) { try? CanonicalPath.resolve($0) }
        failures += second.failed.map { "\(shown($0.path.bytes)): \($0.failure.message)" }
        for path in first.claimed + second.claimed + second.elsewhere {
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

    /// The paths that the daemons have not changed.
    private struct Answer {
        var failed: [(path: PathArgument, failure: PathFailure)] = []
        /// A claim decides by the process that changes them.
        var claimed: [PathArgument] = []
        /// In no mount.
        var elsewhere: [PathArgument] = []
    }

    /// Has the daemons of mounts change the documents at the places that `resolve` tells.
    private static func ask(
        for paths: [PathArgument], in table: MountTable, adding: [Tag], removing: [Tag], at resolve: ([UInt8]) -> [UInt8]?
    ) throws(CommandFailure) -> Answer {
        var answer = Answer()
        var inMounts: [MountTable.Entry: [DocumentPath: PathArgument]] = [:]
        for path in paths {
            guard let place = resolve(path.bytes), let mount = table.holding(place), mount.isQuire else {
                answer.elsewhere.append(path)
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
                if failure.claimed == true { answer.claimed.append(path) } else { answer.failed.append((path, failure)) }
            }
        }
        return answer
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
