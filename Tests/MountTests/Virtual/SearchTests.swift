import TestSupport
import Testing

extension MountTests {
    /// `quire search` and the folder `.search`.
    struct SearchTests {
        private static let documents = """
            mkdir -p letters pictures; echo one >'letters/Invoice March.txt'; echo two >'letters/invoice april.txt'; echo three >Résumé.odt
            printf '\\211PNG' >pictures/portrait.png; truncate -s 2M pictures/large.png; touch -d 2001-02-03 letters/*april*
            setfattr -n user.xdg.tags -v work,money 'letters/Invoice March.txt'; setfattr -n user.xdg.tags -v work/plan Résumé.odt
            """

        private func withDocuments(_ account: Account = .root, _ body: (Mount) throws -> Void) throws {
            try withMount(account, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try body(mount)
            }
        }

        @Test(arguments: Account.allCases)
        func theCommandFindsDocuments(account: Account) throws {
            try withDocuments(account) { (mount: Mount) throws in
                func found(_ query: String) throws -> String { try mount.shell("quire search --sort name \(query) | sed \"s|^$M/||\"") }
                #expect(try found("invoice") == "letters/invoice april.txt\nletters/Invoice March.txt")
                #expect(try found("invoice march") == "letters/Invoice March.txt")
                #expect(try found("'invoice -march'") == "letters/invoice april.txt")
                #expect(try found("invoice -march") == "letters/invoice april.txt")
                #expect(try found("-- -march invoice") == "letters/invoice april.txt")
                #expect(try found("resume") == "Résumé.odt")
                #expect(try found("tag:work") == "letters/Invoice March.txt\nRésumé.odt")
                #expect(try found("kind:image 'size>1M'") == "pictures/large.png")
                #expect(try found("type:odt OR before:2002") == "letters/invoice april.txt\nRésumé.odt")
                #expect(try found("'*.png' in:pictures") == "pictures/large.png\npictures/portrait.png")
                #expect(try mount.shell("quire search --json resume | jq -r '.[] | .path, .size'") == "\(mount.path)/Résumé.odt\n6")
                #expect(try mount.shell("quire search --print0 --sort largest txt | xargs -0 stat -c %s") == "4\n4")
                #expect(try mount.shell("cd /; quire search --everywhere portrait | grep -c \"^$M/\"") == "1")
            }
        }

        @Test func whatIsWrongIsSaidAndWhatIsMissingIsNoOutput() throws {
            try withDocuments { (mount: Mount) throws in
                let none = try mount.attempt("quire search nothing")
                #expect(none.status == 1 && none.output == "" && none.errors == "", "\(none)")
                #expect(try mount.attempt("cd /; quire search --in /proc a").status == 2)
                try mount.refuses("quire search 'a size>x'", "a size>x\n  ^^^^^^")
                #expect(try mount.attempt("quire search '('").status == 64)
                try mount.refuses("quire search --limt 3 a", "--limt")
                try mount.refuses("quire search --limit 0 a", "--limit must be from 1 to")
                #expect(try mount.attempt("quire search --limit 1 invoice 2>&1 >\"$T/found\"; wc -l <\"$T/found\"").output.contains("there are more than these"))
            }
        }

        /// Without a wait: a search that begins after close(2) has what was written.
        @Test(arguments: Account.allCases)
        func whatWasJustWrittenMovedTaggedOrRemovedIsFoundSo(account: Account) throws {
            try withDocuments(account) { (mount: Mount) throws in
                try mount.shell(
                    """
                    for n in {1..20}; do
                        echo $n >"fresh $n"
                        [ "$(quire search "\\"fresh $n\\"")" = "$M/fresh $n" ]
                        mv "fresh $n" "letters/old $n"; [ "$(quire search "\\"old $n\\" in:letters")" = "$M/letters/old $n" ]
                        setfattr -n user.xdg.tags -v t$n "letters/old $n"; [ "$(quire search tag:t$n)" = "$M/letters/old $n" ]
                        [ "$(readlink ".search/tag:t$n/old $n")" = "../../letters/old $n" ]
                        rm "letters/old $n"; expect_status 1 quire search tag:t$n
                    done
                    """)
            }
        }

        @Test(arguments: Account.allCases)
        func aQueryIsAFolderOfLinks(account: Account) throws {
            try withDocuments(account) { (mount: Mount) throws in
                #expect(try mount.shell("ls .search") == "")
                #expect(try mount.shell("ls .search/invoice") == "Invoice March.txt\ninvoice april.txt")
                #expect(try mount.shell("cat '.search/invoice/Invoice March.txt'; readlink '.search/tag:work/Résumé.odt'") == "one\n../../Résumé.odt")
                #expect(try mount.shell("ls '.search/kind:image/size>1M'; cat '.search/kind:image/size>1M/large.png' | wc -c") == "large.png\n2097152")
                #expect(try mount.shell("ls -L '.search/nothing here'") == "")
                try mount.refuses("cat .search/.hidden", "No such file or directory")
                try mount.refuses("echo >.search/invoice/new", "Is a directory")
                try mount.refuses("mkdir .search/invoice/new", "File exists")
                try mount.refuses("rm '.search/invoice/Invoice March.txt'", "not permitted")
                // A query that cannot be understood says so by its one entry.
                #expect(try mount.shell("ls '.search/size>x'; cat '.search/size>x'/*") == "(x is not a size; examples: 500, 10K, 1.5M, 2G)\nx is not a size; examples: 500, 10K, 1.5M, 2G")
                #expect(try mount.shell("find .search -mindepth 1; grep -r one .search || true") == "")
            }
        }

        /// `mkdir NAME=QUERY`: any other name is there already.
        @Test(arguments: Account.allCases)
        func aQueryThatIsKeptIsListed(account: Account) throws {
            try withDocuments(account) { (mount: Mount) throws in
                try mount.shell("mkdir '.search/Pictures=kind:image' '.search/Work=tag:work'")
                #expect(try mount.shell("ls .search; ls .search/Pictures '.search/Work=tag:work'") == """
                    Pictures
                    Work
                    .search/Pictures:
                    large.png
                    portrait.png

                    .search/Work=tag:work:
                    Invoice March.txt
                    Résumé.odt
                    """)
                #expect(try mount.shell("ls '.search/Pictures/size>1M'") == "large.png")
                try mount.refuses("mkdir .search/invoice", "File exists")
                try mount.refuses("mkdir '.search/Work=tag:work'", "File exists")
                try mount.refuses("mkdir '.search/Bad=size>x'", "Invalid argument")
                try mount.refuses("ls '.search/Work=tag:other'", "No such file or directory")
                try mount.refuses("mv -T .search/nothing '.search/Work=invoice'", "")
                try mount.shell("mkdir '.search/Work=tag:money'; mv -T .search/Work .search/Money; mv -T .search/Pictures '.search/Bills=invoice'")
                #expect(try mount.shell("ls .search; ls .search/Money; ls .search/Bills") == "Bills\nMoney\nInvoice March.txt\nInvoice March.txt\ninvoice april.txt")
                try mount.shell("rmdir .search/Money")
                try mount.refuses("rmdir .search/Money", "No such file or directory")
                try mount.shell("cd /; quire unmount \"$M\"", in: "/")
                try mount.mount()
                #expect(try mount.shell("ls .search; ls .search/Bills") == "Bills\nInvoice March.txt\ninvoice april.txt")
            }
        }

        /// Two users keep two queries under one name.
        @Test func eachUserKeepsQueries() throws {
            try withDocuments { (mount: Mount) throws in
                try mount.shell("chmod 755 .; chmod -R a+rX letters pictures")
                try mount.shell("mkdir '.search/My=invoice'; ls .search/My", as: Account.alice)
                try mount.shell("mkdir '.search/My=portrait'; ls .search/My", as: Account.bob)
                for _ in 0..<3 {
                    #expect(try mount.shell("ls .search/My", as: Account.alice) == "Invoice March.txt\ninvoice april.txt")
                    #expect(try mount.shell("ls .search/My", as: Account.bob) == "portrait.png")
                }
                #expect(try mount.shell("ls .search") == "")
            }
        }

        @Test func documentsOfOneNameHaveNumbers() throws {
            try withMount(prepare: "mkdir a b; echo one >a/same.txt; echo two >b/same.txt") { (mount: Mount) throws in
                try mount.scanned()
                #expect(try mount.shell("cd .search/same; ls; cat same.txt; cat 'same (2).txt'") == "same (2).txt\nsame.txt\none\ntwo")
                // Programs that go through the names mean the documents that they stood for.
                #expect(try mount.shell("cd .search/same; for name in *; do readlink \"$name\"; touch ../../new$RANDOM; done") == "../../b/same.txt\n../../a/same.txt")
            }
        }

        /// Results are of documents that the user may read: in the command, in folders, and in what is told of more.
        @Test func aUserFindsWhatTheUserMayRead() throws {
            let store = """
                chmod 755 .; mkdir alice bob; for n in 1 2 3; do echo a >alice/secret$n; echo b >bob/plan$n; done; echo c >common; setfattr -n user.xdg.tags -v s alice/*
                chown -R \(Account.alice):\(Account.alice) alice; chown -R \(Account.bob):\(Account.bob) bob; chmod 700 alice bob; chmod 644 common
                """
            try withMount(prepare: store) { (mount: Mount) throws in
                try mount.scanned()
                #expect(try mount.shell("quire search --sort name 'secret OR plan OR common' | sed \"s|^$M/||\"", as: Account.bob) == "common\nbob/plan1\nbob/plan2\nbob/plan3")
                for query in ["secret", "tag:s", "in:alice", "path:alice/*"] {
                    let none = try mount.attempt("quire search '\(query)'", as: Account.bob)
                    #expect(none.status == 1 && none.output == "" && none.errors == "", "\(none)")
                }
                #expect(try mount.shell("ls .search/secret; ls .search/tag:s", as: Account.bob) == "")
                try mount.refuses("cat .search/secret/secret1", "Is a directory", as: Account.bob)
                // All that there are for bob: nothing is told of those that others have.
                #expect(try mount.attempt("quire search --limit 4 '-nothing'", as: Account.bob).errors == "")
                #expect(try mount.shell("ls .search/secret", as: Account.alice) == "secret1\nsecret2\nsecret3")
            }
        }
    }
}
