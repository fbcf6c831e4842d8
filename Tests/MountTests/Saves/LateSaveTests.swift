import TestSupport
import Testing

extension MountTests {
    /// Saves of programs that open the document without O_TRUNC and cut it to nothing later, or come to it by a descriptor.
    @Suite(.sharedMounts)
    struct LateSaveTests {
        /// The saver sees its work by its descriptor and by the name, others see the old version until it is closed.
        @Test(arguments: SaveMount.allCases)
        func othersSeeTheOldVersionUntilItIsClosed(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    file = os.open("doc", os.O_RDWR); os.ftruncate(file, 0); os.write(file, b"new text")
                    print(other("cat doc; stat -c ' %s' doc"), os.fstat(file).st_size, open("doc").read())
                    os.close(file); print(other("cat doc; stat -c ' %s %h' doc"), os.stat("doc").st_size)
                    """) == "old 3 8 new text\nnew text 8 1 8")
            }
        }

        /// As a viewer has it. The saver's writes then come to the mount, and go to another file.
        @Test(arguments: SaveMount.allCases)
        func aReaderThatHasItOpenKeepsItsVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "head -c 100000 /dev/zero | tr '\\0' o >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    other("exec 5<doc; head -c 10 <&5")
                    file = os.open("doc", os.O_RDWR); os.ftruncate(file, 0); os.write(file, b"n" * 300000)
                    print(other("wc -c <&5; tr -d o <doc | wc -c"), os.fstat(file).st_size)
                    os.close(file); print(other("exec 5<&-; tr -d n <doc | wc -c; stat -c %s doc"))
                    """) == "99990\n0 300000\n0\n300000")
            }
        }

        /// A portal opens documents so. Its descriptor leads to the document's content, however often that is saved.
        @Test(arguments: SaveMount.allCases)
        func aDescriptorWithoutRightsLeadsToTheDocument(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    place = os.open("doc", os.O_PATH); name = "/proc/self/fd/%d" % place
                    file = os.open(name, os.O_WRONLY | os.O_TRUNC); os.write(file, b"new text")
                    print(other("cat doc"), os.fstat(file).st_size); os.close(file)
                    print(other("cat doc; printf again >doc")); time.sleep(1.5)
                    print(open(name).read(), os.fstat(place).st_size)
                    """) == "old 8\nnew text\nagain 5")
            }
        }

        /// truncate(2) opens nothing: it changes the version that its caller finds by the name, whatever the request comes with.
        @Test(arguments: SaveMount.allCases)
        func truncateChangesTheVersionThatItsCallerSees(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf old >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    place = os.open("doc", os.O_PATH); name = "/proc/self/fd/%d" % place
                    file = os.open(name, os.O_RDWR | os.O_TRUNC); os.write(file, b"new text"); os.truncate(name, 3)
                    print(os.fstat(file).st_size, other("cat doc")); os.close(file); print(other("cat doc"))
                    other("printf 'from another' >doc"); os.truncate(name, 4); print(other("cat doc; stat -c ' %s' doc"))
                    """) == "3 old\nnew\nfrom 4")
            }
        }

        /// A document that the handle has written before, or another program has open for writing, is a database.
        @Test(arguments: SaveMount.accounts)
        func whatIsWrittenInPlaceStaysSo(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf old >doc; printf old >shared") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    file = os.open("doc", os.O_RDWR); os.pwrite(file, b"x", 2); os.ftruncate(file, 0); os.pwrite(file, b"journal", 0)
                    print(other("cat doc")); os.close(file)
                    other("exec 5<>shared"); file = os.open("shared", os.O_RDWR); os.ftruncate(file, 0); os.write(file, b"both")
                    print(other("cat shared; exec 5>&-")); os.close(file)
                    """) == "journal\nboth")
            }
        }

        /// The kernel keeps the entry that leads to what a killed saver has cut off until the daemon's process has it forgotten. A program
        /// may rename the document before.
        @Test(arguments: SaveMount.allCases)
        func theNameIsTheDocumentsThoughItIsMovedBeforeTheKernelIsTold(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >first; echo old >doc") { (mount: Mount) throws in
                let daemon = try #require(mount.daemon)
                try mount.shell("""
                    killed() { python3 -c 'import os, sys
                    if os.fork() == 0: file = os.open(sys.argv[1], os.O_RDWR); os.ftruncate(file, 0); os.kill(os.getpid(), 9)
                    os.wait()' "$1"; }
                    is_shown() { [ "$(stat -c %i "$1")" = "$(stat -c %i "$S/$1")" ]; }
                    cat first doc >"$T/read"
                    # Has the daemon start the process.
                    killed first; eventually 'is_shown first && pgrep -P \(daemon) -x quire-replay >"$T/helpers"'
                    helpers=$(cat "$T/helpers"); trap 'kill -CONT $helpers || true' EXIT; kill -STOP $helpers
                    # For a second the mount takes any rename for one that may move such an entry.
                    killed doc; sleep 1.2; mv doc moved; kill -CONT $helpers
                    eventually is_shown moved; expect_equal "$(cat moved)" old
                    """)
            }
        }

        /// A line that a program writes into a file which it keeps open.
        @Test(arguments: SaveMount.accounts)
        func whatStaysOpenIsThereAfterFiveSeconds(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo 123456 >running") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    file = os.open("running", os.O_RDWR); os.ftruncate(file, 0); os.write(file, b"77\\n")
                    print(other("while [ \\"$(cat running)\\" != 77 ]; do sleep 0.1; done; cat running"))
                    os.write(file, b"78\\n"); print(other("cat running"))
                    """) == "77\n77\n78")
            }
        }

        /// As linkers write: what others have open, too, goes in place then.
        @Test(arguments: SaveMount.allCases, [false, true])
        func whatIsMappedAfterwardsIsThere(kind: SaveMount, isOpenToOthers: Bool) throws {
            try withSharedMount(kind, prepare: "head -c 70000 /dev/urandom >doc") { (mount: Mount) throws in
                #expect(try mount.python(Unrelated.python + """
                    if \(isOpenToOthers ? "True" : "False"): other("exec 5<doc")
                    file = os.open("doc", os.O_RDWR); os.ftruncate(file, 0); os.ftruncate(file, 200000)
                    mapped = mmap.mmap(file, 200000); mapped[:] = b"m" * 200000; mapped.close(); os.close(file)
                    print(other("for n in $(seq 100); do tr -d m <doc | wc -c | grep -qx 0 && break; sleep 0.05; done; tr -d m <doc | wc -c; wc -c <doc; exec 5<&-"))
                    """) == "0\n200000")
            }
        }
    }
}
