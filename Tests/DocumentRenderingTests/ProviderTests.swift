import DocumentRendering
import Glibc
import StorePrimitives
import TestSupport
import Testing

/// Which type a document has, and who renders it.
struct ProviderTableTests {
    @Test(arguments: [
        ("a.pdf", "", "application/pdf"), ("a.odt", "", "application/vnd.oasis.opendocument.text"), ("README", "words\n", "text/x-readme"),
        ("nothing", "%PDF-1.4\n", "application/pdf"), ("nothing", "words\n", "text/plain"), ("nothing", "", "application/octet-stream"),
        ("a.PNG", "", "image/png"), ("\u{e9}.jpg", "", "image/jpeg"),
    ])
    func aTypeIsByTheNameAndElseByTheContent(name: String, content: String, type: String) {
        #expect(DocumentType(of: EntryName(name)) { Array(content.utf8) }.name == type)
    }

    @Test func theContentIsReadOnlyWhereTheNameSaysNothing() {
        _ = DocumentType(of: EntryName("a.pdf")) {
            Issue.record("it was read")
            return []
        }
    }

    @Test func ancestorsAreTheNearestFirst() {
        let names = DocumentType("image/svg+xml").ancestors.map(\.name)
        #expect(names.contains("text/plain") && names.last == "application/octet-stream")
        #expect(names.firstIndex(of: "application/xml")! < names.firstIndex(of: "text/plain")!)
    }

    /// A folder `thumbnailers` with a file in it.
    private func folder(_ files: [String: (types: String, exec: String)]) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        for (name, file) in files {
            folder.makeFile("\(name).thumbnailer", "[Thumbnailer Entry]\nTryExec=\(file.exec.split(separator: " ")[0])\nExec=\(file.exec)\nMimeType=\(file.types);\n")
        }
        return folder
    }

    private func names(_ table: ProviderTable, _ type: String) -> [String] {
        table.providers(for: DocumentType(type)).map { provider in
            if case .program(let file) = provider { return String(file.path.split(separator: "/").last!.dropLast(".thumbnailer".count)) }
            return "built in"
        }
    }

    @Test func theNearestIsFirstThenTheUsersOwnThenWhatIsBuiltIn() throws {
        let own = try folder(["mine": ("text/x-csrc", "true"), "general": ("text/plain", "true"), "pdf": ("application/pdf", "true")])
        let system = try folder(["c": ("text/x-csrc", "true"), "bytes": ("application/octet-stream", "true"), "pdf": ("application/pdf", "true")])
        let table = ProviderTable(ownFolder: own.path, systemFolders: [system.path])
        #expect(names(table, "text/x-csrc") == ["mine", "c", "general", "built in", "bytes"])
        #expect(names(table, "text/plain") == ["general", "built in", "bytes"])
        // A file hides those of its name in later folders.
        #expect(names(table, "application/pdf") == ["pdf", "built in", "bytes"])
        #expect(names(table, "inode/directory") == ["built in"])
    }

    @Test func programsThatAreNotThereAreNobody() throws {
        let folder = try folder(["gone": ("image/x-quire", "/nowhere/gone %i"), "there": ("image/x-quire", "true")])
        let table = ProviderTable(ownFolder: nil, systemFolders: [folder.path])
        #expect(names(table, "image/x-quire") == ["there", "built in"])
        #expect(names(table, "application/x-quire") == [])
    }

    @Test func aNewFileIsNoticed() throws {
        let folder = try folder([:])
        let table = ProviderTable(ownFolder: nil, systemFolders: [folder.path])
        #expect(names(table, "application/x-quire") == [])
        folder.makeFile("new.thumbnailer", "[Thumbnailer Entry]\nExec=true\nMimeType=application/x-quire;\n")
        eventually { names(table, "application/x-quire") == ["new"] }
    }

    @Test func placeholdersAreFilledIn() throws {
        let folder = try TemporaryFolder()
        folder.makeFile("a.thumbnailer", "[Thumbnailer Entry]\nExec=true -i %i --out='%o' %u 100%% %s %x\nMimeType=image/x-quire;\n")
        let file = try #require(ThumbnailerFile(path: folder.path("a.thumbnailer")))
        #expect(
            file.command(suffix: ".odt", pixels: 128).dropFirst()
                == ["-i", "/tmp/document.odt", "--out=/tmp/thumbnail.png", "file:///tmp/document.odt", "100%", "128", "%x"])
        #expect(file.command(suffix: "./../x", pixels: 128).contains("/tmp/document"))
    }

    @Test(arguments: ["", "[Thumbnailer Entry]\n", "[Thumbnailer Entry]\nExec=true\n", "[Thumbnailer Entry]\nExec='\nMimeType=a/b;\n", "\u{0}\u{1}"])
    func whatDescribesNothingIsPassedOver(text: String) throws {
        let folder = try TemporaryFolder()
        #expect(ThumbnailerFile(path: folder.makeFile("a.thumbnailer", text)) == nil)
    }
}
