import TestSupport
import Testing

extension MountTests {
    /// Folders that are documents.
    struct PackageTests {
        private static let documents = """
            mkdir -p 'work/Novel.scriv/Files/Data' 'work/Novel.scriv/QuickLook' plain
            echo chapterword >work/Novel.scriv/Files/Data/1.txt; echo '<x/>' >work/Novel.scriv/project.scrivx; echo one >plain/note.txt
            """

        private func withPackage(_ account: Account = .root, _ options: [String] = [], _ body: (Mount) throws -> Void) throws {
            try withMount(account, account.options + options, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try body(mount)
            }
        }

        @Test(arguments: Account.allCases)
        func aPackageIsFoundAsOneDocument(account: Account) throws {
            try withPackage(account) { (mount: Mount) throws in
                func found(_ query: String) throws -> String { try mount.shell("{ quire search --sort name '\(query)' || true; } | sed \"s|^$M/||\"") }
                #expect(try found("novel") == "work/Novel.scriv")
                #expect(try found("*.txt") == "plain/note.txt")
                #expect(try found("*.scrivx") == "")
                #expect(try found("size:17") == "work/Novel.scriv")
                #expect(try mount.shell("readlink .search/novel/Novel.scriv; cat .search/novel/Novel.scriv/project.scrivx") == "../../work/Novel.scriv\n<x/>")
                // One that is made by a move, one that is copied, and one that is a folder again.
                try mount.shell(
                    """
                    mv plain plain.scriv; [ "$(quire search plain)" = "$M/plain.scriv" ]; expect_status 1 quire search note
                    cp -r work/Novel.scriv Copy.scriv; [ "$(quire search copy)" = "$M/Copy.scriv" ]
                    eventually eval '[ "$(quire search --json copy | jq ".[0].size")" = 17 ]'
                    mv Copy.scriv copied; eventually eval '[ "$(quire search --in copied 1.txt)" = "$M/copied/Files/Data/1.txt" ]'; [ -z "$(quire search '*.scriv copied')" ]
                    mv plain.scriv/note.txt .; [ "$(quire search note)" = "$M/note.txt" ]; mv note.txt plain.scriv/; expect_status 1 quire search note
                    rm -r plain.scriv; expect_status 1 quire search plain
                    # Moved before it is measured, and by a folder around it.
                    mkdir -p deep/A.scriv; echo 12345 >deep/A.scriv/x; [ "$(quire search a.scriv)" = "$M/deep/A.scriv" ]; mv deep deeper; mv deeper/A.scriv B.scriv
                    eventually eval '[ "$(quire search --json b.scriv | jq ".[0].size")" = 6 ]'
                    # Files are no packages.
                    echo file >report.odt; echo other >notes; quire tag add file report.odt; python3 -c 'import ctypes; assert ctypes.CDLL(None).renameat2(-100, b"report.odt", -100, b"notes", 2) == 0'
                    [ "$(ls .tags/file)" = notes ]; [ "$(quire search --sort name report notes)" = "" ]; mv work/Novel.scriv/project.scrivx .favorites/; [ "$(quire favorite list)" = "$M/work/Novel.scriv" ]; expect_status 1 quire search '*.scrivx' in:work
                    mkdir New.rtfd; [ "$(quire search new)" = "$M/New.rtfd" ]
                    """)
            }
        }

        @Test(arguments: Account.allCases)
        func useOfAPartIsUseOfThePackage(account: Account) throws {
            try withPackage(account) { (mount: Mount) throws in
                try mount.shell("echo more >>work/Novel.scriv/Files/Data/1.txt; echo new >work/Novel.scriv/Files/2.txt; echo x >work/Novel.scriv/.t; mv work/Novel.scriv/.t work/Novel.scriv/project.scrivx")
                try mount.expectNames(["Novel.scriv"], in: ".recents")
                #expect(try mount.shell("quire recents --json | jq -r '.[].path'; quire search by:me") == "\(mount.path)/work/Novel.scriv\n\(mount.path)/work/Novel.scriv")
                try mount.shell(
                    """
                    eventually eval '[ "$(quire search --json novel | jq ".[0].size")" = 23 ]'; [ "$(quire search by:me)" = "$M/work/Novel.scriv" ]
                    quire tag add draft work/Novel.scriv; ln -s ../../work/Novel.scriv .tags/draft/x 2>/dev/null || true
                    quire tag add part work/Novel.scriv/Files/2.txt; [ "$(getfattr --only-values -n user.xdg.tags work/Novel.scriv)" = draft,part ]
                    setfattr -n user.xdg.tags -v own work/Novel.scriv; [ "$(ls .tags)" = "$(printf 'own')" ]
                    [ "$(readlink .tags/own/Novel.scriv)" = ../../work/Novel.scriv ]; cat .tags/own/Novel.scriv/project.scrivx
                    quire favorite add work/Novel.scriv/Files; [ "$(quire favorite list)" = "$M/work/Novel.scriv" ]
                    bookmark=$(quire bookmark create work/Novel.scriv)
                    mv work/Novel.scriv Moved.scriv
                    [ "$(readlink .tags/own/Moved.scriv)" = ../../Moved.scriv ]; [ "$(quire favorite list)" = "$M/Moved.scriv" ]
                    [ "$(quire recents --json | jq -r '.[].path')" = "$M/Moved.scriv" ]; [ "$(quire bookmark resolve "$bookmark")" = "$M/Moved.scriv" ]
                    rm .tags/own/Moved.scriv; expect_status 1 getfattr -n user.xdg.tags Moved.scriv 2>/dev/null
                    quire recents forget Moved.scriv/project.scrivx; [ -z "$(quire recents)" ]
                    """)
            }
        }

        /// As apps save a package whole: they write another folder, exchange the two and remove the older.
        @Test(arguments: Account.allCases)
        func aPackageThatIsExchangedForItsNewVersionIsTheSame(account: Account) throws {
            try withPackage(account) { (mount: Mount) throws in
                try mount.shell("quire tag add draft work/Novel.scriv; quire favorite add work/Novel.scriv; echo x >>work/Novel.scriv/project.scrivx")
                try mount.python(
                    """
                    import ctypes, os, shutil
                    os.mkdir("work/.new"); open("work/.new/project.scrivx", "w").write("the new version")
                    assert ctypes.CDLL(None, use_errno=True).renameat2(-100, b"work/.new", -100, b"work/Novel.scriv", 2) == 0
                    shutil.rmtree("work/.new")
                    """)
                try mount.shell(
                    """
                    [ "$(ls .tags/draft .favorites .recents | xargs)" = ".favorites: Novel.scriv .recents: Novel.scriv .tags/draft: Novel.scriv" ]
                    [ "$(cat .tags/draft/Novel.scriv/project.scrivx)" = "the new version" ]; eventually eval '[ "$(quire search size:15)" = "$M/work/Novel.scriv" ]'
                    """)
            }
        }

        /// A package that is tagged, changed and replaced beneath the mount.
        @Test(arguments: Account.allCases)
        func changesBeneathTheMountAreThePackages(account: Account) throws {
            try withPackage(account) { (mount: Mount) throws in
                try mount.shell(
                    """
                    setfattr -n user.xdg.tags -v beneath work/Novel.scriv; echo more >>work/Novel.scriv/project.scrivx
                    mkdir work/Other.scriv; echo x >work/Other.scriv/x
                    """, in: mount.store)
                try mount.shell(
                    """
                    eventually eval '[ "$(quire search tag:beneath size:22)" = "$M/work/Novel.scriv" ]'
                    eventually eval '[ "$(quire search other)" = "$M/work/Other.scriv" ]'
                    """)
            }
        }

        @Test(arguments: Account.allCases)
        func aClaimOfAPartIsOfThePackage(account: Account) throws {
            try withPackage(account) { (mount: Mount) throws in
                try mount.shell(
                    """
                    quire coordinate --write work/Novel.scriv/project.scrivx -- sh -c '
                        echo new >work/Novel.scriv/project.scrivx; echo new >work/Novel.scriv/Files/Data/1.txt; touch "$T/held"
                        while [ ! -e "$T/go" ]; do sleep 0.02; done' &
                    holder=$!; eventually [ -e "$T/held" ]
                    expect_status 75 quire coordinate --write work/Novel.scriv/Files/Data/1.txt --timeout 0.2 -- true
                    quire coordinate --write plain/note.txt --timeout 0 -- true
                    [ "$(cat work/Novel.scriv/project.scrivx work/Novel.scriv/Files/Data/1.txt)" = "$(printf '<x/>\\nchapterword')" ]
                    touch "$T/go"; wait $holder
                    [ "$(cat work/Novel.scriv/project.scrivx work/Novel.scriv/Files/Data/1.txt)" = "$(printf 'new\\nnew')" ]
                    """)
            }
        }

        /// As on a plain folder: a part of another user's package, and of one whose folder the user may not write.
        @Test func aPartOfWhatOneMayNotClaimWholeIsClaimedAlone() throws {
            try withPackage { (mount: Mount) throws in
                try mount.shell("chmod -R a+rwX work; mkdir Mine.scriv; echo x >Mine.scriv/part; chmod 666 Mine.scriv/part; chmod 555 Mine.scriv; chown -R 61001 Mine.scriv")
                try mount.shell("quire coordinate --write Mine.scriv/part --timeout 0 -- true", as: Account.alice)
                try mount.shell("quire coordinate --write work/Novel.scriv/project.scrivx --timeout 0 -- sh -c 'echo theirs >work/Novel.scriv/project.scrivx'", as: Account.alice)
                #expect(try mount.shell("cat work/Novel.scriv/project.scrivx") == "theirs")
            }
        }

        @Test(arguments: Account.allCases)
        func aPackageShowsThePictureThatItKeeps(account: Account) throws {
            try withPackage(account) { (mount: Mount) throws in
                try mount.shell(
                    """
                    convert -size 300x200 xc:red work/Novel.scriv/QuickLook/Thumbnail.png; convert -size 300x200 xc:blue work/Novel.scriv/other.png
                    colour() { convert .thumbnails/large/work/Novel.scriv.png -gravity center -crop 1x1+0+0 -format '%[hex:p{0,0}]' info: | cut -c 1-6; }
                    [ "$(colour)" = FF0000 ]; [ "$(ls .thumbnails/large/work)" = Novel.scriv.png ]
                    convert -size 300x200 xc:lime work/Novel.scriv/QuickLook/Thumbnail.png; eventually eval '[ "$(colour)" = 00FF00 ]'
                    rm -r work/Novel.scriv/QuickLook work/Novel.scriv/project.scrivx; eventually eval '[ "$(colour)" = 0000FF ]'
                    """)
            }
        }

        @Test func theTextsInAPackageAreThePackages() throws {
            try withMount(.user, ["search-text=on"], prepare: Self.documents) { (mount: Mount) throws in
                try mount.shell(
                    """
                    eventually eval '[ "$(quire search chapterword)" = "$M/work/Novel.scriv" ]'
                    echo laterword >work/Novel.scriv/Files/2.md; eventually eval '[ "$(quire search laterword)" = "$M/work/Novel.scriv" ]'
                    mkdir Empty.rtfd; eventually eval '[ "$(quire search --why Empty.rtfd)" = "Empty.rtfd: it has no text: nothing in it has a text" ]'
                    """)
            }
        }

        @Test func theOptionSaysWhatIsAPackage() throws {
            try withPackage(.root, ["packages=none:proj"]) { (mount: Mount) throws in
                #expect(try mount.shell("quire search '*.scrivx'") == "\(mount.path)/work/Novel.scriv/project.scrivx")
                try mount.shell("mkdir a.proj; echo x >a.proj/inner; expect_status 1 quire search inner; [ \"$(quire search '*.proj')\" = \"$M/a.proj\" ]")
            }
        }

        /// By a type that is derived from inode/directory.
        @Test func aDeclaredTypeIsAPackage() throws {
            try withMount(.user, prepare: "mkdir a.bundleoftests; echo x >a.bundleoftests/inner") { (mount: Mount) throws in
                try mount.scanned()
                #expect(try mount.shell("quire search inner") == "\(mount.path)/a.bundleoftests/inner")
                try mount.shell(
                    """
                    cat >"$T/types.xml" <<'END'
                    <?xml version="1.0"?>
                    <mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
                      <mime-type type="application/x-bundle-of-tests">
                        <comment>Bundle</comment>
                        <sub-class-of type="inode/directory"/>
                        <glob pattern="*.bundleoftests"/>
                      </mime-type>
                    </mime-info>
                    END
                    quire types declare "$T/types.xml"
                    """)
                try mount.unmount()
                try mount.mount([])
                try mount.scanned()
                try mount.shell("expect_status 1 quire search inner; [ \"$(quire search bundleoftests)\" = \"$M/a.bundleoftests\" ]")
            }
        }
    }
}
