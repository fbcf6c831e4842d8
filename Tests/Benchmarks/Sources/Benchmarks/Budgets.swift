import FoundationEssentials

/// What a run must reach, from `budgets.json`.
struct Budgets: Decodable {
    /// The least ratio of Quire's figure to the plain folder's, by row.
    let plain: [String: Double]
    /// The least ratio to bindfs's.
    let bindfs: [String: Double]
    /// The most that a `LimitedRow` may be.
    let atMost: [String: Double]
    /// The least that a `RateRow` may be.
    let atLeast: [String: Double]
    /// The least ratio of a `RenderingRow` to the best of the others.
    let ofOthers: [String: Double]

    /// - Parameter profile: `root` or `user`.
    init(file: String, profile: String) throws {
        let data = try Data(contentsOf: URL(filePath: file))
        let profiles = try JSONDecoder().decode([String: Budgets].self, from: data)
        guard let found = profiles[profile] else { throw BudgetError.noSuchProfile(profile) }
        self = found
    }
}

enum BudgetError: Error {
    case noSuchProfile(String)
}
