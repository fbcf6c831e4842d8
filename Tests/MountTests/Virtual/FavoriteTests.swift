import TestSupport
import Testing

extension MountTests {
    /// `quire favorite` and the folder `.favorites`.
    struct FavoriteTests {
        private static let documents = "mkdir -p letters/old empty; echo one >letters/note; echo two >note; echo three >other; ln -s other link"

        private func withDocuments(_ account: Account = .root, _ body: (Mount) throws -> Void) throws {
            try withMount(account, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                // The sidebars of whoever runs the tests stay as they are.
                try mount.shell("mkdir -m 700 \"$T/home\"")
                try body(mount)
            }
        }

        private static let home = "export HOME=\"$T/home\"; unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CURRENT_DESKTOP; "

        @Test(arguments: Account.allCases)
        func theCommandMarksDocumentsAndFolders(account: Account) throws {
            try withDocuments(account) { (mount: Mount) throws in
                func list() throws -> String { try mount.shell("quire favorite list | sed \"s|^$M/||\"") }
                try mount.shell(Self.home + "quire favorite add letters/note letters; sleep 0.01; quire favorite add empty letters")
                #expect(try list() == "empty/\nletters/\nletters/note")
                #expect(try mount.shell("ls -F .favorites; readlink .favorites/*; cat .favorites/note .favorites/letters/note; ls .favorites/letters/") ==
                    "empty@\nletters@\nnote@\n../empty\n../letters\n../letters/note\none\none\nnote\nold")
                #expect(try mount.shell("quire favorite list --json | jq -r '.[] | .folder, (.added > 1700000000)'") == "true\ntrue\ntrue\ntrue\nfalse\ntrue")
                #expect(try mount.shell("quire search is:favorite; ls .search/is:favorite") == "\(mount.path)/letters/note\nnote")
                // Moved, and saved in two ways.
                try mount.shell("mv letters post; mv post/note post/old/letter; echo more >post/old/letter; echo most >new; mv new post/old/letter")
                #expect(try list() == "empty/\npost/\npost/old/letter")
                #expect(try mount.shell("cat .favorites/letter") == "most")
                try mount.shell(Self.home + "quire favorite remove post/old/letter; rmdir empty; mkdir empty")
                #expect(try list() == "post/")
                let failed = try mount.attempt(Self.home + "quire favorite remove other post")
                #expect(failed.status == 1 && failed.errors.contains("/other: is no favorite"), "\(failed)")
                #expect(try list() == "")
                let missing = try mount.attempt(Self.home + "quire favorite add nothing other")
                #expect(missing.status == 1 && missing.errors.contains("/nothing: is no document or folder that you may read"), "\(missing)")
                #expect(try list() == "other")
                try mount.shell("cd /; quire unmount \"$M\"", in: "/")
                try mount.mount()
                #expect(try list() == "other")
            }
        }

        @Test(arguments: Account.allCases)
        func linksInTheFolderAreMarks(account: Account) throws {
            try withDocuments(account) { (mount: Mount) throws in
                try mount.shell("ln -s ../note .favorites/; quire favorite add --no-sidebar letters/note; ln -s \"$M/letters\" .favorites/mail; readlink .favorites/mail")
                #expect(try mount.shell("ls .favorites") == "letters\nnote\nnote (2)")
                try mount.shell("ln -sf ../other .favorites/other; mv letters/old .favorites/ 2>/dev/null || true; echo last >last; mv last .favorites/; [ -f last ]; rm .favorites/last last")
                #expect(try mount.shell("ls .favorites") == "letters\nnote\nnote (2)\nother")
                #expect(try mount.shell("rm .favorites/note*; ls .favorites; ls") == "letters\nother\nempty\nletters\nlink\nnote\nother")
                for refused in ["ln -s ../nothing .favorites/", "ln -s /etc/passwd .favorites/", "ln -s ../link .favorites/", "ln -s .. .favorites/up", "ln -s ../.tags .favorites/"] {
                    try mount.refuses(refused, "not permitted")
                }
                for refused in ["mkdir .favorites/new", "echo >.favorites/new", "mv .favorites/other .favorites/name", "rmdir .favorites"] { try mount.refuses(refused, "") }
                #expect(try mount.shell("rm -r .favorites/*; ls .favorites; ls letters other") == "other\n\nletters:\nnote\nold")
            }
        }

        /// Each user has favorites, and is shown those that the user may read.
        @Test func usersSeeTheirOwn() throws {
            try withDocuments { (mount: Mount) throws in
                try mount.shell("chmod 755 . letters letters/old; chmod 644 note letters/note")
                try mount.shell("ln -s ../note ../letters .favorites/", as: Account.alice)
                try mount.shell("ln -s ../letters/note .favorites/", as: Account.bob)
                #expect(try mount.shell("ls .favorites", as: Account.alice) == "letters\nnote")
                #expect(try mount.shell("readlink .favorites/*; quire search is:favorite", as: Account.bob) == "../letters/note\n\(mount.path)/letters/note")
                #expect(try mount.shell("ls .favorites") == "")
                // A list holds for a second.
                try mount.shell("chmod 600 note; chmod 700 letters; sleep 1.1")
                #expect(try mount.shell("ls .favorites", as: Account.alice) == "")
                try mount.refuses("ln -s ../letters/note .favorites/mine", "not permitted", as: Account.alice)
                #expect(try mount.shell("quire search is:favorite || true; quire favorite list", as: Account.bob) == "")
                try mount.shell("chmod 644 note; chmod 755 letters; sleep 1.1")
                #expect(try mount.shell("ls .favorites", as: Account.alice) == "letters\nnote")
            }
        }

        /// Who wrote a document's content last, as everybody knows who may read it.
        @Test func documentsAreFoundByWhoWroteThem() throws {
            try withDocuments { (mount: Mount) throws in
                try mount.shell("chmod 777 . letters; chmod 666 note letters/note")
                try mount.shell("echo mine >note; echo new >letters/hers", as: Account.alice)
                try mount.shell("echo his >letters/note", as: Account.bob)
                try mount.shell("echo more >>other")
                func found(_ query: String, as user: UInt32) throws -> String { try mount.shell("quire search --sort name '\(query)' | sed \"s|^$M/||\"", as: user) }
                #expect(try found("by:\(Account.alice)", as: Account.bob) == "letters/hers\nnote")
                #expect(try found("by:me", as: Account.bob) == "letters/note")
                #expect(try found("by:root", as: Account.bob) == "other")
                #expect(try found("by:\(Account.alice) in:letters", as: Account.alice) == "letters/hers")
                try mount.shell("echo his too >note", as: Account.bob)
                #expect(try found("by:me", as: Account.alice) == "letters/hers")
                // Programs set times after they have written; who changes the size or times is known, too.
                try mount.shell("truncate -s 2 letters/hers; touch -d 2001-02-03 letters/hers; cp -p other letters/copy", as: Account.alice)
                #expect(try found("by:me", as: Account.alice) == "letters/copy\nletters/hers")
                try mount.shell("rm letters/copy")
                #expect(try mount.attempt("quire search by:no-such-user").status == 1)
                // Nobody knows who wrote beneath the mount.
                try mount.shell("echo beneath >\"$S/letters/note\"")
                try eventually { try mount.attempt("quire search by:\(Account.bob) in:letters").status == 1 }
            }
        }

        @Test(arguments: Account.allCases)
        func foldersAreInTheSidebars(account: Account) throws {
            try withDocuments(account) { (mount: Mount) throws in
                let places = """
                    <?xml version="1.0" encoding="UTF-8"?>
                    <!DOCTYPE xbel>
                    <xbel xmlns:bookmark="http://www.freedesktop.org/standards/desktop-bookmarks" xmlns:kdepriv="http://www.kde.org/kdepriv">
                     <info><metadata owner="http://www.kde.org"><kde_places_version>4</kde_places_version></metadata></info>
                     <bookmark href="file:///home"><title>Home</title>
                      <info><metadata owner="http://www.kde.org"><ID>1/0</ID><isSystemItem>true</isSystemItem></metadata></info></bookmark>
                    </xbel>

                    """
                let (gtk, kde) = ("$T/home/.config/gtk-3.0/bookmarks", "$T/home/.local/share/user-places.xbel")
                try mount.shell(
                    """
                    mkdir -p "$T/home/.config/gtk-3.0" "$T/home/.local/share" 'letters/a & "b" ü'; printf 'file:///home Home' >"\(gtk)"; chmod 640 "\(gtk)"
                    cat >"\(kde)" <<'END'
                    \(places)END
                    cp "\(kde)" "$T/before"
                    """)
                // KDE's own reader is none of this machine's: the format is XBEL.
                let list = "python3 -c 'import sys, urllib.parse\nimport xml.etree.ElementTree as tree\nfor one in tree.parse(sys.argv[1]).getroot().iter(\"bookmark\"): print(urllib.parse.unquote(one.get(\"href\"))[7:], one.findtext(\"title\"))' \"\(kde)\" | sed \"s|$M/||\""
                try mount.shell(Self.home + "quire favorite add empty note 'letters/a & \"b\" ü' empty")
                #expect(try mount.shell("cat \"\(gtk)\"; stat -c %a \"\(gtk)\"") == "file:///home Home\nfile://\(mount.path)/empty\nfile://\(mount.path)/letters/a%20&%20%22b%22%20%C3%BC\n640")
                #expect(try mount.shell(list) == "/home Home\nempty empty\nletters/a & \"b\" ü a & \"b\" ü")
                try mount.shell(Self.home + "quire favorite remove empty 'letters/a & \"b\" ü' note; diff \"\(kde)\" \"$T/before\"; [ \"$(cat \"\(gtk)\")\" = 'file:///home Home' ]")
                // What is no file of places stays as it is; the folder is a favorite all the same.
                try mount.shell("echo '<xbel><bookmark' >\"\(kde)\"")
                let failed = try mount.attempt(Self.home + "quire favorite add empty")
                #expect(failed.status == 1 && failed.errors.contains("it is left as it is"), "\(failed)")
                #expect(try mount.shell("cat \"\(kde)\"; ls .favorites") == "<xbel><bookmark\nempty")
                try mount.shell("rm \"\(kde)\"; printf 'file://%s/letters\\nfile:///etc\\n' \"$M\" >>\"\(gtk)\"")
                #expect(try mount.shell(Self.home + "quire favorite import; ls .favorites") == "2 folders are favorites.\nempty\nletters")
                #expect(try mount.shell(Self.home + "quire favorite remove --no-sidebar letters; grep -c letters \"\(gtk)\"") == "1")
            }
        }
    }
}
