import CLinux
import DocumentIndex
import Glibc
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

    /// Changes the tags of each document; `change` returns nil to leave one as it is. Goes on after a failure, and fails in
    /// the end.
    static func change(_ paths: [PathArgument], _ change: ([Tag]) -> [Tag]?) throws(CommandFailure) {
        var failures: [String] = []
        let table = MountTable.current()
        for path in paths {
            do throws(CommandFailure) {
                guard let document = try open(path) else {
                    throw CommandFailure("\(shown(path.bytes)): is a folder; tags are for documents")
                }
                if let tags = change(document.tags) { try document.write(tags) }
                if (try? MountLocator.mount(holding: path.bytes, in: table)) == nil {
                    Output.error("quire: \(shown(path.bytes)): is in no Quire mount; the tag is kept with the file only")
                }
            } catch {
                failures.append(error.message)
            }
        }
        if !failures.isEmpty { throw CommandFailure(failures.joined(separator: "\nquire: ")) }
    }

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
