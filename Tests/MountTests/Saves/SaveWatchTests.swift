import TestSupport
import Testing

extension MountTests {
    /// Who watches a document itself hears of a save as of a save by rename (rule 15).
    struct SaveWatchTests {
        @Test(arguments: SaveMount.accounts)
        func aWatchOnTheDocumentHearsOfASave(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    watching "$T/events" --format %e doc; echo new >doc; eventually grep -q DELETE_SELF "$T/events"
                    kill $watcher 2>/dev/null || true; grep -c -x DELETE_SELF "$T/events"; cat doc
                    """) == "1\nnew")
            }
        }

        /// Open or not: who has it open keeps the version it opened.
        @Test(arguments: SaveMount.accounts)
        func aWatchOnAnOpenDocumentHearsOfASaveAtOnce(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 3<doc; watching "$T/events" --format %e doc; bash -c 'echo new >doc'; eventually [ -s "$T/events" ]
                    sleep 0.2; cat "$T/events"; kill $watcher; cat <&3; stat -L -c %h /proc/self/fd/3
                    """) == "DELETE_SELF\nold\n0")
            }
        }

        /// Begins to watch what is at a path, as Qt does: not for IN_CLOSE_WRITE.
        private static let watch = """
            import ctypes, os, select, struct, subprocess, time
            libc = ctypes.CDLL(None, use_errno=True)
            class Watch:
                MODIFY, ATTRIB, DELETE_SELF, MOVE_SELF = 0x2, 0x4, 0x400, 0x800
                def __init__(self, path):
                    self.file = libc.inotify_init1(os.O_NONBLOCK)
                    mask = self.MODIFY | self.ATTRIB | self.DELETE_SELF | self.MOVE_SELF
                    assert libc.inotify_add_watch(self.file, path.encode(), mask) > 0, ctypes.get_errno()
                def heard(self):
                    "The first thing that it hears of, within a minute."
                    if not select.select([self.file], [], [], 60)[0]: return None
                    return struct.unpack_from("iI", os.read(self.file, 4096))[1]
            """

        /// On a busy machine a program may find a version by the document's name, and add its watch after that version was replaced and
        /// other watches got the event. The program gets it when it releases the path.
        @Test(arguments: SaveMount.accounts)
        func aWatchThatComesLateHearsOfTheSave(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell("""
                    python3 - <<'END'
                    \(Self.watch)
                    for n in range(10):
                        found = os.open("doc", os.O_PATH); early = Watch("doc")
                        subprocess.run(["bash", "-c", "echo new >doc"], check=True)
                        assert early.heard() == Watch.DELETE_SELF, f"save {n}: the early watch was not told"
                        late = Watch(f"/proc/self/fd/{found}"); os.close(found)
                        assert late.heard() == Watch.DELETE_SELF, f"save {n}: the late watch was not told"
                    END
                    """)
            }
        }

        /// A viewer reads the document again after each event, and watches the new file if the one that it watched is gone. After the save
        /// it shows the new version. The saver uses O_TRUNC, or ftruncate(2) on an open handle, beside another program that has the
        /// document open, or none.
        @Test(arguments: SaveMount.accounts, ["O_TRUNC", "ftruncate"])
        func aViewerShowsWhatTheSaverLeft(kind: SaveMount, way: String) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                try mount.shell("""
                    cat >"$T/saver" <<'END'
                    import os, sys, time
                    text, way, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
                    file = os.open("doc", os.O_RDWR | (os.O_TRUNC if way == "O_TRUNC" else 0))
                    if way == "ftruncate": os.ftruncate(file, 0)
                    time.sleep(pause); os.write(file, text.encode()); time.sleep(pause)
                    assert os.fstat(file).st_nlink == 1, "its file has no name"
                    os.close(file)
                    END
                    python3 - "$T/saver" <<'END'
                    import sys
                    \(Self.watch)
                    for n in range(18):
                        other = os.open("doc", os.O_RDONLY) if n % 2 else None
                        watch = Watch("doc"); shown = open("doc").read()
                        saver = subprocess.Popen(["python3", sys.argv[1], f"version {n}", "\(way)", str(n % 3 * 0.05)])
                        while shown != f"version {n}":
                            event = watch.heard(); assert event, f"save {n}: the viewer shows {shown}"
                            if event & (Watch.DELETE_SELF | Watch.MOVE_SELF): os.close(watch.file); watch = Watch("doc")
                            shown = open("doc").read()
                        os.close(watch.file); assert saver.wait() == 0
                        if other is not None: os.close(other)
                    END
                    """)
            }
        }

        /// What a stream writes goes into the document's own inode, through another one.
        @Test(arguments: SaveMount.accounts)
        func aWatchOnTheDocumentHearsOfAStream(kind: SaveMount) throws {
            let options = kind.options + ["redirected-pause=0.2"]
            try withMount(kind.account, options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    watching "$T/events" --format %e doc
                    heard() { eventually '[ $(grep -c MODIFY "$T/events") -ge '"$1 ]"; }
                    sh -c 'echo one; while ! [ -e "$T/go" ]; do sleep 0.05; done; echo two; sleep 0.5; :' >doc & saver=$!
                    heard 1; cat doc; heard=$(grep -c MODIFY "$T/events"); touch "$T/go"; heard $((heard + 1)); cat doc; wait $saver
                    kill $watcher; grep -c -e DELETE_SELF -e IGNORED "$T/events" || true
                    [ $(grep -c MODIFY "$T/events") -lt 30 ]
                    """) == "one\none\ntwo\n0")
            }
        }

        /// What tells the watches is a process of the daemon's own: it ends with it, however that ends.
        @Test(arguments: SaveMount.accounts)
        func whatTellsWatchesEndsWithTheDaemon(kind: SaveMount) throws {
            for end in ["kill -9 $daemon", "quire unmount \"$M\""] {
                try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                    let daemon = try #require(mount.daemon)
                    #expect(try mount.shell("""
                        daemon=\(daemon); exec 3<doc; echo new >doc
                        eventually 'helper=$(pgrep -P $daemon -x quire-replay)'
                        # While it tells of the save it has the document open.
                        eventually '! ls -l /proc/$helper/fd | grep -v -e " 0 -> socket" -e total'
                        exec 3<&-; cd /; \(end); eventually '! ps -o stat= $helper | grep -qv Z'
                        """) == "")
                }
            }
        }

        /// An end that meets the telling of a save does not wait for it.
        @Test(arguments: SaveMount.accounts)
        func anUnmountStraightAfterASaveEnds(kind: SaveMount) throws {
            for _ in 0..<(isLongRun ? 50 : 5) {
                try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                    try mount.shell("""
                        exec 3<doc; echo new >doc; exec 3<&-; cd /; sleep 0.00\(Int.random(in: 0...9)); quire unmount "$M"
                        """)
                    #expect(mount.daemon.map(Mount.hasEnded) == true)
                }
            }
        }

        /// In a folder below, renamed straight after, and after what tells was killed.
        @Test(arguments: SaveMount.accounts)
        func watchesAreToldWhereverTheDocumentIs(kind: SaveMount) throws {
            let prepare = "mkdir -p a/b; chmod 711 a; for n in 1 2 3; do echo old >a/b/doc$n; done"
            try withMount(kind.account, kind.options, prepare: prepare) { (mount: Mount) throws in
                let daemon = try #require(mount.daemon)
                #expect(try mount.shell("""
                    watching "$T/events" --format '%w %e' a/b/doc*; heard() { eventually grep -q "$1.*DELETE_SELF" "$T/events"; }
                    echo new >a/b/doc1; heard doc1; echo new >a/b/doc2; mv a/b/doc2 a/moved; mv a c; heard doc2
                    pkill -9 -P \(daemon) -x quire-replay; sleep 0.1; echo new >c/b/doc3; heard doc3
                    kill $watcher; grep DELETE_SELF "$T/events"
                    """) == (1...3).map { "a/b/doc\($0) DELETE_SELF" }.joined(separator: "\n"))
            }
        }

        /// The document is asked for under a name that nobody else may use.
        @Test(arguments: SaveMount.accounts)
        func theNameByWhichWatchesAreToldIsNobodys(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    exec 3<doc; echo new >doc; sleep 0.2; ls -A | grep superseded || cat .quire-superseded* 2>/dev/null || echo none
                    echo mine >.quire-superseded-1; exec 4<doc; watching "$T/events" --format %e doc
                    echo newer >doc; eventually [ -s "$T/events" ]; sleep 0.2; cat .quire-superseded-1 "$T/events"; kill $watcher; rm .quire-superseded-1
                    """) == "none\nmine\nDELETE_SELF")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aWatchOnTheFolderHearsOfASave(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "mkdir d; echo old >d/doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    watching "$T/events" -e close_write,modify,create,moved_to,delete --format '%e %f' d
                    echo new >d/doc; eventually grep -q 'CLOSE_WRITE.* doc$' "$T/events"; sleep 0.4; kill $watcher; grep -c 'CLOSE_WRITE.* doc$' "$T/events"
                    grep -v ' doc$' "$T/events" || true
                    """) == "1")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func tailByNameShowsEachSave(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    tail -s 0.05 -n +1 -F doc >"$T/seen" 2>/dev/null & follower=$!
                    seen() { eventually grep -q "$1" "$T/seen"; }
                    seen old; sleep 0.4; echo first save >doc; seen first; echo second save >doc; seen second; kill $follower; cat "$T/seen"
                    """) == "old\nfirst save\nsecond save")
            }
        }

        /// By its descriptor: what is saved is another file, as after a save by rename; what is written in place is shown.
        @Test(arguments: SaveMount.accounts)
        func tailByDescriptorShowsWhatIsAppended(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    tail -s 0.05 -n +1 -f doc >"$T/seen" 2>/dev/null & follower=$!; eventually grep -q old "$T/seen"; sleep 0.4
                    echo more >>doc; eventually grep -q more "$T/seen"; echo save >doc; sleep 0.3; kill $follower; cat "$T/seen"; cat doc
                    """) == "old\nmore\nsave")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func entrRunsItsCommandAfterEachSave(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    seen() { eventually grep -q "$1" "$T/seen"; }
                    echo doc | entr -n sh -c 'cat doc >>"$T/seen"' >/dev/null 2>&1 & watcher=$!
                    seen old; sleep 0.3; echo first >doc; seen first; sleep 0.3; echo second >doc; seen second
                    kill $watcher; uniq "$T/seen"
                    """) == "old\nfirst\nsecond")
            }
        }

        /// Watchers are told by something that looks at the mount for them: saving goes on meanwhile, and nothing is left open.
        @Test(arguments: SaveMount.accounts)
        func manyWatchedDocumentsAreSavedAndTold(kind: SaveMount) throws {
            let prepare = "for n in $(seq 50); do echo old >doc$n; done"
            try withMount(kind.account, kind.options, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    watching "$T/events" --format '%w %e' doc*
                    for round in 1 2 3; do for n in $(seq 50); do echo $round >doc$n; done; done; cat doc50
                    eventually '[ $(grep -c DELETE_SELF "$T/events") = 50 ]'
                    kill $watcher 2>/dev/null || true; grep DELETE_SELF "$T/events" | sort -u | wc -l
                    """) == "3\n50")
            }
        }
    }
}
