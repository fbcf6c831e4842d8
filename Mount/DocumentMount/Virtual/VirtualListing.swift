import Glibc
import StorePrimitives

/// What a virtual folder shows one user: items under distinct names, in order.
struct VirtualListing: Sendable {
    /// What `Indexer.generation` was when the list was made.
    let generation: UInt64
    private(set) var entries: [(name: EntryName, item: any VirtualItem)] = []
    private var places: [EntryName: Int] = [:]
    /// For a name taken more than once, the number to go on with.
    private var numbers: [EntryName: Int] = [:]

    init(generation: UInt64) { self.generation = generation }

    subscript(_ name: EntryName) -> (any VirtualItem)? { places[name].map { entries[$0].item } }

    /// Adds an item under a name, or under `name (2)` and so on if that is taken.
    mutating func add(_ name: EntryName, _ item: any VirtualItem) {
        var free = name
        var number = numbers[name] ?? 2
        while places[free] != nil {
            free = name.numbered(number)
            number += 1
        }
        if free != name { numbers[name] = number }
        places[free] = entries.count
        entries.append((free, item))
    }
}

extension EntryName {
    /// `report.pdf` as `report (2).pdf`, cut to what a name may have.
    func numbered(_ number: Int) -> EntryName {
        let (stem, ending) = stemAndEnding
        let mark = Self.mark(number)
        return EntryName(stem.prefix(EntryName.maximumLength - mark.count - ending.count) + mark + ending)!
    }

    /// `report.pdf` for `report (2).pdf`; nil for a name that has no number, or was cut.
    var unnumbered: EntryName? {
        let (stem, ending) = stemAndEnding
        guard stem.last == UInt8(ascii: ")"), let open = stem.lastIndex(of: UInt8(ascii: "(")),
            let number = Int(String(decoding: stem[(open + 1)...].dropLast(), as: UTF8.self)),
            let name = EntryName(stem[..<open].dropLast() + ending), name.numbered(number) == self
        else { return nil }
        return name
    }

    private static func mark(_ number: Int) -> [UInt8] { Array(" (\(number))".utf8) }

    private var stemAndEnding: (stem: ArraySlice<UInt8>, ending: ArraySlice<UInt8>) {
        // A leading dot makes a hidden name, and what follows a dot for long is no ending.
        let dot = bytes.dropFirst().lastIndex(of: UInt8(ascii: ".")) ?? bytes.endIndex
        let start = bytes.endIndex - dot > 32 ? bytes.endIndex : dot
        return (bytes[..<start], bytes[start...])
    }
}
