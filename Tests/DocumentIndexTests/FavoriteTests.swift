import DocumentIndex
import Foundation
import QueryLanguage
import StorePrimitives
import Testing

private struct NoTypes: TypeMatcher {
    func name(_ name: [UInt8], is type: TypePattern) -> Bool { false }
}

@Suite struct FavoriteIndexTests {
    let folder = try! StateFolder()
    let index: DocumentIndex

    init() throws {
        index = try DocumentIndex(folder: folder.path)
        try index.apply(["a", "b", "d/c", "d/e/f"].enumerated().map { .present(facts($1, inode: UInt64($0 + 1))) })
    }

    private func mark(_ name: String, isFolder: Bool = false, _ seconds: Int64 = 1, by user: UserID = anna) throws -> Bool {
        try index.addFavorite(Favorite(path: path(name), isFolder: isFolder, added: at(seconds)), by: user)
    }

    private func marked(by user: UserID = anna) throws -> [String] { try index.favorites(of: user).map { $0.path.description + ($0.isFolder ? "/" : "") } }

    private func found(_ query: String, _ users: SearchUsers) throws -> [String] {
        try index.documents(try index.search(try Query(parsing: query), order: .name, types: NoTypes(), for: users)).map(\.path.description)
    }

    @Test func eachUserHasFavorites() throws {
        #expect(try mark("a", 1) && mark("d", isFolder: true, 2) && mark("a", 3) && mark("b", 1, by: ben))
        #expect(try !mark("nothing"))
        #expect(try marked() == ["d/", "a"])
        #expect(try marked(by: ben) == ["b"])
        #expect(try index.favorite(at: path("a"), of: anna)?.added == at(1))
        #expect(try index.favorite(at: path("b"), of: anna) == nil)
        #expect(try !index.removeFavorite(at: path("b"), of: anna))
        #expect(try index.removeFavorite(at: path("d"), of: anna) && index.removeFavorite(at: path("a"), of: anna))
        #expect(try marked() == [])
        #expect(try marked(by: ben) == ["b"])
    }

    @Test func aFavoriteStaysOneWhereverItGoes() throws {
        for (name, isFolder) in [("d/c", false), ("d", true), ("d/e", true), ("b", false)] { #expect(try mark(name, isFolder: isFolder)) }
        try index.apply([.moved(from: path("d"), to: path("x/y"), isFolder: true, takesOverTarget: false)])
        #expect(try marked() == ["b", "x/y/e/", "x/y/", "x/y/c"])
        // The watcher may tell of the same move again.
        try index.apply([.moved(from: path("d"), to: path("x/y"), isFolder: true, takesOverTarget: false)])
        #expect(try marked() == ["b", "x/y/e/", "x/y/", "x/y/c"])
        // A save by rename.
        try index.apply([.present(facts("new", inode: 9)), .moved(from: path("new"), to: path("b"), isFolder: false, takesOverTarget: true)])
        #expect(try marked() == ["b", "x/y/e/", "x/y/", "x/y/c"])
        #expect(try mark("z", isFolder: true))
        try index.apply([.exchanged(path("x/y"), path("z"))])
        #expect(try marked() == ["x/y/", "b", "z/e/", "z/", "z/c"])
        // One that left and came back, and a folder that is gone.
        try index.apply([.absent(path("z"))])
        #expect(try marked() == ["x/y/", "b"])
        try index.apply([.present(facts("back", inode: 3))])
        #expect(try marked() == ["x/y/", "b", "back"])
        try index.apply([.absent(path("x"))])
        #expect(try marked() == ["b", "back"])
    }

    @Test func aFolderWithoutDocumentsIsAFavoriteToo() throws {
        #expect(try mark("empty", isFolder: true))
        try index.apply([.moved(from: path("empty"), to: path("moved"), isFolder: true, takesOverTarget: false)])
        #expect(try marked() == ["moved/"])
        try index.apply([.absent(path("empty"))])
        #expect(try marked() == ["moved/"])
    }

    @Test func searchesKnowFavoritesAndWriters() throws {
        #expect(try mark("a") && mark("d", isFolder: true) && mark("d/c", by: ben))
        #expect(try found("is:favorite", SearchUsers(asker: anna)) == ["a"])
        #expect(try found("is:favorite", SearchUsers(asker: ben)) == ["d/c"])
        #expect(try found("-is:favorite", SearchUsers(asker: ben)) == ["a", "b", "d/e/f"])
        try index.apply([.used(path("a"), by: anna, at: at(2), written: true), .used(path("b"), by: ben, at: at(2), written: true)])
        try index.apply([.used(path("a"), by: ben, at: at(3), written: false)])
        let users = SearchUsers(asker: anna, named: ["anna": anna, "ben": ben])
        #expect(try found("by:anna", users) == ["a"])
        #expect(try found("by:ben", users) == ["b"])
        #expect(try found("by:anna,ben", users) == ["a", "b"])
        #expect(try found("by:nobody", users) == [])
        // Beneath the mount somebody wrote, of whom nothing is known; a save by rename brings the writer with it.
        try index.apply([.present(facts("a", inode: 1, modified: 200))])
        #expect(try found("by:anna", users) == [])
        var touched = facts("a", inode: 1, modified: 300)
        touched.changedBy = anna
        try index.apply([.present(touched)])
        #expect(try found("by:anna", users) == ["a"])
        touched.changedBy = ben
        touched.tags = [tag("x")]
        try index.apply([.present(touched)])
        #expect(try found("by:anna", users) == ["a"])
        try index.apply([.present(facts("a", inode: 1, modified: 400))])
        try index.apply([
            .present(facts("b.new", inode: 9)), .used(path("b.new"), by: anna, at: at(4), written: true),
            .moved(from: path("b.new"), to: path("b"), isFolder: false, takesOverTarget: true),
        ])
        #expect(try found("by:anna", users) == ["b"])
    }

    /// More than a user may have, in a file that is damaged then.
    @Test func favoritesAreBoundedAndRecovered() throws {
        #expect(try mark("a") && mark("d", isFolder: true, 2))
        try index.apply([.used(path("b"), by: ben, at: at(1), written: true)])
        try index.close()
        // As no page of the index of places is any more.
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        program.arguments = ["sqlite3", folder.file, "UPDATE folder SET parent = 2 WHERE parent = 0"]
        try program.run()
        program.waitUntilExit()
        let second = try DocumentIndex(folder: folder.path)
        guard case .rebuilt = second.outcome else {
            Issue.record("\(second.outcome)")
            return
        }
        try second.apply(["a", "b"].enumerated().map { .present(facts($1, inode: UInt64($0 + 1))) })
        #expect(try second.favorites(of: anna).map(\.path) == [path("d"), path("a")])
        for number in 2..<10_000 {
            #expect(try second.addFavorite(Favorite(path: path("\(number)"), isFolder: true, added: at(1)), by: anna))
        }
        #expect(try !second.mayAddFavorite(anna))
        #expect(try second.mayAddFavorite(ben))
    }
}
