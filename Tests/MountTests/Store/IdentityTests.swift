import TestSupport
import Testing

extension MountTests {
    /// A document stays itself: its tags, comment and place in the recents survive what editors and people do to it.
    struct IdentityTests {
        private static let document = """
            echo one >doc; setfattr -n user.xdg.tags -v tag doc; setfattr -n user.xdg.comment -v 'a comment' doc
            setfattr -n user.origin -v elsewhere doc
            """
        private static let attributes = "for n in xdg.tags xdg.comment origin; do getfattr --only-values -n user.$n doc; echo; done"

        private func survives(_ account: Account, _ script: String, content: String) throws {
            try withMount(account, prepare: Self.document) { mount in
                try mount.scanned()
                try mount.shell(script)
                #expect(try mount.shell("cat doc") == content)
                #expect(try mount.shell(Self.attributes) == "tag\na comment\nelsewhere")
                #expect(try mount.shell("cd \"$S\"; " + Self.attributes) == "tag\na comment\nelsewhere")
                try mount.expectNames(["doc"], in: ".tags/tag")
                try mount.expectNames(["doc"], in: ".recents")
            }
        }

        @Test(arguments: Account.allCases)
        func aSaveByRenameKeepsThem(account: Account) throws {
            try survives(account, "echo two >.doc.new; mv .doc.new doc", content: "two")
        }

        @Test(arguments: Account.allCases)
        func aSaveByMovingAsideKeepsThem(account: Account) throws {
            try survives(account, "mv doc doc~; echo two >doc; rm doc~", content: "two")
        }

        @Test func aSaveByMovingAsideAndRenamingKeepsThem() throws {
            try survives(.root, "echo two >new.tmp; mv doc doc~; mv new.tmp doc; rm doc~", content: "two")
        }

        @Test func aSaveByAnEditorWithHardLinkedBackupKeepsThem() throws {
            try survives(.root, "ln doc doc~; echo two >new.tmp; mv new.tmp doc; rm doc~", content: "two")
        }

        @Test(arguments: Account.allCases)
        func aSaveByRemovingAndRenamingKeepsThem(account: Account) throws {
            try survives(account, "echo two >new.tmp; rm doc; mv new.tmp doc", content: "two")
        }

        @Test(.enabled(if: isLongRun, "takes 20 s"), arguments: Account.allCases)
        func aSaveByRenameMayTakeLong(account: Account) throws {
            try survives(account, "(sleep 20; echo two) >new; mv new doc", content: "two")
        }

        @Test func sedInPlaceKeepsThem() throws { try survives(.root, "sed -i s/one/two/ doc", content: "two") }

        @Test func aWriterInPlaceKeepsThem() throws { try survives(.root, "echo two >doc", content: "two") }

        @Test func whatTheNewFileHasItselfIsKept() throws {
            try withMount(prepare: Self.document) { mount in
                try mount.scanned()
                try mount.shell("echo two >new; setfattr -n user.xdg.comment -v newer new; mv new doc")
                #expect(try mount.shell(Self.attributes) == "tag\nnewer\nelsewhere")
            }
        }

        @Test func aFileThatIsNoSaveTakesNothingOver() throws {
            try withMount(prepare: Self.document + "; echo other >other; echo third >third") { mount in
                try mount.scanned()
                try mount.shell("mv other doc")
                #expect(try mount.tags(of: "doc") == "")
                #expect(try mount.names(in: ".tags") == [])
                try mount.shell("setfattr -n user.xdg.tags -v tag third; rm third; sleep 0.1; echo new >third")
                #expect(try mount.tags(of: "third") == "")
            }
        }

        @Test func aNameThatHadAnotherFileSinceIsAnotherDocument() throws {
            try withMount(prepare: Self.document + "; echo third >third") { mount in
                try mount.scanned()
                try mount.shell("rm doc; echo two >doc; rm doc; echo new >new; mv new doc")
                #expect(try mount.tags(of: "doc") == "")
                // By an old file, too.
                try mount.shell("setfattr -n user.xdg.tags -v tag doc; rm doc; mv third doc; rm doc; echo new >new; mv new doc")
                #expect(try mount.tags(of: "doc") == "")
            }
        }

        /// Files that are written for long are no saves, though they are closed when they are renamed, or open yet.
        @Test(.enabled(if: isLongRun, "takes 40 s"))
        func aLogThatIsMovedTakesNothingOver() throws {
            try withMount(prepare: Self.document) { mount in
                try mount.scanned()
                try mount.shell("exec 3>log; echo one >&3; sleep 17; mv doc doc.1; mv log doc")
                #expect(try mount.tags(of: "doc") == "")
                // A file that is open for writing still is a document, if it is moved aside.
                try mount.shell("""
                    exec 3>open; echo one >&3; setfattr -n user.xdg.tags -v kept open; sleep 17; mv open open~; echo new >open
                    """)
                #expect(try mount.tags(of: "open") == "kept")
            }
        }

        @Test func swappingTwoDocumentsSwapsTheirTags() throws {
            try withMount(prepare: Self.document + "; echo other >other") { mount in
                try mount.scanned()
                try mount.python("""
                    import ctypes
                    libc = ctypes.CDLL(None, use_errno=True)
                    assert libc.renameat2(-100, b"doc", -100, b"other", 2) == 0, ctypes.get_errno()
                    """)
                #expect(try mount.shell("cat doc other") == "other\none")
                #expect(try mount.tags(of: "other") == "tag")
                try mount.expectNames(["other"], in: ".tags/tag")
            }
        }

        @Test(arguments: Account.allCases)
        func aLostAttributeDoesNotComeBack(account: Account) throws {
            try withMount(account, prepare: Self.document) { mount in
                try mount.scanned()
                try mount.shell("setfattr -x user.xdg.tags doc; echo two >new; mv new doc")
                #expect(try mount.tags(of: "doc") == "")
            }
        }

        @Test(arguments: Account.allCases)
        func movesWhileNotMountedKeepTheTagFoldersRight(account: Account) throws {
            try withMount(account, prepare: Self.document + "; mkdir d; cp -a doc d/second") { mount in
                try mount.scanned()
                try mount.unmount()
                try mount.shell("mv doc d/first; mv d e; setfattr -n user.xdg.tags -v late e/second", in: mount.store)
                try mount.mount()
                try mount.scanned()
                try mount.expectNames(["late", "tag"], in: ".tags")
                #expect(try mount.shell("readlink .tags/*/*") == "../../e/second\n../../e/first")
            }
        }

        @Test func aThrownAwayIndexIsBuiltAgainFromTheStore() throws {
            try withMount(prepare: Self.document) { mount in
                try mount.scanned()
                try mount.unmount()
                try mount.shell("rm -r \"$QUIRE_STATE_HOME\"/*", in: "/")
                try mount.mount()
                try mount.scanned()
                try mount.expectNames(["doc"], in: ".tags/tag")
            }
        }
    }
}
