import CGio
public import StorePrimitives

/// What kind of content a file has, by the desktop's type database (shared-mime-info).
public struct DocumentType: Hashable, Sendable, CustomStringConvertible {
    /// A MIME type: `image/png`.
    public let name: String

    public init(_ name: String) { self.name = name }

    public static let folder = DocumentType("inode/directory")
    public static let plainText = DocumentType("text/plain")
    public static let unknown = DocumentType("application/octet-stream")

    /// By the name, and where that says nothing, by how the content begins.
    /// - Parameter beginning: called at most once, for the first bytes; 4 KiB are enough for all types.
    public init(of name: EntryName, beginning: () -> [UInt8]) {
        var isUncertain: gboolean = 0
        let byName = name.withCString { Self.taking(g_content_type_guess($0, nil, 0, &isUncertain)) }
        guard byName == .unknown || isUncertain != 0 else {
            self = byName
            return
        }
        let bytes = beginning()
        guard !bytes.isEmpty else {
            self = byName
            return
        }
        self = name.withCString { Self.taking(g_content_type_guess($0, bytes, gsize(clamping: bytes.count), nil)) }
    }

    private static func taking(_ text: UnsafeMutablePointer<CChar>?) -> DocumentType {
        guard let text else { return unknown }
        defer { g_free(text) }
        return DocumentType(String(cString: text))
    }

    /// Whether what has this type also has the other: `text/x-csrc` is `text/plain`.
    public func isA(_ other: DocumentType) -> Bool {
        self == other || g_content_type_is_a(name, other.name) != 0
    }

    /// The types of the desktop's type database: some 1,000.
    private static var registered: [DocumentType] {
        guard let list = g_content_types_get_registered() else { return [] }
        defer { g_list_free_full(list, g_free) }
        var types: [DocumentType] = []
        var next: UnsafeMutablePointer<GList>? = list
        while let item = next {
            types.append(DocumentType(String(cString: item.pointee.data.assumingMemoryBound(to: CChar.self))))
            next = item.pointee.next
        }
        return types
    }

    /// The types that this one is also of, the most specific first.
    public var ancestors: [DocumentType] {
        let found = Self.registered.filter { $0 != self && isA($0) }
        // A type is of fewer kinds the more general it is.
        let depth = Dictionary(found.map { type in (type, found.count { type.isA($0) }) }, uniquingKeysWith: max)
        return found.sorted { (depth[$0, default: 0], $1.name) > (depth[$1, default: 0], $0.name) }
    }

    /// Whether programs have declared types of folders: others than the database's own, which are in `inode/`. O(types).
    public static var hasTypesOfFolders: Bool { registered.contains { !$0.name.hasPrefix("inode/") && $0.isA(.folder) } }

    /// Whether the desktop's type database has it. O(types).
    public var isRegistered: Bool { Self.registered.contains(self) }

    /// For a person: `PNG image`.
    public var explanation: String {
        guard let text = g_content_type_get_description(name) else { return name }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// The name of the icon for types of this sort, `x-office-document` say: the desktop's own grouping of types.
    public var genericIcon: String {
        guard let text = g_content_type_get_generic_icon_name(name) else { return "" }
        defer { g_free(text) }
        return String(cString: text)
    }

    public var description: String { name }
}
