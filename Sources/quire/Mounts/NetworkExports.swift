import StorePrimitives

/// The folders that this machine exports by NFS (exports(5)).
///
/// The kernel's NFS server names files by handles. It asks FUSE for the inode of one, which has it only as long as the kernel keeps it in
/// memory: later the client is told ESTALE. And it opens a document anew for each of a client's writes, so none of these is a save.
package struct NetworkExports {
    private struct Export {
        let path: [UInt8]
        /// File systems mounted below it are exported with it.
        let crosses: Bool
    }
    private let exports: [Export]

    package init(parsing texts: [[UInt8]]) { exports = texts.flatMap(Self.exports(in:)) }

    /// Of /etc/exports, and of the files in /etc/exports.d. Empty if they cannot be read.
    package static func current() -> NetworkExports {
        let folder = Array("/etc/exports.d/".utf8)
        let others = (FileSystem.entries(folder) ?? []).filter { $0.suffix(8).elementsEqual(".exports".utf8) }.map { folder + $0 }
        return NetworkExports(parsing: ([Array("/etc/exports".utf8)] + others).compactMap { FileSystem.contents($0) })
    }

    /// An exported folder by which clients come to a mount; nil if there is none.
    package func reaching(_ mountPoint: [UInt8]) -> [UInt8]? {
        exports.first { export in
            CanonicalPath.isWithin(export.path, mountPoint) || export.crosses && CanonicalPath.isWithin(mountPoint, export.path)
        }?.path
    }

    /// The consequence for clients, and the remedy.
    package static let finding = "NFS clients would meet \"Stale file handle\" there, and their saves are not whole"
    package static let remedy = "share it by Samba (smbd): its clients' saves are transactions"

    private static func exports(in text: [UInt8]) -> [Export] {
        let joined = String(decoding: text, as: UTF8.self).replacing("\\\n", with: " ")
        return joined.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let path = path(at: line), path.first == UInt8(ascii: "/") else { return nil }
            let options = String(line) ?? ""
            return Export(path: path, crosses: options.contains("crossmnt") || options.contains("nohide"))
        }
    }

    /// The line's first word: in double quotes, or with spaces as `\040`.
    private static func path(at line: Substring.UTF8View) -> [UInt8]? {
        let words = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = words.first, first != UInt8(ascii: "#") else { return nil }
        if first == UInt8(ascii: "\"") { return Array(words.dropFirst().prefix { $0 != UInt8(ascii: "\"") }) }
        return MountTable.unescaped(Array(words.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") })[...])
    }
}
