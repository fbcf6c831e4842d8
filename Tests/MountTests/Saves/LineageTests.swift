import TestSupport
import Testing

extension MountTests {
    /// Who sees what while a save is open: the saver and what it started see its work under the document's path, everyone else the
    /// published version.
    @Suite(.sharedMounts)
    struct LineageTests {
        @Test(arguments: SaveMount.allCases)
        func theSaversProgramsSeeItsWorkAndOthersTheOldVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old version >doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>doc; echo new >&3
                    cat doc; stat -c %s doc; wc -c <doc; ls -l doc | awk '{ print $5 }'
                    other 'cat doc; stat -c %s doc; wc -c <doc; ls -l doc | awk "{ print \\$5 }"'
                    echo and more >&3; cat doc; other 'cat doc'; exec 3>&-; echo closed; cat doc; other 'cat doc; stat -c %s doc'
                    """) == """
                    new
                    4
                    4
                    4
                    old version
                    12
                    12
                    12
                    new
                    and more
                    old version
                    closed
                    new
                    and more
                    new
                    and more
                    13
                    """)
            }
        }

        @Test(arguments: SaveMount.allCases)
        func aMappingOfEachSeesItsOwnVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf %0100d 1 >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    show = '''python3 -c 'import mmap; file = open("doc")
                    print(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:3])' '''
                    file = os.open("doc", os.O_RDWR | os.O_TRUNC); os.write(file, b"new")
                    own = mmap.mmap(file, 3, prot=mmap.PROT_READ)
                    print(own[:], subprocess.run(show, shell=True, capture_output=True).stdout.decode().strip(), other(show))
                    own.close(); os.close(file); print(other(show))
                    """) == "b'new' b'new' b'000'\nb'new'")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func theWorkingCopyIsAFileLikeTheDocument(kind: SaveMount) throws {
            let prepare = "echo old >doc; chmod 640 doc; setfattr -n user.xdg.tags -v tag doc; setfacl -m u:61001:r doc"
            try withSharedMount(kind, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, stat
                    before = os.stat("doc")
                    file = os.open("doc", os.O_RDWR | os.O_TRUNC); os.write(file, b"new")
                    now, path = os.fstat(file), os.stat("doc")
                    print(now.st_nlink, now.st_size, stat.filemode(now.st_mode), now.st_uid == before.st_uid,
                        now.st_gid == before.st_gid)
                    print(now.st_ino == path.st_ino, now.st_dev == before.st_dev, os.getxattr(file, "user.xdg.tags"))
                    print(os.getxattr(file, "system.posix_acl_access") == os.getxattr("doc", "system.posix_acl_access"))
                    print(os.readlink("/proc/self/fd/%d" % file) == os.environ["M"] + "/doc")
                    os.close(file); now = os.stat("doc")
                    print(now.st_nlink, now.st_size, stat.filemode(now.st_mode), os.getxattr("doc", "user.xdg.tags"))
                    """) == "1 3 -rw-r----- True True\nTrue True b'tag'\nTrue\nTrue\n1 3 -rw-r----- b'tag'")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aSaversOwnSecondOpenIsOfItsWork(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    first = open("doc", "w", buffering=1); first.write("one\\n")
                    print(repr(open("doc").read()))
                    with open("doc", "a") as second: second.write("two\\n")
                    with open("doc", "r+") as third: third.seek(0); third.write("ONE")
                    print(repr(open("doc").read()), other("cat doc")); first.close(); print(other("cat doc"))
                    """) == "'one\\n'\n'ONE\\ntwo\\n' old\nONE\ntwo")
            }
        }

        /// As on a plain folder, the second truncation is of what the first had written.
        @Test(arguments: SaveMount.accounts)
        func aSaversOwnSecondTruncatingOpenIsOfItsWork(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    first = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(first, b"first\\n")
                    with open("doc", "w") as second: second.write("SEC")
                    print(repr(open("doc").read()), other("cat doc")); os.write(first, b"more\\n"); os.close(first)
                    print(open("doc", "rb").read() == b"SEC\\0\\0\\0more\\n")
                    """) == "'SEC' old\nTrue")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whatAnotherOpenedBeforeStaysTheOldVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    other 'exec 5<doc 6<doc'; exec 3>doc; echo new >&3; other 'cat <&5; stat -Lc %s /dev/fd/6'; exec 3>&-
                    other 'cat <&6; stat -Lc %s /dev/fd/6; cat doc; stat -Lc %h /dev/fd/6'
                    """) == "old\n4\nold\n4\nnew\n0")
            }
        }

        /// A reader of the saver's own lineage that stays open has the published version, which is the one it opened.
        @Test(arguments: SaveMount.allCases)
        func aDescriptorOfTheWorkingCopyOutlivesItsPublishing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"new\\n")
                    reader = os.open("doc", os.O_RDONLY); os.close(file)
                    print(os.pread(reader, 99, 0), os.fstat(reader).st_nlink, os.fstat(reader).st_ino == os.stat("doc").st_ino)
                    print(other("echo more >>doc; cat doc")); print(os.pread(reader, 99, 0))
                    """) == "b'new\\n' 1 True\nnew\nmore\nb'new\\nmore\\n'")
            }
        }

        /// Without a pause for whoever waits: the listing a child makes tells sizes of its parent's version too.
        @Test(arguments: SaveMount.accounts)
        func twoSaversOfTwoDocumentsDoNotMix(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >one; echo old >two") { (mount: Mount) throws in
                #expect(try mount.shell(Unrelated.shell + """
                    exec 3>one; echo new one >&3; other 'exec 3>two; echo new two >&3'
                    cat one two; other 'cat one two'; exec 3>&-; other 'exec 3>&-'; cat one two
                    """) == "new one\nold\nold\nnew two\nnew one\nnew two")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func statusListsASaveUntilItIsOver(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 3>doc; echo new >&3; quire status "$M" | grep -c -w doc; exec 3>&-
                    quire status "$M" | grep -c -w doc || true
                    """) == "1\n0")
            }
        }
    }
}
