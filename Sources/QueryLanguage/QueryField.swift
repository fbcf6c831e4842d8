/// What a term can be about: what stands before its colon.
enum QueryField: String, CaseIterable {
    case after, before, by, date, ext, `in`, `is`, kind, mime, name, path, size, tag, type

    /// For messages.
    static let names = allCases.map { $0.rawValue + ":" }.joined(separator: ", ")
}
