import DocumentKit
import Foundation
import TestSupport
import Testing

/// Serialized: the count is the process's.
@Suite(.serialized) struct SecurityScopeTests {
    @Test func usesAreBalanced() throws {
        let documents = try Documents()
        let (url, other) = (documents.make("a"), documents.make("b"))
        let before = SecurityScopes.count
        #expect(url.startAccessingSecurityScopedResource() && url.startAccessingSecurityScopedResource() && other.startAccessingSecurityScopedResource())
        #expect(!documents("missing").startAccessingSecurityScopedResource())
        #expect(try #require(URL(string: "https://example.org/a")).startAccessingSecurityScopedResource() == false)
        #expect(SecurityScopes.count == before + 3)
        other.stopAccessingSecurityScopedResource()
        other.stopAccessingSecurityScopedResource()
        documents("missing").stopAccessingSecurityScopedResource()
        #expect(SecurityScopes.count == before + 2)
        for _ in 0..<3 { url.stopAccessingSecurityScopedResource() }
        #expect(SecurityScopes.count == before)
    }

    @Test func usesThatAreNeverEndedTakeNoMemoryWithoutEnd() throws {
        let documents = try Documents()
        let urls = (0..<SecurityScopes.most + 100).map { documents.make("\($0)") }
        let before = SecurityScopes.count
        for url in urls { #expect(url.startAccessingSecurityScopedResource()) }
        #expect(SecurityScopes.count == before + urls.count)
        for url in urls { url.stopAccessingSecurityScopedResource() }
        #expect(SecurityScopes.count == before)
    }
}
