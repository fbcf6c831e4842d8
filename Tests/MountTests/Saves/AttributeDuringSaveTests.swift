import TestSupport
import Testing

extension MountTests {
    /// Attributes and sizes that are changed while a save is open (rule 2), and times (rule 9).
    @Suite(.sharedMounts)
    struct AttributeDuringSaveTests {
        @Test(arguments: SaveMount.accounts)
        func whatOthersChangeDuringASaveIsKept(kind: SaveMount) throws {
            let prepare = "echo old >doc; setfattr -n user.xdg.tags -v first doc"
            try withSharedMount(kind, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>doc; echo new >&3
                    other 'chmod 755 doc; setfattr -n user.xdg.tags -v second doc'
                    other 'setfattr -n user.xdg.comment -v note doc; setfacl -m u:61001:r doc'
                    exec 3>&-; cat doc; stat -c %a doc; getfacl -c doc | grep 61001
                    for name in tags comment; do getfattr --only-values -n user.xdg.$name doc; echo; done
                    """) == "new\n755\nuser:61001:r--\nsecond\nnote")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whatTheSaverChangesIsOfItsVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc; chmod 644 doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os
                    file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new content")
                    os.fchmod(file, 0o700); os.setxattr(file, "user.note", b"by file"); os.setxattr("doc", "user.path", b"by path")
                    os.truncate("doc", 5); os.ftruncate(file, 3); print(os.stat("doc").st_size)
                    os.utime(file, (1000, 2000)); os.close(file)
                    status = os.stat("doc")
                    print(open("doc").read(), oct(status.st_mode & 0o777), *[os.getxattr("doc", "user." + n) for n in ("note", "path")],
                        status.st_mtime)
                    """) == "3\nnew 0o700 b'by file' b'by path' 2000.0")
            }
        }

        /// Cut off by path, a document is cut off for whoever sees it; the save replaces it.
        @Test(arguments: SaveMount.accounts)
        func truncatingByPathDuringASaveIsOfTheVersionSeen(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old content >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    cut = '''python3 -c 'import os; os.truncate("doc", 3)' '''
                    file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new content")
                    print(other(cut + "; cat doc"), open("doc").read()); os.close(file); print(other("cat doc"))
                    """) == "old new content\nnew content")
            }
        }

        /// A time that the app set stays; without one, a save that is published late has its time set to when it can be seen.
        @Test(arguments: SaveMount.accounts)
        func aSaveThatIsPublishedLateIsNewerThanWhatWasMadeOfTheOldVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >src; touch -d '1 hour ago' src") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + #"""
                    printf 'out: src\n\tcp src out\n' >Makefile
                    exec 3>src; echo new >&3; sleep 0.1; other 'make -s; cat out'; sleep 0.1; exec 3>&-; other 'make -s; cat out'
                    """#) == "old\nnew")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aTimeThatTheSaverSetStays(kind: SaveMount) throws {
            let prepare = "echo old >doc; echo source >\"$T/source\"; touch -d 2001-02-03 \"$T/source\""
            try withSharedMount(kind, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    cp -p "$T/source" doc; stat -c %y doc | cut -c1-10; exec 3>doc; echo new >&3; touch -d 2002-03-04 doc
                    sleep 0.1; exec 3>&-
                    stat -c %y doc | cut -c1-10; before=$(date +%s); echo newer >doc; test $(stat -c %Y doc) -ge $before
                    """) == "2001-02-03\n2002-03-04")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func setuidIsNotKeptAndTheOwnerIs(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc; chmod 6755 doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    owner=$(stat -c %u:%g doc); echo new >doc; stat -c %a doc; test $(stat -c %u:%g doc) = $owner
                    """) == "755")
            }
        }

        @Test func aDocumentOfAnotherOwnerKeepsHim() throws {
            let prepare = "echo old >doc; chown 61001:61002 doc; chmod 666 doc"
            try withSharedMount(.root, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("echo new >doc; stat -c '%u %g %a' doc; cat doc") == "61001 61002 666\nnew")
                #expect(try mount.shell("""
                    echo newer >doc; cat doc; stat -c '%u %g %a' "$S/doc"
                    """, as: Account.bob) == "newer\n61001 61002 666")
            }
        }

        @Test func anImmutableDocumentIsRefused() throws {
            let prepare = "echo old >doc; echo old >appended; echo old >closed; chmod 444 closed"
            try withSharedMount(.root, prepare: prepare) { (mount: Mount) throws in
                defer { _ = try? mount.attempt("chattr -ia \"$S/doc\" \"$S/appended\"") }
                try mount.shell("chattr +i \"$S/doc\"; chattr +a \"$S/appended\"")
                try mount.refuses("echo NEW >doc", "Operation not permitted")
                try mount.refuses("echo NEW >appended", "Operation not permitted")
                try mount.refuses("echo NEW >closed", "Permission denied", as: Account.alice)
                #expect(try mount.shell("""
                    echo more >>appended; cat doc appended closed; chattr -ia "$S/doc" "$S/appended"; echo new >doc; cat doc
                    """) == "old\nold\nmore\nold\nnew")
            }
        }

        /// A folder that takes new names only (chattr +a): what was hidden in it goes when it takes changes again.
        @Test func aFolderForNewNamesOnlyKeepsNoHiddenOnes() throws {
            try withSharedMount(.root, prepare: "mkdir a b; touch a/doc b/doc") { (mount: Mount) throws in
                defer { _ = try? mount.attempt("chattr -a \"$S/a\" \"$S/b\"") }
                try mount.shell("""
                    chattr +a a; chattr +a "$S/b"
                    for folder in a b; do echo new >$folder/doc; (echo more; sleep 0.1) >$folder/doc; done
                    chattr -a a; chattr -a "$S/b"; rm -r a b
                    """)
                try expectNothingHidden(mount)
            }
        }

        @Test func theStatusChangeTimeIsTheOneOfChattr() throws {
            try withSharedMount(.root, prepare: "touch doc") { (mount: Mount) throws in
                #expect(try mount.shell("stat doc >/dev/null; chattr +d doc; [ $(stat -c %z doc | tr -d ' ') = $(stat -c %z \"$S/doc\" | tr -d ' ') ]; echo same") == "same")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func fileFlagsAreGivenToTheNewVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc; chattr +dA \"$S/doc\"") { (mount: Mount) throws in
                #expect(try mount.shell("echo new >doc; lsattr \"$S/doc\" | cut -d' ' -f1 | tr -d e-") == "dA")
            }
        }
    }
}
