import TestSupport
import Testing

extension MountTests {
    /// What savers that were killed had written, and `quire recover`.
    struct RecoverTests {
        /// Has a program saving `document` killed when it has written what Python calls `content`.
        private func kill(saving document: String, _ content: String, in mount: Mount, as user: UInt32? = nil) throws {
            let program = """
                import os, signal
                file = open("\(document)", "wb", buffering=0)
                file.write(\(content))
                os.kill(os.getpid(), signal.SIGKILL)
                """
            let result = try mount.attempt("python3 - <<'END'\n\(program)\nEND", as: user)
            try #require(result.status == 137)
        }

        private func fails(
            _ mount: Mount, _ words: String, _ message: String, as user: UInt32? = nil,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let result = try mount.attempt("quire recover \(words)", as: user)
            #expect(result.status == 1, sourceLocation: sourceLocation)
            #expect(
                result.errors.hasPrefix("quire: ") && result.errors.contains(message), "\(result)", sourceLocation: sourceLocation)
        }

        /// Calls org.quire.Recover.Keep for a document at the mount's top. The reply.
        private func keep(_ document: String, in mount: Mount, as user: UInt32) throws -> String {
            try mount.python("""
                import json, os, socket
                call = {"method": "org.quire.Recover.Keep", "parameters": {"path": os.environ["M"] + "/\(document)"}}
                service = socket.socket(socket.AF_UNIX)
                service.settimeout(5)
                service.connect(os.getxattr(".", "user.quire.socket"))
                service.sendall(json.dumps(call).encode() + b"\\0")
                print(service.recv(10000)[:-1].decode())
                """, as: user)
        }

        @Test(arguments: Account.allCases)
        func whatAKilledSaverWroteIsListedShownAndRestored(account: Account) throws {
            let store = "mkdir d; echo old >d/doc; chmod 640 d/doc; setfattr -n user.xdg.tags -v work d/doc"
            try withMount(account, prepare: store) { mount in
                let document = mount.path + "/d/doc"
                #expect(try mount.shell("quire recover") == "Nothing to recover.")
                try kill(saving: "d/doc", "b'half\\n'", in: mount)
                #expect(try mount.shell("cat d/doc") == "old")
                let line = try mount.shell("quire recover | sed 's/process [0-9]*$/process N/; s/^1  [0-9] s/1  0 s/'")
                #expect(line == "1  0 s  5 B  \(document): its process was ended by signal 9; written by python3, process N")
                #expect(try mount.shell("quire recover show 1") == "half")
                #expect(try mount.shell("quire recover restore 1") == "Restored \(document) (5 B). What it held is version 2.")
                #expect(try mount.shell("cat d/doc; stat -c %a d/doc; quire tag list d/doc") == "half\n640\nwork")
                #expect(try mount.shell("cat \"$S\"/d/doc") == "half")
                // And back again.
                let undone = try mount.shell("quire recover restore 2 --drop")
                #expect(undone == "Restored \(document) (4 B). What it held is version 3.")
                #expect(try mount.shell("cat d/doc; stat -c %a d/doc; quire tag list d/doc") == "old\n640\nwork")
                #expect(try mount.shell("quire recover | cut -d' ' -f1") == "3\n1")
            }
        }

        @Test func theLoserOfTwoSaversIsKept() throws {
            try withMount(prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    mkfifo "$T"/begun "$T"/go
                    python3 -c 'f = open("doc", "w"); f.write("last\\n"); open("'$T'/begun", "w").close(); open("'$T'/go").read()' &
                    cat "$T"/begun; echo first >doc; cat doc; echo >"$T"/go; wait; cat doc
                    """) == "first\nlast")
                #expect(try mount.shell("quire recover | cut -d: -f2").hasPrefix(" another process saved over it"))
                #expect(try mount.shell("quire recover show 1; quire recover restore 1 >/dev/null; cat doc") == "first\nfirst")
            }
        }

        @Test func theListIsJSONToo() throws {
            try withMount(prepare: "echo old >doc; chmod 604 doc; chown 7:8 doc") { (mount: Mount) throws in
                try kill(saving: "doc", "b'half'", in: mount)
                #expect(try mount.python("""
                    import json, os, subprocess, time
                    version, = json.loads(subprocess.check_output(["quire", "recover", "--json"]))
                    print(abs(version.pop("time") - time.time()) < 60, version.pop("path") == os.environ["M"] + "/doc")
                    saver = version.pop("saver")
                    print(saver["pid"] > 1, saver["process"], saver["uid"])
                    print(version)
                    """) == """
                    True True
                    True python3 0
                    {'explanation': 'its process was ended by signal 9', 'group': 8, 'hasContent': True, 'id': 1, 'mode': 388, \
                    'owner': 7, 'reason': 'killed', 'size': 4}
                    """)
            }
        }

        @Test func aPathNamesWhatIsMeant() throws {
            try withMount(prepare: "mkdir d e; echo old >d/a; echo old >d/b; echo old >e/a") { (mount: Mount) throws in
                for document in ["d/a", "d/b", "e/a", "d/a"] { try kill(saving: document, "b'half'", in: mount) }
                func ids(_ path: String) throws -> String {
                    try mount.shell("quire recover list \(path) | awk '{print $1}' | xargs")
                }
                #expect(try ids("") == "4 3 2 1")
                #expect(try ids(".") == "4 3 2 1")
                #expect(try ids("d") == "4 2 1")
                #expect(try ids("d/a") == "4 1")
                #expect(try ids("--in d/a") == "4 3 2 1")
                try mount.shell("rm -r d")
                #expect(try ids("d/a") == "4 1")
                #expect(try ids("nowhere") == "Nothing")
                #expect(try mount.shell("cd /; quire recover list \"$M/e\" | awk '{print $1}'") == "3")
            }
        }

        @Test(arguments: Account.allCases)
        func aDocumentThatIsGoneIsMadeAnew(account: Account) throws {
            try withMount(account, prepare: "mkdir d; echo old >d/doc; chmod 606 d/doc") { mount in
                if account == .root { try mount.shell("chown 61001:61002 d/doc") }
                let owner = try mount.shell("stat -c '%u %g %a' d/doc")
                try kill(saving: "d/doc", "b'half'", in: mount)
                try mount.shell("rm d/doc; umask 077; quire recover restore 1")
                #expect(try mount.shell("cat d/doc") == "half")
                #expect(try mount.shell("stat -c '%u %g %a' d/doc") == owner)
                try mount.shell("rm -r d")
                try fails(mount, "restore 1", "/d/doc: its folder is gone; make it, or write elsewhere with --to PATH")
                try mount.shell("mkdir -p d/doc")
                try fails(mount, "restore 1", "/d/doc: something else than a document is there now; use --to PATH")
                #expect(try mount.shell("quire recover restore 1 --to d/doc") == "Wrote d/doc/doc (4 B).")
                #expect(try mount.shell("cat d/doc/doc") == "half")
            }
        }

        /// Root restores for others, in folders that are theirs.
        @Test func noLinkLeadsTheContentElsewhere() throws {
            try withMount(prepare: "mkdir d other; echo old >d/doc; echo precious >other/doc") { (mount: Mount) throws in
                try kill(saving: "d/doc", "b'half'", in: mount)
                try mount.shell("mv d moved; ln -s other d")
                try fails(mount, "restore 1", "/d/doc: a folder of it is a symbolic link now; write elsewhere with --to PATH")
                try mount.shell("rm d; mkdir d; ln -s ../other/doc d/doc")
                try fails(mount, "restore 1", "/d/doc: something else than a document is there now")
                try mount.shell("rm -r d; touch d")
                try fails(mount, "restore 1", "/d/doc: its folder is gone")
                #expect(try mount.shell("cat other/doc moved/doc") == "precious\nold")
            }
        }

        @Test func contentIsWrittenElsewhere() throws {
            try withMount(prepare: "echo old >doc; chmod 640 doc") { (mount: Mount) throws in
                try kill(saving: "doc", "b'half'", in: mount)
                let copy = mount.folder.path("outside/copy")
                #expect(try mount.shell("quire recover restore 1 --to \"$T\"/copy") == "Wrote \(copy) (4 B).")
                try mount.shell("umask 077; quire recover show 1 -o \"$T\"/shown")
                #expect(try mount.shell("cd \"$T\"; cat copy shown; stat -c ' %a' copy shown") == "halfhalf 640\n 600")
                try fails(mount, "restore 1 --to \"$T\"/copy", "/copy: is there already; --force replaces it")
                try mount.shell("echo longer than half >\"$T\"/copy; quire recover restore 1 --to \"$T\"/copy --force")
                try mount.shell("echo longer than half >\"$T\"/shown; quire recover show 1 -o \"$T\"/shown")
                #expect(try mount.shell("cat \"$T\"/copy \"$T\"/shown doc") == "halfhalfold")
                try fails(mount, "show 1 -o nowhere/file", "nowhere/file: its folder is gone")
            }
        }

        @Test func largeContentWithHolesComesBackWhole() throws {
            try withMount(prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.attempt("""
                    python3 - <<'END'
                    import hashlib, os, signal
                    file = open("doc", "wb", buffering=0)
                    start = os.urandom(3_000_001)
                    file.write(start); file.seek(60 << 20); file.write(b"middle"); file.truncate(100 << 20)
                    content = hashlib.sha256(start)
                    for part in bytes((60 << 20) - len(start)), b"middle", bytes((40 << 20) - 6): content.update(part)
                    open(os.environ["T"] + "/sum", "w").write(content.hexdigest())
                    os.kill(os.getpid(), signal.SIGKILL)
                    END
                    """).status == 137)
                let sum = try mount.shell("cat \"$T\"/sum")
                #expect(try mount.shell("quire recover show 1 | sha256sum | cut -d' ' -f1") == sum)
                try mount.shell("quire recover restore 1 --to \"$T\"/copy; quire recover restore 1 >/dev/null")
                #expect(try mount.shell("sha256sum \"$T\"/copy doc | cut -d' ' -f1 | uniq") == sum)
                try mount.shell("for file in \"$T\"/copy doc; do [ $(du -k \"$file\" | cut -f1) -lt 20000 ]; done")
            }
        }

        @Test func versionsAreDropped() throws {
            try withMount(prepare: "echo old >doc") { (mount: Mount) throws in
                for _ in 0..<4 { try kill(saving: "doc", "b'half'", in: mount) }
                #expect(try mount.shell("quire recover drop 2") == "Dropped 1 version.")
                try fails(
                    mount, "drop 2 9 3",
                    "\(mount.path): there is no version 2 of yours; 'quire recover list' shows what there is\n"
                        + "quire: \(mount.path): there is no version 9 of yours")
                try fails(mount, "show 2", "there is no version 2 of yours; 'quire recover list' shows")
                try fails(mount, "restore 3", "there is no version 3 of yours; 'quire recover list' shows")
                #expect(try mount.shell("quire recover | cut -d' ' -f1") == "4\n1")
                #expect(try mount.shell("quire recover drop --all; quire recover") == "Dropped 2 versions.\nNothing to recover.")
                #expect(try mount.shell("ls -I last \"$QUIRE_STATE_HOME\"/*/kept") == "")
            }
        }

        @Test func aVersionIsItsDocumentsOwners() throws {
            let (alice, bob) = (Account.alice, Account.bob)
            let store = """
                chmod 777 .; echo a >alice; chown \(alice):\(alice) alice; chmod 644 alice
                echo s >shared; chown \(alice):\(alice) shared; chmod 666 shared
                """
            try withMount(prepare: store) { (mount: Mount) throws in
                try kill(saving: "alice", "b'secret'", in: mount, as: alice)
                #expect(try mount.shell("quire recover", as: bob) == "Nothing to recover.")
                for words in ["show 1", "restore 1 --to \"$M\"/new", "drop 1"] {
                    try fails(mount, words, "there is no version 1 of yours", as: bob)
                }
                #expect(try mount.shell("quire recover drop --all", as: bob) == "Dropped 0 versions.")
                #expect(try mount.shell("quire recover show 1", as: alice) == "secret")
                #expect(try mount.shell("quire recover show 1") == "secret")
                try mount.shell("quire recover restore 1 --drop", as: alice)
                #expect(try mount.shell("cat alice; stat -c %u alice", as: bob) == "secret\(alice)")
                // What was there is kept for the owner; who may not write the document keeps nothing.
                #expect(
                    try keep("alice", in: mount, as: bob)
                        == #"{"error":"org.quire.Mount.PermissionDenied","#
                        + #""parameters":{"what":"\#(mount.path)/alice is not yours to write"}}"#)
                #expect(try keep("shared", in: mount, as: bob) == #"{"parameters":{"id":3}}"#)
                #expect(try mount.shell("quire recover", as: bob) == "Nothing to recover.")
                #expect(try mount.shell("quire recover | cut -d' ' -f1", as: alice) == "3\n2")
            }
        }

        /// Whoever may write another's document fills neither that user's share of what is kept, nor more than half of it all.
        @Test func whatAnotherUserSavesLeavesTheOwnersVersions() throws {
            let (alice, bob) = (Account.alice, Account.bob)
            let store = "chmod 777 .; for n in a1 a2 shared; do echo $n >$n; chown \(alice):\(alice) $n; done; chmod 666 shared"
            try withMount(.root, ["allow_other,keep-size=4M"], prepare: store) { (mount: Mount) throws in
                try kill(saving: "a1", "b'one' + bytes(700_000)", in: mount, as: alice)
                try kill(saving: "a2", "b'two' + bytes(700_000)", in: mount, as: alice)
                // Too large for one user's share, then six that are too much together.
                try kill(saving: "shared", "bytes(3_000_000)", in: mount, as: bob)
                for _ in 1...6 { try kill(saving: "shared", "bytes(600_000)", in: mount, as: bob) }
                #expect(try mount.shell("quire recover | awk '{print $1}' | xargs", as: alice) == "9 8 7 2 1")
                #expect(try mount.shell("for n in 1 2; do head -c 3 <(quire recover show $n); done", as: alice) == "onetwo")
                let share = """
                    quire status --json "$M" | python3 -c '
                    import json, sys
                    share, = [s for s in json.load(sys.stdin)["shares"] if s["resource"] == "keptBytes"]
                    # Files take whole blocks.
                    print(share["used"] // 100_000, share["limit"], share["limitOfAll"], share.get("usedByAll", 0) // 100_000)'
                    """
                #expect(try mount.shell(share, as: bob) == "18 2097152 4194304 0")
                #expect(try mount.shell(share) == "0 2097152 4194304 32")
                try mount.shell("quire recover drop --all", as: alice)
                #expect(try mount.shell(share, as: bob) == "0 2097152 4194304 0")
            }
        }

        @Test func whatIsTooLargeIsListedOnly() throws {
            let store = "echo old >doc; head -c 200000 /dev/zero >large"
            try withMount(.root, ["keep-size=64K"], prepare: store) { (mount: Mount) throws in
                try kill(saving: "doc", "b'x' * 100000", in: mount)
                #expect(try mount.shell("quire recover").hasSuffix("; too large to be kept"))
                try fails(
                    mount, "show 1", "version 1 of \(mount.path)/doc was too large to be kept (97 KiB); the mount option keep-size")
                try kill(saving: "large", "b'half'", in: mount)
                try fails(
                    mount, "restore 2",
                    "/large: what it holds now is too large to be kept, and would be lost; restore with --force")
                #expect(try mount.shell("stat -c %s large; quire recover | cut -d' ' -f1") == "200000\n2\n1")
                #expect(try mount.shell("quire recover restore 2 --force") == "Restored \(mount.path)/large (4 B).")
                #expect(try mount.shell("cat large") == "half")
            }
        }

        @Test func nothingIsKeptWhenToldSo() throws {
            try withMount(.root, ["keep-days=0"], prepare: "echo old >doc") { (mount: Mount) throws in
                try kill(saving: "doc", "b'half'", in: mount)
                #expect(try mount.shell("cat doc; quire recover; ls -I last \"$QUIRE_STATE_HOME\"/*/kept") == "old\nNothing to recover.")
            }
        }

        /// As after a crash between the naming of a new version and its publishing.
        @Test func whatAKilledDaemonLeftIsKept() throws {
            let leftover = """
                mkdir d; echo old >d/doc; chmod 640 d/doc
                name=.quire-save-7ffffff-1-1-$(printf %x $(stat -c %i d/doc))-w; echo whole >d/$name; touch d/.quire-save-mine
                """
            try withMount(prepare: leftover) { (mount: Mount) throws in
                try eventually { try mount.shell("quire recover").contains("/d/doc: it was not published: its claim, or the daemon, ended before") }
                #expect(try mount.shell("ls -A d; cat d/doc; quire recover show 1") == ".quire-save-mine\ndoc\nold\nwhole")
                #expect(try mount.shell("ls -A \"$S\"/d") == ".quire-save-mine\ndoc")
            }
        }

        @Test func versionsOutliveTheDaemon() throws {
            try withMount(prepare: "echo old >doc") { (mount: Mount) throws in
                try kill(saving: "doc", "b'half'", in: mount)
                try mount.unmount()
                try mount.mount(["ro"])
                #expect(try mount.shell("quire recover show 1") == "half")
                try fails(mount, "restore 1", "/doc: cannot be written: ")
                try mount.unmount()
                try mount.mount()
                try mount.shell("quire recover restore 1")
                #expect(try mount.shell("cat doc") == "half")
            }
        }
    }
}
