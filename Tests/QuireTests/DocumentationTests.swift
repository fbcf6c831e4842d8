import FoundationEssentials
import StorePrimitives
import Testing
import quire

/// The documents in the repository say what the program has.
struct DocumentationTests {
    private static let root = String(#filePath.dropLast("Tests/QuireTests/DocumentationTests.swift".count))

    private static func text(_ path: String) throws -> String { try String(contentsOfFile: root + path, encoding: .utf8) }

    /// All of the repository's own, relative to its top level.
    private static func documents() throws -> [String] {
        try ["README.md"] + ["Mount", "Sources"].flatMap { place in
            try FileManager.default.subpathsOfDirectory(atPath: root + place).filter { $0.hasSuffix(".md") }.map { place + "/" + $0 }
        }
    }

    @Test func linksLeadToFiles() throws {
        let documents = try Self.documents()
        #expect(documents.count > 30)
        for document in documents where !document.contains(".docc/") {
            let folder = document.split(separator: "/").dropLast().joined(separator: "/")
            for link in try Self.text(document).matches(of: /\]\(([^)#]+)\)/).map(\.output.1) where !link.contains("://") {
                #expect(FileManager.default.fileExists(atPath: "\(Self.root)\(folder)/\(link)"), "\(document): \(link)")
            }
        }
    }

    @Test func documentsAreShortAndPlain() throws {
        #expect(try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 181)
        #expect(try Self.text("Mount/README.md").split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
        for document in try Self.documents() {
            // Headings, and what programs print.
            for line in try Self.text(document).split(separator: "\n") where !line.hasPrefix("#") && !line.hasPrefix("    ") {
                let clause = line.firstMatch(of: /(?:^|[.:] )(?:Who|Whom|Whoever|What|Whatever) [^?]*$/)
                #expect(clause == nil, "\(document): \(line)")
            }
        }
    }

    @Test(arguments: BoundedResource.allCases)
    func eachBoundIsInTheTable(resource: BoundedResource) throws {
        #expect(try Self.text("Sources/quire/Help/users.md").contains("| `\(resource.name)`"))
    }

    @Test func theHelpOfMountNamesEachOptionOfTheTable() throws {
        let help = try runQuire("mount", "--help").output
        let table = try Self.text("Sources/quire/Help/mounting.md").matches(of: /\n\| `([a-z_-]+)/).map { String($0.output.1) }
        #expect(table.count > 15)
        for option in table { #expect(help.contains("\n  \(option)") || help.contains("\n    \(option)"), "\(option)") }
    }
}
