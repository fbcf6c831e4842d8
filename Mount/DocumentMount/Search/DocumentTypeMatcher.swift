import DocumentIndex
import DocumentRendering
import QueryLanguage
import StorePrimitives

/// Tells the types of names by the desktop's type database (shared-mime-info).
final class DocumentTypeMatcher: TypeMatcher {
    private struct Known {
        var types: [[UInt8]: DocumentType] = [:]
        /// When the first of them was found out.
        var since: Int64 = 0
    }
    /// Of the ends of names met until now. A leaf lock.
    private let known = Locked(Known())
    private static let capacity = 10_000
    /// Types may be declared meanwhile.
    private static let lifetime: Int64 = 5_000_000_000

    func name(_ name: [UInt8], is pattern: TypePattern) -> Bool {
        guard let type = type(of: name) else { return false }
        switch pattern {
        case .mime(let pattern): return Array(type.name.utf8).withUnsafeBytes { pattern.isPlain ? pattern.literal.elementsEqual($0) : pattern.matches($0) }
        case .kind(let kind): return kind.has(type)
        case .derived(let from) where from.contains("/"): return type.isA(DocumentType(from))
        // The type of documents that have this at their names' end.
        case .derived(let ending): return self.type(of: Array(".\(ending)".utf8)).map { type.isA($0) } ?? false
        }
    }

    /// Nil for a type that is not known.
    private func type(of name: [UInt8]) -> DocumentType? {
        let now = Clock.now
        let type = known.withLock { now - $0.since < Self.lifetime ? $0.types[name] : nil } ?? {
            // A name that begins with a dot has no ending.
            let whole = name.first == UInt8(ascii: ".") ? Array("a".utf8) + name : name
            let found = EntryName(whole).map { DocumentType(of: $0) { [] } } ?? .unknown
            known.withLock { known in
                if known.types.count >= Self.capacity || now - known.since >= Self.lifetime { known = Known(since: now) }
                known.types[name] = found
            }
            return found
        }()
        return type == .unknown ? nil : type
    }
}

extension DocumentKind {
    fileprivate func has(_ type: DocumentType) -> Bool {
        switch self {
        case .archive: type.genericIcon == "package-x-generic"
        case .audio: type.name.hasPrefix("audio/")
        case .document: type.genericIcon == "x-office-document"
        case .font: type.genericIcon == "font-x-generic"
        case .image: type.name.hasPrefix("image/")
        case .mail: type.name.hasPrefix("message/") || type.name == "application/mbox"
        case .presentation: type.genericIcon == "x-office-presentation"
        case .spreadsheet: type.genericIcon == "x-office-spreadsheet"
        case .text: type.isA(.plainText) && !type.name.hasPrefix("image/")
        case .video: type.name.hasPrefix("video/")
        }
    }
}
