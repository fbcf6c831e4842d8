import DocumentIndex
import struct DocumentIndex.Tag
import StorePrimitives
import Testing

/// What users may have in an index.
@Suite struct SharesTests {
    let folder = try! StateFolder()

    private func index(
        bytes: BoundedResource.Bound? = nil, tags: BoundedResource.Bound? = nil, accounts: Accounts = Accounts()
    ) throws -> DocumentIndex {
        var bounds = IndexBounds()
        bounds.accounts = accounts
        if let bytes { bounds.bytes = bytes }
        if let tags { bounds.tags = tags }
        return try DocumentIndex(folder: folder.path, bounds: bounds)
    }

    private func owned(_ text: String, _ inode: UInt64, by owner: UserID, tags: [String]? = nil) -> ScannedDocument {
        var told = facts(text, inode: inode, tags: tags)
        told.owner = owner
        return told
    }

    @Test func documentsBeyondTheirOwnersShareAreLeftOut() throws {
        let index = try index(bytes: .init(forUser: 20_000, forAll: 1 << 30))
        for number in 0..<1_000 as Range<UInt64> { try index.apply([.present(owned("a/\(number)", number + 1, by: anna))]) }
        let count = try index.count()
        #expect((80..<125).contains(count))
        #expect(index.documentsLeftOut == 1_000 - count)
        #expect(try index.use(of: .indexBytes, by: anna) <= 20_000)
        try index.apply([.present(owned("b", 2_000, by: ben))])
        #expect(try index.id("b") != nil)
        // What goes makes room, once it is forgotten that it was there.
        let known = try #require(try (0..<1_000).first { try index.id("a/\($0)") != nil })
        try index.apply([.present(owned("a/\(known)", 3_000, by: ben))])
        try index.apply([.present(owned("c", 3_001, by: anna))])
        #expect(try index.id("c") != nil)
    }

    @Test func aScanLeavesThemOutToo() throws {
        let index = try index(bytes: .init(forUser: 20_000, forAll: 1 << 30))
        let all = (0..<1_000 as Range<UInt64>).map { owned("a/\($0)", $0 + 1, by: anna) }
        for _ in 0..<2 {
            #expect(try index.scanAll(all) == .init(moved: 0, departed: 0))
            #expect(index.documentsLeftOut == 1_000 - (try index.count()))
            #expect(index.documentsLeftOut > 800)
        }
        #expect(try index.scanAll(Array(all.prefix(10))).departed > 0)
        #expect(index.documentsLeftOut == 0)
    }

    /// Long names, tags and handles count.
    @Test func allUsersTogetherFillTheFileNoFurtherThanItsBound() throws {
        let index = try index(bytes: .init(forUser: 1 << 30, forAll: 1 << 20))
        let name = String(repeating: "n", count: 200)
        for user in 0..<40 as Range<UInt32> {
            for batch in 0..<4 as Range<UInt64> {
                try index.apply((0..<50 as Range<UInt64>).map {
                    let inode = UInt64(user) * 1_000 + batch * 100 + $0 + 1
                    return .present(owned("\(user)/\(batch)/\(name)\($0)", inode, by: UserID(1_000 + user), tags: ["t", "u"]))
                })
            }
        }
        #expect(index.documentsLeftOut > 0)
        // A transaction looks at the file once.
        #expect(try index.use(of: .indexBytes, by: nil) <= 1 << 21)
        // Root has its own share alone.
        try index.apply([.present(owned("of root", 100_000, by: UserID(0)))])
        #expect(try index.id("of root") != nil)
    }

    @Test func whatIsCountedGoesWithTheRows() throws {
        let index = try index()
        let all = [
            owned("a/b/one", 1, by: anna, tags: ["x", "y"]), owned("a/two", 2, by: ben, tags: ["x", "z"]), owned("three", 3, by: anna),
        ]
        try index.scanAll(all)
        let before = try [anna, ben].map { try index.use(of: .indexBytes, by: $0) }
        #expect(before[0] > before[1])
        #expect(try index.use(of: .tags, by: anna) == 2)
        #expect(try index.use(of: .tags, by: ben) == 1)
        try index.apply([
            .moved(from: path("a"), to: path("a longer name"), isFolder: true, takesOverTarget: false), .tags(path("a longer name/two"), []),
            .exchanged(path("three"), path("a longer name/b/one")),
        ])
        #expect(try [anna, ben].map { try index.use(of: .indexBytes, by: $0) } != before)
        // Given to another user, and back.
        try index.scanAll([owned("a/b/one", 1, by: ben, tags: ["x", "y"]), owned("a/two", 2, by: ben, tags: ["x", "z"]), owned("three", 3, by: ben)])
        #expect(try index.use(of: .tags, by: anna) == 2)
        try index.scanAll([])
        #expect(try index.count() == 0)
        #expect(try index.tags().isEmpty)
        for user in [anna, ben] { #expect(try index.use(of: .tags, by: user) == 0) }
        // Those that left are remembered, by their files.
        let left = try [anna, ben].reduce(0) { try $0 + index.use(of: .indexBytes, by: $1) }
        #expect((320...800).contains(left))
    }

    @Test func tagsBeyondTheOwnersShareHaveNoDocuments() throws {
        let index = try index(tags: .init(forUser: 30, forAll: 70))
        func give(_ user: UserID, _ count: Int) throws {
            for number in 0..<count {
                let name = "\(user.rawValue)-\(number)"
                try index.apply([.present(owned(name, UInt64(user.rawValue) * 1_000 + UInt64(number), by: user, tags: ["common", "t" + name]))])
            }
        }
        try give(anna, 100)
        #expect(try index.tags().count == 30)
        #expect(try index.tagged("common").count == 100)
        // No more than is left for others then.
        try give(ben, 100)
        #expect(try index.tags().count == 50)
        #expect(try index.tagged("common").count == 200)
    }

    @Test func theIdsOfAnAccountHaveOneShare() throws {
        let accounts = Accounts(parsing: "1000:100000:65536\n1000:300000:10") { _ in nil }
        let index = try index(
            bytes: .init(forUser: 20_000, forAll: 1 << 30), tags: .init(forUser: 30, forAll: 1_000), accounts: accounts)
        for number in 0..<400 as Range<UInt64> {
            let id = number % 2 == 0 ? UserID(100_000 + UInt32(number)) : UserID(300_000 + UInt32(number % 10))
            try index.apply([.present(owned("a/\(number)", number + 1, by: id, tags: number < 60 ? ["t\(number)"] : nil))])
        }
        #expect((60..<125).contains(try index.count()))
        #expect(try index.tags().count == 30)
        for id in [1_000, 100_000, 300_009] as [UInt32] {
            #expect(try index.use(of: .tags, by: UserID(id)) == 30)
            #expect((19_000...20_000).contains(try index.use(of: .indexBytes, by: UserID(id))))
        }
        try index.apply([.present(owned("b", 2_000, by: ben, tags: ["of ben"]))])
        #expect(try index.tagged("of ben").count == 1)
        #expect(try index.use(of: .tags, by: ben) == 1)
    }

    @Test func keptTagsOfAnAccountCountTogether() throws {
        let index = try index(accounts: Accounts(parsing: "1000:100000:65536") { _ in nil })
        let most = BoundedResource.keptTags.bound.forUser
        for number in 0..<most { try index.keepTag(tag("t\(number)"), by: UserID(100_000 + UInt32(number % 100))) }
        for id in [1_000, 100_000, 165_535] as [UInt32] { #expect(try !index.mayKeepTag(UserID(id))) }
        #expect(try index.mayKeepTag(ben) && index.mayKeepTag(UserID(0)))
        #expect(try index.use(of: .keptTags, by: anna) == most)
    }

    @Test func ofOneDocumentAThousandTagsAreKnown() throws {
        let index = try index()
        try index.apply([.present(facts("a", inode: 1, tags: (0..<30_000).map { "t\($0)" }))])
        #expect(try index.tags().count == Tag.mostOfDocument)
        #expect(try index.tagNames("a")?.count == Tag.mostOfDocument)
        try index.apply([.tags(path("a"), (0..<3_000).map { tag("u\($0)") })])
        #expect(try index.tagNames("a")?.count == Tag.mostOfDocument)
    }
}
