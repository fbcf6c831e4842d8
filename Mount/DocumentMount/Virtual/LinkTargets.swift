import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// Finds the documents and folders of the store to which symbolic links lead that users make in virtual folders.
struct LinkTargets: Sendable {
    let access: AccessChecker
    let packages: Packages
    /// Absolute paths that lead into the store, for links made by absolute paths.
    let prefixes: [[UInt8]]

    /// The document, or the folder, that a link leads to by its text alone; nil if that is none of the store's, or the caller may not read it.
    /// - Parameter depth: how many levels below the mount's root the link's folder is.
    func item(linkedBy target: [UInt8], fromDepth depth: Int, _ caller: Credentials) -> (path: StorePath, isFolder: Bool)? {
        let slash = UInt8(ascii: "/")
        var names: [ArraySlice<UInt8>]
        if target.first == slash {
            guard let prefix = prefixes.first(where: { target.starts(with: $0 + [slash]) }) else { return nil }
            names = target.dropFirst(prefix.count).split(separator: slash)
        } else {
            let parts = target.split(separator: slash)
            let ups = parts.prefix { $0.elementsEqual("..".utf8) }.count
            guard ups == depth else { return nil }
            names = Array(parts.dropFirst(ups))
        }
        names.removeAll { $0.elementsEqual(".".utf8) }
        guard let path = StorePath(parsing: names.joined(separator: [slash])) else { return nil }
        return item(at: path, caller)
    }

    /// The document or folder at a path, or the package that it leads into. Nil for anything else, and alike for a path where nothing is and one that the caller may not read.
    func item(at place: StorePath, _ caller: Credentials) -> (path: StorePath, isFolder: Bool)? {
        let path = packages.whole(place)
        guard !path.isRoot, let held = access.held(path, by: caller, R_OK), let status = try? FileStatus(of: held) else { return nil }
        switch status.st.st_mode & S_IFMT {
        case S_IFREG: return (path, false)
        case S_IFDIR: return (path, !packages.isPackage(path))
        default: return nil
        }
    }
}
