import TestSupport
import Testing

extension MountTests {
    /// `quire watch`: what happens, once each and in order, by whom.
    @Suite(.sharedMounts)
    struct WatchTests {
        /// Prints what `quire watch` shows of what a script does, from its first event on: kind, path below the mount and who.
        private func watched(
            _ mount: Mount, _ words: String = "\"$M\"", script: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> String {
            try mount.shell("""
                (cd /; exec quire watch --json \(words)) \
                    >"$T/events" & watcher=$!
                seen() { eventually "touch .$1; sleep 0.05; grep '\\.$1' '$T/events' >/dev/null"; }
                seen started
                (\(script))
                seen ended; kill $watcher
                sed 's/.*started.*//; s/.*ended.*//' "$T/events" | python3 -c '
                import json, os, sys
                for line in filter(str.strip, sys.stdin):
                    event = json.loads(line)
                    name = lambda path: path and os.path.relpath(path, os.environ["M"])
                    print(*filter(None, [event["kind"], name(event.get("oldPath")), name(event["path"]), event.get("process")]))'
                """, sourceLocation: sourceLocation)
        }

        /// Without privilege the kernel does not say who did what in the store: of the mount's own doings some are told again,
        /// as done by nobody knows whom. Those are left out here, which end in no program's name.
        private func told(_ events: String, on kind: SaveMount) -> String {
            guard kind == .user else { return events }
            let programs = ["sh", "mkdir", "mv", "chmod", "setfattr", "truncate", "ln", "rm", "python3"]
            return events.split(separator: "\n").filter { line in programs.contains { line.hasSuffix(" \($0)") } }
                .joined(separator: "\n")
        }

        /// The kernel changes its names after the mount has answered, as soon as the program that asked gets a processor.
        @Test(arguments: SaveMount.allCases)
        func aProgramThatIsToldOfAChangeFindsItDone(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir a b; echo 0 >a/x") { (mount: Mount) throws in
                try mount.python(#"""
                    import json, os, subprocess, time
                    M, S = os.environ["M"], os.environ["S"]
                    watch = subprocess.Popen(["quire", "watch", "--json", M], stdout=subprocess.PIPE, text=True, cwd="/")
                    hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4)]
                    # Each change in a folder has the kernel forget the folder's mode.
                    hogs.append(subprocess.Popen(["python3", "-c", "import os, time\nwhile True: open('busy', 'w').close(); os.unlink('busy'); time.sleep(0.002)"],
                        cwd=M))
                    def told(kind, name):
                        while True:
                            event = json.loads(watch.stdout.readline())
                            if event["kind"] == kind and event["path"] == M + "/" + name: return
                    def content(name):
                        try: return open(M + "/" + name).read()
                        except FileNotFoundError: return None
                    # The last to get a processor: what it starts with `do` ends long after the mount has answered.
                    slow = subprocess.Popen(["nice", "-n", "10", "python3", "-c", "import sys\nfor line in sys.stdin: exec(line)"],
                        stdin=subprocess.PIPE, text=True, cwd=M)
                    def do(line): slow.stdin.write("import os; " + line + "\n"); slow.stdin.flush()
                    wrong = []
                    def expect(name, expected):
                        found = content(name)
                        if found != expected: wrong.append((name, found, expected))
                    try:
                        time.sleep(0.3); do("open('start', 'w')"); told("appeared", "start")
                        for number in range(40):
                            # What is looked for in vain, and what is there, the kernel remembers.
                            for name in ["a/x", "b/y", "made", "outside"]: content(name)
                            do("os.rename('a/x', 'b/y')"); told("moved", "b/y"); expect("b/y", "0\n"); expect("a/x", None)
                            do("os.mknod('made')"); told("appeared", "made"); expect("made", "")
                            new, old = str(number), content("made")
                            with open(M + "/new", "w") as file: file.write(new)
                            told("appeared", "new"); content("made")
                            do("os.rename('new', 'made')"); told("moved", "made"); expect("made", new)
                            do("os.unlink('made')"); told("deleted", "made"); expect("made", None)
                            do("os.rename('b/y', 'a/x')"); told("moved", "a/x"); expect("a/x", "0\n"); expect("b/y", None)
                            with open(S + "/outside", "w") as file: file.write(new)
                            told("appeared", "outside")
                            os.unlink(S + "/outside"); told("deleted", "outside"); expect("outside", None)
                    finally:
                        for child in [watch, slow, *hogs]: child.kill(); child.wait()
                    assert not wrong, (len(wrong), wrong)
                    """#)
            }
        }

        @Test(arguments: SaveMount.allCases)
        func eachThingThatIsDoneIsToldOnce(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                let events = try watched(mount, script: """
                    sh -c 'echo a >doc'; sh -c 'echo b >doc'; sh -c 'echo c >>doc'; mkdir folder; mv doc folder/doc
                    chmod 600 folder/doc; setfattr -n user.xdg.tags -v work folder/doc; truncate -s 9 folder/doc
                    sh -c 'echo new >copy'; mv copy folder/doc; ln folder/doc other; cat other >/dev/null; ls -l folder >/dev/null
                    rm other; ln -s nowhere link; rm link; rm -r folder
                    """)
                #expect(told(events, on: kind) == """
                    appeared doc sh
                    changed doc sh
                    changed doc sh
                    changed doc sh
                    appeared folder mkdir
                    moved doc folder/doc mv
                    attributesChanged folder/doc chmod
                    attributesChanged folder/doc setfattr
                    changed folder/doc truncate
                    appeared copy sh
                    changed copy sh
                    moved copy folder/doc mv
                    changed folder/doc mv
                    appeared other ln
                    deleted other rm
                    appeared link ln
                    deleted link rm
                    deleted folder/doc rm
                    deleted folder rm
                    """)
            }
        }

        /// Another process has the descriptor for longer than the document has its name.
        @Test(arguments: SaveMount.allCases)
        func whatIsWrittenIsToldWhenItsWriterClosesIt(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc; echo new >new") { (mount: Mount) throws in
                let events = try watched(mount, script: """
                    python3 -c '
                    import os, signal
                    file = os.open("doc", os.O_WRONLY)
                    os.write(file, b"more than old")
                    other = os.fork()
                    if other == 0: signal.pause()
                    os.close(file)
                    os.rename("new", "doc")
                    os.kill(other, signal.SIGKILL); os.waitpid(other, 0)'
                    """)
                #expect(told(events, on: kind) == """
                    changed doc python3
                    moved new doc python3
                    changed doc python3
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aSaveThatComesToNothingIsTold(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                let events = try watched(mount, "--kind changed --kind saveAborted --kind appeared \"$M\"", script: """
                    python3 -c 'import os; f = open("doc", "w"); f.write("half" * 9000); f.flush(); os.kill(os.getpid(), 9)' || true
                    sleep 0.2
                    """)
                #expect(told(events, on: kind) == "saveAborted doc python3")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whatIsDoneOutsideIsTold(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "mkdir d; echo old >d/doc") { (mount: Mount) throws in
                let told = try watched(mount, script: """
                    ls -l d >/dev/null; pause() { sleep 0.2; }
                    echo longer >>"$S/d/doc"; pause; mv "$S/d/doc" "$S/d/moved"; pause; rm "$S/d/moved"; pause
                    """).split(separator: "\n").map { line in
                        line.split(separator: " ").filter { !["sh", "bash", "mv", "rm"].contains($0) }.joined(separator: " ")
                    }
                    .reduce(into: [String]()) { lines, line in if lines.last != line { lines.append(line) } }
                #expect(told == ["changed d/doc", "moved d/doc d/moved", "deleted d/moved"])
            }
        }

        /// What happens in folders that one may not list is not told, also not by way of what was moved.
        @Test func othersAreToldOfWhatTheyMayList() throws {
            try withMount(.root, prepare: """
                chmod 755 .; mkdir public private; chmod 700 private; echo a >public/shared; echo b >private/secret
                """) { (mount: Mount) throws in
                let script = """
                    (cd /; exec setpriv --reuid 61002 --regid 61002 --clear-groups quire watch --json "$M") >"$T/events" & watcher=$!
                    eventually 'touch public/tick; sleep 0.05; [ -s "$T/events" ]'
                    echo new >private/secret; echo more >private/other; echo new >public/shared
                    mv private/secret public/given; mv public/shared private/taken; mv private/taken private/hidden; rm private/other
                    echo last >public/last
                    eventually grep -q last "$T/events"; kill $watcher
                    grep -v tick "$T/events" | sed 's/.*"kind":"\\([a-zA-Z]*\\)".*"path":"[^"]*\\/\\([^"\\/]*\\)".*/\\1 \\2/' | grep -v 'changed last'
                    grep -c private "$T/events" || true
                    """
                #expect(try mount.shell(script) == "changed shared\nappeared given\ndeleted shared\nappeared last\n0")
            }
        }

        /// Who might have known of it then, nobody knows any more.
        @Test func othersAreNotToldOfWhatIsLongAgo() throws {
            try withMount(.root, prepare: "chmod 755 .; mkdir private; chmod 700 private; chmod 777 .") { (mount: Mount) throws in
                let script = """
                    cd /; watch() { exec setpriv --reuid 61002 --regid 61002 --clear-groups quire watch --json "$@" "$M"; }
                    watch >"$T/first" & watcher=$!; eventually 'touch "$M/tick"; sleep 0.05; [ -s "$T/first" ]'
                    echo a >"$M/a"; echo a >"$M/private/secret"; eventually grep -q '/a"' "$T/first"; kill $watcher
                    number=$(grep '/a"' "$T/first" | sed 's/.*"seq":\\([0-9]*\\).*/\\1/' | head -n 1)
                    # Longer than it is known who might list a folder.
                    sleep 2; chmod 755 "$M/private"
                    watch --since $((number - 1)) >"$T/later" & watcher=$!
                    eventually 'touch "$M/tock"; sleep 0.05; grep -q tock "$T/later"'; kill $watcher
                    grep -v 'attributesChanged\\|tock' "$T/later"
                    """
                #expect(try mount.shell(script) == "{\"overflow\":true}")
            }
        }

        @Test func whatOneMayNotReadIsNotWatched() throws {
            try withMount(.root, prepare: "chmod 755 .; mkdir private; chmod 700 private") { mount in
                let result = try mount.attempt("cd /; quire watch \"$M/private\"", as: Account.bob)
                #expect(result.status == 1 && result.errors.contains("you may not read it"), "\(result)")
            }
        }

        @Test func eventsThatAreStillKnownAreToldAgain() throws {
            try withMount { (mount: Mount) throws in
                #expect(try mount.shell("""
                    first() {
                        : >"$T/since"; quire watch --json --since "$1" "$M" >>"$T/since" & local watcher=$!
                        eventually '[ $(wc -l <"$T/since") -ge '"$2 ]"; kill $watcher; head -n "$2" "$T/since"
                    }
                    quire watch --json "$M" >"$T/last" & watcher=$!
                    eventually 'touch tick; sleep 0.05; [ -s "$T/last" ]'; mkdir a b c d; eventually grep -q '/d"' "$T/last"; kill $watcher
                    number=$(grep '/d"' "$T/last" | sed 's/.*"seq":\\([0-9]*\\).*/\\1/')
                    first $((number - 2)) 2 | sed 's/.*"path":"[^"]*\\/\\([^"]*\\)".*/\\1/'
                    first 1 1
                    """) == "c\nd\n{\"overflow\":true}")
            }
        }

        @Test func aWrongWordIsRefused() throws {
            try withMount { (mount: Mount) throws in
                let kind = try mount.quire("watch", "--kind", "nonsense", mount.path)
                #expect(kind.status == 64 && kind.errors.contains("there is no kind 'nonsense'"), "\(kind)")
                let path = try mount.quire("watch", "/")
                #expect(path.status == 1 && path.errors.contains("is in no Quire mount"), "\(path)")
            }
        }
    }
}
