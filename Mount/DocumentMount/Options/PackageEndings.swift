import DocumentRendering
import DocumentStore
import StorePrimitives

/// Which folders are packages, as the option `packages` says: by the endings of their names.
public struct PackageEndings: Hashable, Sendable {
    /// Without the dot.
    public var endings: [String]
    /// Whether types count that the desktop's type database derives from `inode/directory`.
    public var includesDeclared: Bool

    /// The documents that apps of macOS and of the desktop keep as folders. OpenDocument allows a document to be one (part 2, section 2).
    public static let standard = PackageEndings(
        endings: [
            "app", "band", "dtbase2", "fcpbundle", "graffle", "key", "logicx", "mindnode", "numbers", "oo3", "pages", "photoslibrary", "playground",
            "rtfd", "scriv", "sparsebundle", "textbundle", "ulysses", "xcassets", "xcodeproj", "xcworkspace",
            "odb", "odc", "odf", "odg", "odi", "odm", "odp", "ods", "odt", "otg", "oth", "otp", "ots", "ott",
        ], includesDeclared: true)

    public static let none = PackageEndings(endings: [], includesDeclared: false)
}

extension Packages {
    convenience init(_ option: PackageEndings, isForOneUser: Bool) {
        let isDeclared: @Sendable (EntryName) -> Bool = { name in DocumentType(of: name) { [] }.isA(.folder) }
        self.init(endings: option.endings, countsAll: isForOneUser, isDeclared: option.includesDeclared && DocumentType.hasTypesOfFolders ? isDeclared : nil)
    }
}

extension MountOptions {
    /// Takes the option `packages`.
    mutating func addPackages(_ value: String?) throws(MountOptionError) {
        let expected = "endings of folders' names, such as sketch:project, or none to take away those so far"
        let list = try Self.list("packages", value, expected: expected)
        if list.isAnew { packages = .none }
        for ending in list.names {
            // As people also write them.
            let bare = ending.drop { $0 == "*" || $0 == "." }
            guard !bare.isEmpty else { throw .unusable(option: "packages", value: value, expected: expected) }
            packages.endings.append(String(bare))
        }
    }
}
