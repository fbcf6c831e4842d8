public import QueryLanguage

/// Says which names are of which types.
public protocol TypeMatcher: Sendable {
    /// Whether a document with this name, of which only the end may be told, is of the type.
    func name(_ name: [UInt8], is type: TypePattern) -> Bool
}
