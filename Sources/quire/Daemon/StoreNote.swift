import CLinux
import DocumentMount
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Which store a state folder is of, in its file `store`: two numbers, and on the next line the store's path.
struct StoreNote: Equatable {
    let store: [UInt8]
    /// Whether the store is on the state folder's own file system, and not on one that may be away with its disk.
    let isBeside: Bool
    /// How long lost saves are kept.
    let keepSeconds: Int64

    private static let name = "store"

    init(_ configuration: MountConfiguration) {
        store = configuration.store
        keepSeconds = configuration.options.keptLimits.seconds
        let places = [configuration.store, Array(configuration.stateFolder.utf8)]
        isBeside = Set(places.map { try? FileSystem.status($0).st_dev }).count == 1
    }

    /// What is noted in a state folder with this name; nil if that is nothing, or something else. An earlier version noted the mount
    /// point alone, in the lock, and that is the store of a mount in place.
    init?(in folder: Descriptor, named id: String) {
        func lines(_ name: String) -> (first: String, rest: [UInt8])? {
            let content = FileSystem.contents("/proc/self/fd/\(folder.number)/\(name)") ?? []
            let lines = content.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
            guard let first = lines.first, let rest = lines.dropFirst().first else { return nil }
            return (String(decoding: first, as: UTF8.self), Array(rest))
        }
        if let (first, path) = lines(Self.name) {
            let numbers = first.split(separator: " ").map { Int64($0) }
            guard numbers.count == 2, let beside = numbers.first ?? nil, let seconds = numbers.last ?? nil else { return nil }
            (store, isBeside, keepSeconds) = (path, beside == 1, seconds)
        } else if let (_, mountPoint) = lines("lock") {
            (store, isBeside, keepSeconds) = (mountPoint, false, .max)
        } else {
            return nil
        }
        guard StoreID(canonicalPath: store).description == id else { return nil }
    }

    /// Writes it, if it is not there yet. Without it the folder is never removed, no more.
    func write(to stateFolder: String, _ log: Logger) {
        let path = "\(stateFolder)/\(Self.name)"
        let content = Array("\(isBeside ? 1 : 0) \(keepSeconds)\n".utf8) + store
        guard FileSystem.contents(path) != content else { return }
        do throws(Errno) {
            try WholeFile.replace(path, with: content)
        } catch {
            log.warning("\(path): cannot be written: \(error)")
        }
    }
}
