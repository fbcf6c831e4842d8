import StorePrimitives
import Testing

struct UserSharesTests {
    private static func shares(_ forUser: Int, _ forAll: Int) -> UserShares {
        UserShares(bounds: [.claims: .init(forUser: forUser, forAll: forAll)])
    }

    @Test func aUserHasNoMoreThanItsShare() {
        let shares = Self.shares(10, 100)
        #expect(shares.take(.claims, 7, for: 1))
        #expect(!shares.take(.claims, 4, for: 1))
        #expect(shares.use(of: .claims, by: 1) == 7)
        #expect(shares.take(.claims, 3, for: 1))
        #expect(shares.take(.claims, 10, for: 2))
        #expect(shares.take(.presenters, for: 1))
    }

    @Test func whatIsGivenBackCanBeTakenAgain() {
        let shares = Self.shares(10, 10)
        #expect(shares.take(.claims, 10, for: 1))
        shares.giveBack(.claims, 4, for: 1)
        #expect(shares.take(.claims, 4, for: 2))
        #expect(!shares.take(.claims, for: 1))
        shares.giveBack(.claims, 6, for: 1)
        shares.giveBack(.claims, 4, for: 2)
        #expect(shares.use(of: .claims) == 0)
    }

    @Test func allUsersTogetherLeaveRootItsShare() {
        let shares = Self.shares(10, 20)
        #expect(shares.take(.claims, 10, for: 1) && shares.take(.claims, 5, for: 2) && !shares.take(.claims, for: 2))
        while shares.take(.claims, for: 3) {}
        #expect(shares.take(.claims, 10, for: 0))
        #expect(!shares.take(.claims, for: 0))
    }

    @Test func howeverManyTakeWhatTheyCanSomethingIsLeft() {
        let shares = Self.shares(1_000, 4_000)
        for user in 1...10 as ClosedRange<UInt32> { while shares.take(.claims, for: user) {} }
        #expect(shares.use(of: .claims, by: 1) == 1_000 && shares.use(of: .claims, by: 2) == 1_000)
        #expect(shares.use(of: .claims, by: 4) == 500)
        #expect(shares.take(.claims, for: 11) && shares.refusal(of: .claims, for: 10) == .allHaveMost)
        #expect(shares.refusal(of: .claims, for: 1) == .userHasMost)
        // The one user of a mount has all.
        let own = Self.shares(4_000, 4_000)
        #expect(own.take(.claims, 3_000, for: 1) && own.take(.claims, 1_000, for: 1) && !own.take(.claims, for: 1))
    }

    @Test func noSingleTakeUsesUpWhatIsLeft() {
        let shares = Self.shares(600, 1_000)
        #expect(!shares.take(.claims, 501, for: 1) && shares.take(.claims, 500, for: 1))
        #expect(!shares.take(.claims, 251, for: 2) && shares.take(.claims, 250, for: 2))
        #expect(shares.take(.claims, 125, for: 3))
        // Root has its own share alone.
        #expect(shares.take(.claims, 600, for: 0))
    }

    @Test func theIdsOfAnAccountHaveOneShare() {
        let text = "ann:100000:65536\n1002:165536:65536\nnobody-here:300000:10\n:1:2\nbob:400000\nann:4294967000:1000\nann:500000:1\n"
        let accounts = Accounts(parsing: text) { $0 == "ann" ? 1_001 : nil }
        for (id, owner) in [(0, 0), (1_001, 1_001), (99_999, 99_999), (100_000, 1_001), (165_535, 1_001), (165_536, 1_002),
            (231_071, 1_002), (231_072, 231_072), (300_000, 300_000), (500_000, 1_001), (500_001, 500_001), (4_294_967_295, 4_294_967_295),
        ] as [(UInt32, UInt32)] { #expect(accounts.owner(of: id) == owner, "\(id)") }
        let shares = UserShares(bounds: [.claims: .init(forUser: 10, forAll: 100)], accounts: accounts)
        #expect(shares.take(.claims, 6, for: 100_001) && !shares.take(.claims, 6, for: 1_001) && shares.take(.claims, 4, for: 165_535))
        #expect(shares.use(of: .claims, by: 1_001) == 10)
        shares.giveBack(.claims, 6, for: 100_001)
        #expect(shares.use(of: .claims, by: 120_000) == 4)
        shares.set(.claims, to: [100_000: 1, 100_001: 2, 7: 3])
        #expect(shares.use(of: .claims, by: 1_001) == 3 && shares.use(of: .claims) == 6)
    }

    @Test func noAmountOverflows() {
        let shares = Self.shares(10, 20)
        #expect(shares.take(.claims, 5, for: 1))
        #expect(!shares.take(.claims, .max, for: 1))
        #expect(!shares.take(.claims, .max, for: 0))
    }

    /// What is on disk is there, whatever the bound is.
    @Test func whatLiesOnDiskIsCountedAsItIsFound() {
        let shares = UserShares(bounds: [.keptBytes: .init(forUser: 10, forAll: 20)])
        shares.note(.keptBytes, 15, for: 1)
        shares.note(.keptBytes, 5, for: 2)
        #expect(shares.use(of: .keptBytes, by: 1) == 15 && shares.use(of: .keptBytes) == 20)
        shares.set(.keptBytes, to: [1: 3, 3: 4])
        #expect(shares.use(of: .keptBytes, by: 1) == 3 && shares.use(of: .keptBytes, by: 2) == 0 && shares.use(of: .keptBytes) == 7)
        // Of what another has removed since it was counted.
        shares.note(.keptBytes, -5, for: 1)
        #expect(shares.use(of: .keptBytes, by: 1) == 0 && shares.use(of: .keptBytes) == 4)
        shares.note(.keptBytes, .max, for: 3)
        #expect(shares.use(of: .keptBytes) == .max)
    }

    @Test func whatIsNotBoundedIsNotAmongTheResources() {
        #expect(UserShares().resources == BoundedResource.allCases)
        #expect(UserShares(unbounded: [.thumbnailBytes]).resources == BoundedResource.allCases.filter { $0 != .thumbnailBytes })
    }

    @Test func whatATakenShareHoldsIsGivenBackWhenItGoes() {
        let shares = Self.shares(10, 20)
        var one = TakenShare(.claims, 7, of: shares, for: 1)
        #expect(one != nil && shares.use(of: .claims, by: 1) == 7)
        #expect(TakenShare(.claims, 4, of: shares, for: 1) == nil)
        #expect(shares.use(of: .claims, by: 1) == 7)
        one = nil
        #expect(shares.use(of: .claims) == 0)
    }

    /// One name for each, as `quire status` shows it and the documentation has it.
    @Test func eachResourceHasANameOfItsOwnAndASoundBound() {
        #expect(Set(BoundedResource.allCases.map(\.name)).count == BoundedResource.allCases.count)
        for resource in BoundedResource.allCases {
            #expect(0 < resource.bound.forUser && resource.bound.forUser <= resource.bound.forAll, "\(resource)")
        }
    }
}
