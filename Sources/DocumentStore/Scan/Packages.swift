public import StorePrimitives

/// Which folders are packages: a package is a folder that people see as one document (a Scrivener project, a TextBundle, an OpenDocument
/// folder). A folder is one by the ending of its name alone, and all that is in a package is a part of it.
public final class Packages: Sendable {
    /// Lower case, without the dot.
    private let endings: Set<[UInt8]>
    private let isDeclared: (@Sendable (EntryName) -> Bool)?
    /// Whether all that is in a package counts for its size and time, as on a mount of one user. Else folders in it count only if all may read
    /// them who may read the package: nobody is to learn of files that they cannot see.
    public let countsAll: Bool
    /// Found of endings that are not listed. They hold as long as this object: no folder turns into a package meanwhile. Leaf.
    private let found = Locked<[[UInt8]: Bool]>([:])
    private static let mostFound = 10_000

    /// - Parameters:
    ///   - endings: of names, without the dot. Case does not count.
    ///   - countsAll: see the property.
    ///   - isDeclared: whether folders of a name are packages by a type that is declared elsewhere; asked once for each ending.
    public init(endings: some Sequence<String>, countsAll: Bool = true, isDeclared: (@Sendable (EntryName) -> Bool)? = nil) {
        self.countsAll = countsAll
        self.endings = Set(endings.map { Self.lowercase($0.utf8) })
        self.isDeclared = isDeclared
    }

    /// Whether a folder of this name is a package.
    public func isPackage(_ name: EntryName) -> Bool { isPackage(name.bytes[...]) }

    /// Whether what stands at a path is a package, if it is a folder.
    public func isPackage(_ path: StorePath) -> Bool { path.lastName.map(isPackage) ?? false }

    /// The package that a path leads into, the outermost one; else the path itself. O(names of the path).
    public func whole(_ path: StorePath) -> StorePath {
        let bytes = path.bytes
        guard bytes.contains(Self.dot) else { return path }
        var length = 0
        for name in bytes.split(separator: Self.slash).dropLast() {
            length += name.count
            if isPackage(name) { return StorePath(unchecked: Array(bytes.prefix(length))) }
            length += 1
        }
        return path
    }

    /// Whether a path leads into a package.
    public func isPart(_ path: StorePath) -> Bool { whole(path) != path }

    private func isPackage(_ name: ArraySlice<UInt8>) -> Bool {
        // A name that begins with its only dot has no ending.
        guard let end = name.lastIndex(of: Self.dot), end > name.startIndex else { return false }
        let ending = Self.lowercase(name.suffix(name.endIndex &- end &- 1))
        guard !ending.isEmpty else { return false }
        if endings.contains(ending) { return true }
        guard let isDeclared else { return false }
        if let known = found.withLock({ $0[ending] }) { return known }
        let isPackage = EntryName(Array("a.".utf8) + ending).map(isDeclared) ?? false
        return found.withLock { found in
            if let known = found[ending] { return known }
            if found.count < Self.mostFound { found[ending] = isPackage }
            return isPackage
        }
    }

    private static let dot = UInt8(ascii: ".")
    private static let slash = UInt8(ascii: "/")

    private static func lowercase(_ text: some Sequence<UInt8>) -> [UInt8] {
        text.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
