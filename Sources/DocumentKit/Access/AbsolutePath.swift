import Foundation
import Glibc
import MountProtocol
import StorePrimitives

/// Where an item is, or would be: an absolute path in which no folder is a link. The item itself may be one.
struct AbsolutePath: Hashable, Sendable {
    /// The path from `/` on.
    private let inRoot: StorePath

    private init(_ inRoot: StorePath) { self.inRoot = inRoot }

    init(_ path: DocumentPath) { inRoot = StorePath(parsing: path.bytes.drop { $0 == UInt8(ascii: "/") }) ?? .root }

    /// - Parameter resolvesLink: if the item is a symbolic link, what it leads to is meant.
    init(_ url: URL, resolvesLink: Bool) throws(FileCoordinationError) {
        let bytes: [UInt8]? = !url.isFileURL ? nil : url.absoluteURL.withUnsafeFileSystemRepresentation { text in
            // Safe: the text ends with a NUL and is only read here.
            text.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
        }
        guard let bytes else { throw .failed("\(url.absoluteString): is not the URL of a file") }
        var names = bytes.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }[...]
        let keepsLast = !resolvesLink && names.last.map { !$0.elementsEqual("..".utf8) } ?? false
        let last = keepsLast ? names.popLast() : nil
        let folder = Self.resolved(Array(names))
        inRoot = last.flatMap { EntryName($0) }.map { folder.appending($0) } ?? folder
    }

    /// The longest part that is there without links, and the rest as it is: a mount without its daemon has a path, too.
    private static func resolved(_ names: [ArraySlice<UInt8>]) -> StorePath {
        let text = [UInt8(ascii: "/")] + names.joined(separator: [UInt8(ascii: "/")])
        if let found = withCString(text, { realpath($0, nil) }) {
            defer { free(found) }
            let bytes = UnsafeRawBufferPointer(start: found, count: strlen(found)).dropFirst()
            return StorePath(unchecked: Array(bytes))
        }
        guard let last = names.last else { return .root }
        let folder = resolved(Array(names.dropLast()))
        if last.elementsEqual("..".utf8) { return folder.parent }
        return EntryName(last).map { folder.appending($0) } ?? folder
    }

    var bytes: [UInt8] { [UInt8(ascii: "/")] + inRoot.bytes }
    var wire: DocumentPath { DocumentPath(bytes) }

    /// The URL of what is not known to be a folder.
    var url: URL {
        if let text = String(validating: bytes, as: UTF8.self) { return URL(filePath: text, directoryHint: .notDirectory) }
        return URL(string: wire.wire) ?? URL(filePath: wire.description, directoryHint: .notDirectory)
    }

    var parent: AbsolutePath { AbsolutePath(inRoot.parent) }
    var isRoot: Bool { inRoot.isRoot }

    /// At any depth; not the folder itself.
    func isInside(_ folder: AbsolutePath) -> Bool { inRoot.isInside(folder.inRoot) }

    /// The path after `old` was moved to `new`; nil if that does not concern it.
    func moved(from old: AbsolutePath, to new: AbsolutePath) -> AbsolutePath? {
        inRoot.moved(from: old.inRoot, to: new.inRoot).map(AbsolutePath.init)
    }

    /// Whether there is something, links not followed.
    var exists: Bool {
        var status = stat()
        return Self.withCString(bytes) { lstat($0, &status) } == 0
    }

    /// Calls `body` with the bytes and a NUL, valid for the call.
    static func withCString<Result>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Result) -> Result {
        // Safe: UInt8 and CChar have one layout, and the buffer outlives the call.
        (bytes + [0]).withUnsafeBytes { body($0.assumingMemoryBound(to: CChar.self).baseAddress!) }
    }
}

extension AbsolutePath: CustomStringConvertible {
    /// For messages: invalid UTF-8 shows as U+FFFD.
    var description: String { String(decoding: bytes, as: UTF8.self) }
}
