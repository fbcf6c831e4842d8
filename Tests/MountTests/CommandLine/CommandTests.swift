import Glibc
import TestSupport
import Testing

extension MountTests {
    /// The commands that ask a mount.
    struct CommandTests {
        @Test(arguments: Account.allCases)
        func statusTellsWhatIsMounted(account: Account) throws {
            try withMount(account, prepare: "mkdir d; echo 1 >a; echo 2 >d/b") { mount in
                try mount.scanned()
                let facts = try mount.python("""
                    import json, os, subprocess
                    writer = open("a", "a"); writer.write("x"); writer.flush()
                    status = json.loads(subprocess.check_output(["quire", "status", "--json", "d/b"]))
                    print(status["state"], status["mode"], status["readOnly"], status["passthrough"], status["system"])
                    print(status["gather"], status["pid"] > 1, status["mountpoint"] == os.environ["M"], status["store"] == os.environ["S"])
                    print([(w["path"] == os.environ["M"] + "/a", w["pid"] == os.getpid(), w["process"]) for w in status["openWriters"]])
                    print(os.environ["M"] in [entry["mountpoint"] for entry in json.loads(subprocess.check_output(["quire", "status", "--json"]))])
                    """)
                let privileged = account == .root ? "True" : "False"
                #expect(facts == """
                    serving beside False \(privileged) \(privileged)
                    {'documents': 2, 'folders': 2, 'state': 'done'} True True True
                    [(True, True, 'python3')]
                    True
                    """)
                #expect(try mount.shell("quire status") .contains(mount.path))
                #expect(try mount.shell("quire status .").contains("beside the store"))
            }
        }

        @Test func statusInPlaceSaysSo() throws {
            try withMount(inPlace: true) { (mount: Mount) throws in
                #expect(try mount.shell("quire status --json . | grep mode") == "  \"mode\" : \"inPlace\",")
            }
        }

        @Test(arguments: Account.allCases)
        func psListsTheDaemonByItsName(account: Account) throws {
            try withMount(account) { (mount: Mount) throws in
                #expect(try mount.shell("ps -o comm= -p \(try #require(mount.daemon))") == "quire")
            }
        }

        @Test func aMountThatDoesNotAnswerKeepsNobodyFromSeeingOthers() throws {
            try withMount { silent in
                try withMount { (mount: Mount) throws in
                    let daemon = try #require(silent.daemon)
                    kill(daemon, SIGSTOP)
                    defer { kill(daemon, SIGCONT) }
                    let status = try mount.shell("timeout 50 quire status", in: "/")
                    #expect(status.contains("\(silent.path)\n  store        \(silent.store)\n  unreachable  "))
                    #expect(status.contains("\(mount.path)\n  store        \(mount.store)\n  mode "))
                }
            }
        }

        /// A thread that waits for an answer to what the server has read cannot be killed.
        @Test func aServerThatReadsAndDoesNotAnswerKeepsNoCommandFromEnding() throws {
            try withMount { (mount: Mount) throws in
                #expect(try mount.python("""
                    import ctypes, os, struct, subprocess, threading
                    libc, silent = ctypes.CDLL(None, use_errno=True), os.environ["T"] + "/silent"
                    os.mkdir(silent)
                    device = os.open("/dev/fuse", os.O_RDWR)
                    options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % device
                    assert libc.mount(b"/nowhere", silent.encode(), b"fuse.quire", 0, options) == 0, os.strerror(ctypes.get_errno())
                    # struct fuse_in_header, fuse_out_header, fuse_init_out (linux/fuse.h)
                    number = struct.unpack_from("<Q", os.read(device, 1 << 20), 8)[0]
                    reply = struct.pack("<IIIIHHIIHHII24x", 7, 31, 4096, 0, 12, 9, 4096, 1, 1, 0, 0, 0)
                    os.write(device, struct.pack("<IiQ", 16 + len(reply), 0, number) + reply)
                    def read():
                        try:
                            while True: os.read(device, 1 << 20)
                        except OSError: pass
                    threading.Thread(target=read, daemon=True).start()
                    try: print(subprocess.run(["quire", "status"], capture_output=True, text=True, cwd="/").stdout)
                    finally:
                        detach = 2  # MNT_DETACH, umount2(2)
                        libc.umount2(silent.encode(), detach)
                    """).contains("/silent\n  store        /nowhere\n  unreachable  "))
            }
        }

        @Test func passthroughThatIsOffIsGivenItsReason() throws {
            try withMount(.root, ["passthrough=off"]) { (mount: Mount) throws in
                #expect(try mount.shell("quire status --json . | grep -c '\"passthroughReason\"'") == "1")
            }
        }

        @Test(arguments: Account.allCases)
        func tagsAreAddedListedRenamedAndRemoved(account: Account) throws {
            try withMount(account, prepare: "mkdir d; echo 1 >a; echo 2 >d/b; touch 'with space'") { mount in
                try mount.shell("quire tag add urgent a d/b 'with space'; quire tag add work/late a; quire tag add urgent a")
                #expect(try mount.shell("quire tag list a") == "urgent\nwork/late")
                #expect(try mount.shell("quire tag list a --json | tr -d ' \\n'") == "[\"urgent\",\"work/late\"]")
                #expect(try mount.shell("quire tag list") == "3  urgent\n1  work/late")
                #expect(try mount.names(in: ".tags/urgent") == ["a", "b", "with space"])
                try mount.shell("quire tag remove urgent d/b 'with space'; quire tag rename work job; quire tag rename urgent 'very urgent'")
                #expect(try mount.shell("quire tag list a") == "very urgent\njob/late")
                #expect(try mount.tags(of: "d/b") == "")
                #expect(try mount.shell("cat '.tags/very urgent/a' .tags/job/late/a") == "1\n1")
            }
        }

        /// The mount of the working folder, else the only one, else the one that --in names.
        @Test func theMountThatIsMeantIsOneRuleForAllCommands() throws {
            try withMount(prepare: "echo 1 >first; mkdir d") { (one: Mount) throws in
                try withMount(prepare: "echo 2 >second") { (two: Mount) throws in
                    try one.shell("echo >>first; quire tag add here first")
                    try two.shell("echo >>second; quire tag add there second")
                    for (command, first, second) in [("tag list", "1  here", "1  there"), ("recents", "/first", "/second")] {
                        #expect(try one.shell("cd d; quire \(command)").hasSuffix(first))
                        #expect(try two.shell("quire \(command)").hasSuffix(second))
                        #expect(try one.shell("quire \(command) --in '\(two.path)/second'").hasSuffix(second))
                        #expect(try one.shell("cd /; quire \(command) --in \"$M\"").hasSuffix(first))
                        #expect(try one.shell("cd /; quire \(command) --json --in \"$M/d\" | grep -c '[{]'") == "1")
                        try one.refuses("cd /; quire \(command)", "Quire mounts; go to the one you mean, or name a path in it")
                        try one.refuses("quire \(command) --in /etc", "/etc: is in no Quire mount")
                        // In a namespace where it is the only mount.
                        #expect(try one.shell("""
                            cd /; unshare --mount bash -ec '
                                for m in $(awk "\\$3 == \\"fuse.quire\\" {print \\$2}" /proc/self/mounts); do test $m = $M || umount -l $m; done
                                quire \(command)'
                            """).hasSuffix(first))
                    }
                    #expect(try one.attempt("quire tag list first --in .").status == 64)
                }
            }
        }

        @Test func commandsSayWhyTheyFail() throws {
            try withMount(prepare: "echo 1 >a; mkdir d") { mount in
                func fails(_ words: String, _ message: String, _ status: Int32 = 1) throws {
                    let result = try mount.attempt("quire \(words)")
                    #expect(result.status == status && result.errors.contains(message), "\(words): \(result)")
                    #expect(result.errors.hasPrefix("quire: ") || status == 64)
                }
                try fails("tag add urgent missing", "missing: ")
                try fails("tag add urgent d", "d: is a folder")
                try fails("tag add a,b a", "'a,b' cannot be a tag")
                try fails("tag rename none other --in .", ": there is no tag none\n")
                try fails("tag undo --in .", ": there is no removal of tags to undo\n")
                try fails("recents forget /etc/passwd", "/etc/passwd: is in no Quire mount")
                try fails("unmount .tags", "is inside the mount \(mount.path)")
                try fails("unmount missing", "missing: ")
                try fails("status /etc", "/etc: is in no Quire mount")
                try fails("tag add", "", 64)
                try fails("recents --limit x", "", 64)
                try mount.shell("quire tag add one a; quire tag add two a")
                try fails("tag rename one two --in .", "the tag two exists")
                #expect(try mount.tags(of: "a") == "one,two")
            }
        }

        @Test(arguments: Account.allCases)
        func theDoctorFindsNothingMissing(account: Account) throws {
            try withMount(account) { mount in
                let result = try mount.quire("doctor", mount.store)
                #expect(result.status == 0, "\(result)")
            }
        }

        /// This kernel has no NFS server: what is said of it is all that there is.
        @Test func whoExportsAMountByNFSIsToldThatSambaIsTheWay() throws {
            try withMount { mount in
                try mount.unmount()
                let told = try mount.shell("""
                    cp -a /etc "$T/etc"; printf '"%s" *(rw)\\n' "$M" >"$T/etc/exports"
                    unshare -m bash -c 'source "$PRELUDE"; mount --bind "$T/etc" /etc; quire doctor "$M"; quire mount "$S" "$M" -o restart=off 2>&1; quire unmount "$M"' | grep -c 'share it by Samba'
                    """, in: "/")
                #expect(told == "2")
            }
        }

        @Test func aPathInTheMountLeadsToTheSocket() throws {
            try withMount(prepare: "mkdir d; touch d/a") { mount in
                let socket = try mount.shell("getfattr --only-values -n user.quire.socket d/a")
                #expect(try mount.shell("test -S '\(socket)'; getfattr --only-values -n user.quire.socket .") == socket)
                #expect(try mount.shell("getfattr -d d/a") == "")
            }
        }
    }
}
