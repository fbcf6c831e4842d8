internal import CLinux
internal import GRDB
internal import QueryLanguage

/// The facts of some documents that searches look at, by columns, in ascending order of the documents' ids. It is not changed once it is in a view. Some
/// 50 bytes a document.
struct SearchSegment {
    private(set) var documentIDs = Column<Int64>(missing: -1)
    private(set) var folders = Column<Int64>(missing: -1)
    private(set) var sizes = Column<Int64>(missing: 0)
    private(set) var times = Column<Int64>(missing: 0)
    /// The number of each name's suffix; see `Suffixes`.
    private(set) var suffixes = Column<UInt16>(missing: 0)
    /// Folded names, each ended by NUL.
    private var names: [UInt8] = []
    /// Where each name begins, and at last the end of all.
    private var starts = Column<UInt32>(missing: 0)

    var count: Int { documentIDs.count }
    var rows: Range<Int> { documentIDs.rows }

    /// The columns that `append` takes, of documents that are there.
    static let columns = "id, folder, size, mtime, name"

    /// Ids have to come in ascending order.
    mutating func append(_ row: Row, _ table: inout Suffixes) throws {
        let name = Folding.fold(try row.bytes(4) ?? [])
        append(
            name[...], id: try row.value(0), folder: try row.value(1), size: try row.value(2), time: try row.value(3),
            suffix: table.number(of: name[...]))
    }

    /// Takes over a row of another segment, whose id has to be higher than those here.
    mutating func append(_ row: Int, of other: SearchSegment) {
        other.withName(row) { name in
            append(
                name, id: other.documentIDs[row], folder: other.folders[row], size: other.sizes[row], time: other.times[row],
                suffix: other.suffixes[row])
        }
    }

    private mutating func append(_ name: some Sequence<UInt8>, id: Int64, folder: Int64, size: Int64, time: Int64, suffix: UInt16) {
        // More names than 4 GiB are not searched.
        guard let start = UInt32(exactly: names.count) else { return }
        starts.append(start)
        names.append(contentsOf: name)
        names.append(0)
        documentIDs.append(id)
        folders.append(folder)
        sizes.append(size)
        times.append(time)
        suffixes.append(suffix)
    }

    /// The row of a document; nil if it has none here. O(log n).
    func row(of id: Int64) -> Int? {
        let row = documentIDs.partitioned { $0 < id }
        return row < documentIDs.count && documentIDs[row] == id ? row : nil
    }

    /// The folded name of a row; empty if it is not there.
    func withName<Result>(_ row: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try names.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[place(ofName: row)])) }
    }

    /// Without the NUL.
    private func place(ofName row: Int) -> Range<Int> {
        guard row >= 0, row < starts.count else { return 0..<0 }
        let start = Int(starts[row])
        let end = (row &+ 1 < starts.count ? Int(starts[row &+ 1]) : names.count) &- 1
        return names.indices.prefix(max(end, 0)).dropFirst(start)
    }

    /// The rows whose names have these bytes in them; none for bytes with a NUL. O(bytes of names): about a millisecond for 1,000,000 documents.
    func rows(withNamesContaining literal: [UInt8]) -> RowSet {
        guard !literal.isEmpty else { return RowSet(count: count, all: true) }
        var found = RowSet(count: count)
        // It would tell of the name that stands next, which may be for others.
        guard !literal.contains(0) else { return found }
        names.withUnsafeBytes { names in
            literal.withUnsafeBytes { literal in
                guard let base = names.baseAddress else { return }
                var row = 0
                var at = 0
                while at < names.count, let hit = cl_find(base + at, names.count &- at, literal.baseAddress, literal.count) {
                    let offset = UInt32(clamping: hit - base)
                    row = starts.partitioned(from: row) { $0 <= offset } &- 1
                    found.insert(row)
                    // Behind the NUL of this name.
                    at = place(ofName: row).upperBound &+ 1
                }
            }
        }
        return found
    }
}

/// The distinct ends of names by which types are told, each with a number.
struct Suffixes {
    /// Names that have this end.
    private(set) var samples: [[UInt8]] = [[]]
    private var numbers: [ArraySlice<UInt8>: UInt16] = [:]

    /// Whether there are so many that further ones have no number.
    var isFull: Bool { samples.count > Int(UInt16.max) }

    /// 0 for a name of which nothing can be told, and once they are full.
    mutating func number(of name: ArraySlice<UInt8>) -> UInt16 {
        let end = Self.end(of: name)
        guard !end.isEmpty else { return 0 }
        if let number = numbers[end] { return number }
        guard let number = UInt16(exactly: samples.count) else { return 0 }
        let copy = Array(end)
        numbers[copy[...]] = number
        samples.append(copy)
        return number
    }

    /// From the last dot, or the one before in `.tar.gz`; all of a short name of letters without one, as `Makefile`.
    private static func end(of name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let dot = UInt8(ascii: ".")
        let parts = name.split(separator: dot, omittingEmptySubsequences: false)
        // A leading dot makes a hidden name.
        guard let last = parts.last, name.dropFirst().contains(dot) else {
            return name.count <= longestWithoutDot && name.allSatisfy { $0 &- 0x61 < 26 } ? name : []
        }
        let tar = Array("tar".utf8)
        let isTar = parts.count > 2 && parts.dropLast().last?.elementsEqual(tar) == true
        let length = 1 &+ last.count &+ (isTar ? tar.count &+ 1 : 0)
        return length <= longest ? name.suffix(length) : []
    }

    private static let longest = 24
    private static let longestWithoutDot = 12
}
