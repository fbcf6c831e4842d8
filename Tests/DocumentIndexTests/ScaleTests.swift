import DocumentIndex
import struct DocumentIndex.Tag
import Foundation
import StorePrimitives
import Testing

/// 100,000 documents. Times are printed; what asks for a few of them takes a small part of what scanning all takes, or an index is
/// missing.
@Suite(.serialized) struct ScaleTests {
    static let count = 100_000

    private static func documents() -> [ScannedDocument] {
        (0..<count).map { number in
            facts(
                "folder \(number / 1000)/sub \(number / 100 % 10)/document \(number).txt", inode: UInt64(number + 10),
                handle: [1, 2, 3, 4, UInt8(number & 255), UInt8(number >> 8 & 255), UInt8(number >> 16)],
                modified: Int64(number), tags: number % 2 == 0 ? ["even", "tag \(number % 50)"] : [])
        }
    }

    @discardableResult
    private func seconds(_ name: String, _ body: () throws -> Void) throws -> Double {
        let clock = ContinuousClock()
        let time = try clock.measure(body)
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        print("scale: \(name): \(seconds * 1000) ms")
        return seconds
    }

    private func residentKilobytes() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0
    }

    @Test func aHundredThousandDocumentsAreScannedMovedAndAskedFor() throws {
        let folder = try StateFolder()
        let index = try DocumentIndex(folder: folder.path)
        let all = Self.documents()
        let before = residentKilobytes()
        var few = 0.0
        func scan() throws {
            let pass = try index.beginScan()
            for start in stride(from: 0, to: all.count, by: 1000) {
                try index.apply(all[start..<start + 1000].map { .present($0) }, during: pass, asOf: index.moment())
            }
            #expect(try index.finishScan(pass) == ScanResult(moved: 0, departed: 0))
        }
        let scanning = try seconds("first scan") { () throws in try scan() }
        try seconds("scan without changes") { () throws in try scan() }
        #expect(try index.count() == Self.count)
        print("scale: grown by \(residentKilobytes() - before) KiB")
        few += try seconds("newest 50 of 50,000 tagged") { () throws in
            #expect(try index.documents(tagged: [tag("even")], limit: 50).first?.modified == at(99_998))
        }
        few += try seconds("two tags") { () throws in
            #expect(try index.documents(tagged: [tag("even"), tag("tag 4")], limit: 50).count == 50)
        }
        few += try seconds("all tags") { () throws in #expect(try index.tags().count == 26) }
        try seconds("1000 lookups") { () throws in
            for number in 0..<1000 { #expect(try index.document(at: all[number * 100].path) != nil) }
        }
        try seconds("10,000 uses") { () throws in
            try index.apply((0..<10_000).map { .used(all[$0].path, by: anna, at: at(Int64($0)), written: true) })
        }
        few += try seconds("newest 50 recents") { () throws in
            #expect(try index.recents(of: anna, limit: 50).first?.path == all[9_999].path)
        }
        #expect(few < scanning / 2)
        try seconds("move a folder of 1000") { () throws in
            try index.apply([.moved(from: path("folder 3"), to: path("moved"), isFolder: true, takesOverTarget: false)])
        }
        #expect(try index.id("moved/sub 0/document 3000.txt") != nil)
        try seconds("1000 changes, a transaction each") { () throws in
            for number in 0..<1000 { try index.apply([.used(all[number].path, by: anna, at: at(99_999), written: true)]) }
        }
        try seconds("rename a tag on 50,000") { () throws in
            #expect(try index.renameTag(tag("even"), to: tag("odd"), for: .all).count == 50_000)
        }
        try seconds("checkpoint") { () throws in try index.checkpoint() }
        try index.close()
        var again: DocumentIndex?
        try seconds("open and check") { () throws in again = try DocumentIndex(folder: folder.path) }
        let reopened = try #require(again)
        #expect(reopened.outcome == .opened)
        #expect(try reopened.count() == Self.count)
        try seconds("everything gone") { () throws in try reopened.scanAll([]) }
        #expect(try reopened.count() == 0)
        print("scale: resident \(residentKilobytes()) KiB")
    }

    @Test func readersAndWritersFromManyThreadsDoNotDisturbEachOther() throws {
        let folder = try StateFolder()
        let index = try DocumentIndex(folder: folder.path)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<50 {
                let name = "\(thread)/\(number)"
                do {
                    try index.apply([.present(facts(name, inode: UInt64(thread * 1000 + number + 1), tags: ["t"]))])
                    #expect(try index.document(at: path(name)) != nil)
                    #expect(try index.documents(tagged: [tag("t")], limit: 5).count >= 1)
                } catch {
                    Issue.record("\(error)")
                }
            }
        }
        #expect(try index.count() == 400)
    }
}
