import FoundationEssentials

/// The table of all rows, from the lines that the rounds printed.
struct BenchmarkReport {
    /// The best figure of each contender by row; the largest of a `LimitedRow`.
    private var figures: [String: [Contender: Double]] = [:]
    private var rounds: [String: [Contender: [Double]]] = [:]
    private let budgets: Budgets

    init(results: String, budgets: Budgets) throws {
        self.budgets = budgets
        let text = try String(contentsOf: URL(filePath: results), encoding: .utf8)
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: "\t")
            guard fields.count == 3, let contender = Contender(rawValue: String(fields[0])), let value = Double(fields[2])
            else { throw ReportError.notAResult(String(line)) }
            let row = String(fields[1])
            rounds[row, default: [:]][contender, default: []].append(value)
            figures[row, default: [:]][contender] = max(figures[row]?[contender] ?? 0, value)
        }
    }

    /// Prints the table. Returns how many rows miss their budget. The best rounds are compared; the last ratio is that of the medians
    /// to bindfs's, which tells what an app meets on the whole.
    func show() -> Int {
        var missed = 0
        show(["row", "unit", "plain", "bindfs", "quire", "of plain", "of bindfs", "medians"], "budget")
        for row in Row.allCases {
            let values = figures[row.rawValue] ?? [:]
            let ofPlain = ratio(values, to: .plain)
            let bindfs = row.comparedWithBindfs.rawValue
            let ofBindfs = ratio(compared(values, figures[bindfs]), to: .bindfs)
            var remarks: [String] = []
            for (name, ratio, least) in [
                ("plain", ofPlain, budgets.plain[row.rawValue]), ("bindfs", ofBindfs, budgets.bindfs[row.rawValue]),
            ] {
                guard let least else { continue }
                let isKept = ratio.map { $0 >= least } ?? false
                if !isKept { missed += 1 }
                remarks.append("\(isKept ? "" : "MISSED ")\(least) of \(name)")
            }
            let columns = [row.rawValue, row.unit] + Self.columns.map { number(values[$0], digits: 0) }
            let all = compared(rounds[row.rawValue] ?? [:], rounds[bindfs])
            let medians = ratio(all.mapValues(Self.median), to: .bindfs)
            show(columns + [ofPlain, ofBindfs, medians].map { number($0, digits: 2) }, remarks.joined(separator: ", "))
        }
        for row in LimitedRow.allCases {
            let values = figures[row.rawValue] ?? [:]
            var remark = ""
            if let most = budgets.atMost[row.rawValue] {
                let isKept = values[.quire].map { $0 <= most } ?? false
                if !isKept { missed += 1 }
                remark = "\(isKept ? "" : "MISSED ")at most \(most)"
            }
            let columns = [row.rawValue, row.unit] + Self.columns.map { number(values[$0], digits: 1) }
            show(columns + ["", "", ""], remark)
        }
        for row in RateRow.allCases {
            let values = figures[row.rawValue] ?? [:]
            var remark = ""
            if let least = budgets.atLeast[row.rawValue] {
                let isKept = values[.quire].map { $0 >= least } ?? false
                if !isKept { missed += 1 }
                remark = "\(isKept ? "" : "MISSED ")at least \(number(least, digits: 0))"
            }
            let figures = ["", "", number(values[.quire], digits: 0), "", "", ""]
            show([row.rawValue, "pairs/s"] + figures, "\(remark); PostgreSQL \(number(values[.postgres], digits: 0))")
        }
        for row in RenderingRow.allCases {
            let values = figures[row.rawValue] ?? [:]
            let best = [Contender.gdkPixbuf, .tumbler].compactMap { values[$0] }.max()
            let ratio = best.flatMap { best in values[.quire].map { $0 / best } }
            var remark = ""
            if let least = budgets.ofOthers[row.rawValue] {
                let isKept = ratio.map { $0 >= least } ?? false
                if !isKept { missed += 1 }
                remark = "\(isKept ? "" : "MISSED ")\(least) of the best of the others; "
            }
            remark += "\(number(ratio, digits: 2)); gdk-pixbuf \(number(values[.gdkPixbuf], digits: 1)), tumbler \(number(values[.tumbler], digits: 1))"
            show([row.rawValue, "drawn/s", "", "", number(values[.quire], digits: 1), "", "", ""], remark)
        }
        return missed
    }

    private static let columns: [Contender] = [.plain, .bindfs, .quire]

    /// A row's figures with bindfs's of the row it is compared with.
    private func compared<Figure>(_ own: [Contender: Figure], _ other: [Contender: Figure]?) -> [Contender: Figure] {
        own.merging([.bindfs: other?[.bindfs]].compactMapValues { $0 }) { $1 }
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private func ratio(_ values: [Contender: Double], to other: Contender) -> Double? {
        guard let own = values[.quire], let compared = values[other], compared > 0 else { return nil }
        return own / compared
    }

    private func show(_ columns: [String], _ last: String) {
        let widths = [14, 10, 10, 10, 10, 9, 10, 8]
        var line = ""
        for (index, (text, width)) in zip(columns, widths).enumerated() {
            let space = String(repeating: " ", count: max(1, width - text.count))
            line += index < 2 ? text + space : space + text
        }
        print(last.isEmpty ? line : line + "   " + last)
    }

    private func number(_ value: Double?, digits: Int) -> String {
        guard let value else { return "-" }
        if digits == 0 { return "\(Int(value.rounded()))" }
        let scale = digits == 1 ? 10 : 100
        let scaled = Int((value * Double(scale)).rounded())
        let rest = String(scaled % scale)
        return "\(scaled / scale)." + String(repeating: "0", count: digits - rest.count) + rest
    }
}

enum ReportError: Error {
    case notAResult(String)
}
