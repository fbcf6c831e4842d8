import ArgumentParser
import StorePrimitives
import SystemPackage

/// Which folders a mount is made of. Their paths may lead to others when it is made, or made again after its daemon died: whoever may
/// rename a folder on a path decides where it leads.
struct MountedFolders: LosslessStringConvertible, ExpressibleByArgument {
    let store, mountPoint: FileIdentity

    /// Looks at what is there; both paths are canonical.
    init(store: [UInt8], mountPoint: [UInt8]) throws(CommandFailure) {
        self.store = try Self.identity(store)
        self.mountPoint = try Self.identity(mountPoint)
    }

    init?(_ description: String) {
        let parts = description.split(separator: ",").compactMap { FileIdentity(String($0)) }
        guard parts.count == 2, let store = parts.first, let mountPoint = parts.last else { return nil }
        (self.store, self.mountPoint) = (store, mountPoint)
    }

    var description: String { "\(store),\(mountPoint)" }

    private static func identity(_ path: [UInt8]) throws(CommandFailure) -> FileIdentity {
        do throws(Errno) {
            let folder = try Descriptor(openingCanonical: path)
            guard let identity = FileIdentity(of: folder) else { throw .ioError }
            return identity
        } catch {
            throw CommandFailure("\(shown(path)): cannot be opened: \(error)")
        }
    }
}
