import DocumentIndex
import Foundation
import Glibc
import StorePrimitives
import Testing

/// What the index takes for a document, in a tree of five levels whose names have 20 bytes, 20 documents in a folder, with the file
/// handles of ext4. Times are printed; QUIRE_INDEX_SIZE measures another number of documents than 100,000.
@Suite(.serialized) struct SizeTests {
    private static let count = ProcessInfo.processInfo.environment["QUIRE_INDEX_SIZE"].flatMap { Int($0) } ?? 100_000
    private static let inFolder = 20
    /// Folders in a folder, on each of four levels.
    private static let width = Int(Double(count / inFolder).squareRoot().squareRoot().rounded(.up))

    /// 20 bytes.
    private static func name(_ number: Int, _ level: String) -> String {
        let digits = String(number)
        return level + String(repeating: "-", count: 20 - level.utf8.count - digits.utf8.count) + digits
    }

    private static func folder(_ number: Int) -> String {
        var rest = number
        var names: [String] = []
        for level in ["d", "c", "b", "a"] {
            names.insert(name(rest % width, level), at: 0)
            rest /= width
        }
        return names.joined(separator: "/")
    }

    private static func document(_ number: Int) -> ScannedDocument {
        let inode = UInt64(1_000_000 + number)
        // Files are read in the order of their names' hashes, not in that of their making.
        let mixed = Int64(number) &* 0x9E37_79B9 & 0xFFFF_FFFF
        var handle: [UInt8] = [1, 0, 0, 0]
        for value in [UInt32(truncatingIfNeeded: inode), UInt32(truncatingIfNeeded: mixed)] {
            handle += withUnsafeBytes(of: value.littleEndian) { Array($0) }
        }
        return ScannedDocument(
            path: path(folder(number / inFolder) + "/" + name(number, "document")),
            identity: DocumentIdentity(inode: inode, birth: 1_700_000_000_000_000_000 + mixed * 1_000, handle: handle), size: mixed & 0xFFFFF,
            modified: Timestamp(nanoseconds: 1_700_000_000_000_000_000 + mixed * 1_001), tags: number % 100 == 0 ? [tag("some")] : [])
    }

    /// Prints what it took, and of that the processor's time.
    private func report(_ name: String, per number: Int = 1, _ body: () throws -> Void) rethrows {
        func processorSeconds() -> Double { Double(clock()) / Double(CLOCKS_PER_SEC) }
        let start = processorSeconds()
        let time = try ContinuousClock().measure(body)
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        let (scale, unit) = number == 1 ? (1, "s") : (1e6 / Double(number), "us each")
        print("size: \(name): \(seconds * scale) \(unit), processor \((processorSeconds() - start) * scale)")
    }

    /// Both the database and its log.
    private func bytes(_ folder: StateFolder) throws -> Int {
        try ["", "-wal"].reduce(0) {
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder.file + $1)
            return $0 + (attributes?[.size] as? Int ?? 0)
        }
    }

    @Test func aDocumentTakesAtMost250Bytes() throws {
        let state = try StateFolder()
        let index = try DocumentIndex(folder: state.path)
        let count = Self.count
        func scan() throws {
            let pass = try index.beginScan()
            for start in stride(from: 0, to: count, by: 500) {
                let batch = (start..<min(count, start + 500)).map { Self.document($0) }
                try index.apply(batch.map { .present($0) }, during: pass, asOf: index.moment())
            }
            #expect(try index.finishScan(pass) == .init(moved: 0, departed: 0))
            try index.checkpoint()
        }
        report("making the facts") { for number in 0..<count { _ = Self.document(number) } }
        try report("first scan") { () throws in try scan() }
        let size = try bytes(state)
        print("size: \(size >> 20) MiB, \(size / count) bytes a document")
        try report("scan without changes") { () throws in try scan() }
        let paths = (0..<10_000).map { Self.document($0 &* 7_919 % count).path }
        try report("lookup", per: paths.count) { () throws in for path in paths { #expect(try index.document(at: path) != nil) } }
        try report("absent", per: paths.count) { () throws in
            for path in paths { #expect(try index.document(at: path.parent) == nil) }
        }
        try report("look at a folder", per: paths.count) { () throws in for path in paths { #expect(try index.knows(at: path.parent)) } }
        try report("change", per: paths.count) { () throws in
            for start in stride(from: 0, to: paths.count, by: 100) {
                try index.apply(paths[start..<start + 100].map { .used($0, by: anna, at: at(1), written: true) })
            }
        }
        try report("recents", per: 100) { () throws in for _ in 0..<100 { #expect(try index.recents(of: anna, limit: 50).count == 50) } }
        try report("all of a tag") { () throws in #expect(try index.documents(tagged: [tag("some")]).count == (count + 99) / 100) }
        try report("newest 50 of a tag", per: 100) { () throws in for _ in 0..<100 { #expect(try index.documents(tagged: [tag("some")], limit: 50).count == 50) } }
        let top = path(Self.name(0, "a"))
        try report("folder move") { () throws in
            try index.apply([.moved(from: top, to: path("moved"), isFolder: true, takesOverTarget: false)])
        }
        let moved = try #require(Self.document(1).path.moved(from: top, to: path("moved")))
        #expect(try index.document(at: moved) != nil)
        try report("folder gone") { () throws in try index.apply([.absent(path("moved"))]) }
        #expect(size <= 250 * count)
    }
}
