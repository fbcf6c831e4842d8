import Glibc
import TestSupport
import Testing

extension MountTests {
    /// What inotify users of the mount hear of changes made in the store by others.
    struct OutsideWatchTests {
        private static let kinds = SaveMount.allCases

        /// Runs a script while inotifywait watches a folder; what that heard, without opening and reading. `ended` waits for what
        /// was done until then. `step COUNT` waits until so many events were heard, so that each change is told by itself.
        private func heard(
            _ mount: Mount, in place: String = "$M", _ script: String, sourceLocation: SourceLocation = #_sourceLocation
        ) throws -> String {
            try mount.shell("""
                watching "$T/events" -e modify,close_write,attrib,create,delete,move --format '%e %f' "\(place)"
                step() { if [ $# = 1 ]; then eventually '[ $(wc -l <"$T/events") -ge '"$1 ]"; fi; sleep 0.2; }
                ended() { touch "$S/.ended$$"; eventually grep -q "CREATE .ended$$" "$T/events"; }
                (\(script)) >&2
                ended; kill $watcher; sed "/ended$$/Q" "$T/events" | grep -v ended || true
                """, sourceLocation: sourceLocation)
        }

        private static let changes = """
            echo one >"$S/file"; step 3; echo more >>"$S/file"; step 5; chmod 600 "$S/file"; step 6; setfattr -n user.a -v b "$S/file"; step 7
            mkdir "$S/folder"; step 8; mv "$S/file" "$S/folder/moved"; step 9; mv "$S/folder/moved" "$S/back"; step 10
            ln -s nowhere "$S/link"; step 11; mkfifo "$S/pipe"; step 12; ln "$S/back" "$S/other"; step 13
            echo new >"$S/tmp"; step 16; mv "$S/tmp" "$S/back"; step 18; chmod 700 "$S/folder"; step 19
            rm "$S/back"; step 20; rm "$S/link"; step 21; rm "$S/pipe"; step 22; rmdir "$S/folder"
            """
        private static let changesHeard = """
            CREATE file
            MODIFY file
            CLOSE_WRITE,CLOSE file
            MODIFY file
            CLOSE_WRITE,CLOSE file
            ATTRIB file
            ATTRIB file
            CREATE,ISDIR folder
            MOVED_FROM file
            MOVED_TO back
            CREATE link
            CREATE pipe
            CREATE other
            CREATE tmp
            MODIFY tmp
            CLOSE_WRITE,CLOSE tmp
            MOVED_FROM tmp
            MOVED_TO back
            ATTRIB,ISDIR folder
            DELETE back
            DELETE link
            DELETE pipe
            DELETE,ISDIR folder
            """

        /// With passthrough a large document is open by a file of the kernel's own.
        @Test(arguments: kinds)
        func changesOfALargeDocumentThatIsOpenAreHeard(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "head -c 100000 /dev/zero >doc") { (mount: Mount) throws in
                let script = "exec 5<doc; head -c 1 <&5 >/dev/null; echo more >>\"$S/doc\"; step 2; echo more >>\"$S/doc\"; step 4"
                #expect(try heard(mount, script) == "MODIFY doc\nCLOSE_WRITE,CLOSE doc\nMODIFY doc\nCLOSE_WRITE,CLOSE doc")
            }
        }

        @Test(arguments: kinds)
        func changesBesideTheMountAreHeardOnceAndInOrder(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                #expect(try heard(mount, Self.changes) == Self.changesHeard)
                #expect(try mount.shell("diff <(ls) <(ls \"$S\"); ls") == "other")
            }
        }

        /// Programs that watch a folder hear of what is in it, though the kernel has dropped that from its cache.
        @Test(arguments: [SaveMount.root, .rootWithoutPassthrough])
        func aFolderThatTheKernelHasForgottenIsHeardOf(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                let script = """
                    mkdir "$S/folder"; step 1
                    for n in 1 2 3; do echo 2 >/proc/sys/vm/drop_caches; done; chmod 700 "$S/folder"; step 2
                    """
                #expect(try heard(mount, script) == "CREATE,ISDIR folder\nATTRIB,ISDIR folder")
            }
        }

        /// Who stood in the store before it was covered still writes beneath the mount.
        @Test(arguments: SaveMount.accounts)
        func changesBeneathTheMountAreHeard(kind: SaveMount) throws {
            let mount = try Mount(kind.account, inPlace: true)
            defer { mount.end() }
            let options = kind.options.map { "-o \($0)" }.joined(separator: " ")
            #expect(try mount.shell("""
                cd "$S"; quire mount "$S" \(options) >&2
                watching "$T/events" -e modify,close_write,create,delete,move --format '%e %f' "$M"
                heard() { eventually '[ $(wc -l <"$T/events") -ge '"$1 ]"; sleep 0.2; }
                for n in 1 2 3; do echo $n >f$n; heard $((6 * n - 3)); mv f$n g$n; heard $((6 * n - 1)); rm g$n; heard $((6 * n)); done
                kill $watcher; cat "$T/events"
                """, in: "/") == (1...3).map {
                    "CREATE f\($0)\nMODIFY f\($0)\nCLOSE_WRITE,CLOSE f\($0)\nMOVED_FROM f\($0)\nMOVED_TO g\($0)\nDELETE g\($0)"
                }.joined(separator: "\n"))
            try mount.noteDaemon()
        }

        /// Both halves of a move have one cookie; watches inside a moved folder go with it.
        @Test(arguments: SaveMount.accounts)
        func aMovedFolderStaysTheSame(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "mkdir -p a/b; echo x >a/b/doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    cat a/b/doc >/dev/null; cd a/b
                    watching "$T/events" -e create,move --format '%w%e %c %f' "$M" .
                    mv "$S/a" "$S/c"; eventually grep -q 'MOVED_TO.* c$' "$T/events"; pwd -P | sed "s:$M/::"
                    echo new >"$S/c/b/more"; eventually grep -q more "$T/events"; kill $watcher
                    test $(sed -n 's:.*MOVED_FROM,ISDIR \\([0-9a-f]*\\) a:\\1:p' "$T/events") = \
                        $(sed -n 's:.*MOVED_TO,ISDIR \\([0-9a-f]*\\) c:\\1:p' "$T/events")
                    tail -1 "$T/events"; cat "$M/c/b/doc"; ls "$M"
                    """) == "c/b\n./CREATE 0 more\nx\nc")
            }
        }

        /// Viewers watch a document itself.
        @Test(arguments: SaveMount.accounts)
        func watchesOnTheDocumentHear(kind: SaveMount) throws {
            let prepare = "for n in $(seq 5); do echo old >removed$n; echo old >replaced$n; echo old >moved$n; echo old >written$n; done"
            try withMount(kind.account, kind.options, prepare: prepare) { (mount: Mount) throws in
                try mount.shell("""
                    watching "$T/events" -e modify,delete_self,move_self --format '%w %e' *[0-9]
                    for n in $(seq 5); do
                        rm "$S/removed$n"; echo new >"$S/tmp$n"; mv "$S/tmp$n" "$S/replaced$n"
                        mv "$S/moved$n" "$S/elsewhere$n"; echo more >>"$S/written$n"; sleep 0.2
                    done
                    # On a machine that stalls the kernel is told to forget a name before that is replayed.
                    for what in 'removed. DELETE_SELF' 'replaced. DELETE_SELF' 'moved. MOVE_SELF' 'written. MODIFY'; do
                        eventually '[ $(grep -c "^$what" "$T/events") -ge 3 ]'
                    done
                    kill $watcher; expect_equal "$(cat replaced5)" new
                    """)
            }
        }

        /// What is done through the mount is told by the kernel, and by nobody again.
        @Test(arguments: SaveMount.accounts)
        func whatIsDoneThroughTheMountIsHeardAsOnAPlainFolder(kind: SaveMount) throws {
            let script = """
                echo one >>file; step; chmod 600 file; mkdir folder; setfattr -n user.a -v b file; mv file folder/moved
                mv folder/moved back; step; ln -s nowhere link; ln back other; truncate -s 2 back; step; echo new >>tmp; mv tmp back
                rm back other link; rmdir folder; step; touch done; step
                """
            try withMount(kind.account, kind.options, prepare: "mkdir \"$T/plain\"") { (mount: Mount) throws in
                let plain = try heard(mount, in: "$T/plain", "cd \"$T/plain\"; " + script + "; touch .ended$$")
                #expect(try heard(mount, script) == plain)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whatIsReplayedIsNotToldAgain(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    (cd /; exec quire watch --json "$M") >"$T/watched" & watch=$!
                    eventually 'touch begun; sleep 0.05; grep -q begun "$T/watched"'; watching "$T/heard" --format '%e %f' .
                    echo one >"$S/file"; mkdir "$S/folder"; eventually grep -q 'CREATE,ISDIR folder' "$T/heard"; sleep 0.4
                    mv "$S/file" "$S/folder/moved"; eventually grep -q 'MOVED_FROM file' "$T/heard"; sleep 0.3
                    rm "$S/folder/moved"; eventually grep -q '"deleted"' "$T/watched"; sleep 0.6; kill $watch $watcher; ls .recents
                    for kind in appeared moved deleted; do grep -v begun "$T/watched" | grep -c "\\"$kind\\"" || true; done
                    """) == "begun\n2\n1\n1")
            }
        }

        /// What was made outside can be used at once; who is told of it finds it.
        @Test(arguments: SaveMount.accounts)
        func whatIsMadeOutsideIsOpenedAtOnce(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                let events = try heard(mount, """
                    for n in $(seq 40); do
                        echo $n >"$S/f$n"; [ "$(cat f$n)" = $n ]; echo more >>f$n; mkdir "$S/d$n"; echo x >d$n/x
                    done
                    step; for n in $(seq 40); do [ "$(cat "$S/f$n")" = "$n"$'\\nmore' ]; cat d$n/x >/dev/null; done
                    """).split(separator: "\n")
                let made = events.filter { $0.hasPrefix("CREATE ") }.sorted()
                #expect(made == (1...40).map { "CREATE f\($0)" }.sorted())
                #expect(events.filter { $0.hasPrefix("CREATE,ISDIR ") }.count == 40)
            }
        }

        /// A name that is made and removed on both sides at once: what the store has is what the mount shows.
        @Test(arguments: SaveMount.accounts)
        func oneNameChangedOnBothSidesLosesNothing(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    watching "$T/heard" .
                    (for n in $(seq 300); do echo outside >"$S/name"; rm -f "$S/name"; mkdir "$S/folder" || true; rmdir "$S/folder" || true; done) \
                        2>/dev/null & outside=$!
                    for n in $(seq 300); do
                        echo inside$n 2>/dev/null >>name || true; mv name kept$n 2>/dev/null || true
                        echo $n >own$n; echo $n >folder/own$n || true
                    done 2>/dev/null
                    wait $outside; rm -rf name folder; eventually 'diff <(ls) <(ls "$S")'; echo last >name; mkdir folder; echo last >folder/file
                    eventually 'diff <(ls) <(ls "$S")'
                    cat name "$S/name" folder/file "$S/folder/file"; diff <(ls) <(ls "$S"); cat own* | wc -l; diff -r "$M" "$S" | grep -v -e .favorites -e .recents -e .search -e .tags -e .thumbnails || true
                    kill $watcher
                    """) == "last\nlast\nlast\nlast\n300")
            }
        }

        /// Whoever kills it: another one takes over.
        @Test(arguments: SaveMount.accounts)
        func theReplayProcessIsStartedAgain(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                let daemon = try #require(mount.daemon)
                #expect(try heard(mount, """
                    touch "$S/a"; step; step; for n in 1 2 3; do
                        eventually pkill -9 -P \(daemon) -x quire-replay; touch "$S/b$n"
                        eventually 'touch "$S/c$n.$RANDOM"; sleep 0.2; grep -q "CREATE c$n" "$T/events"'
                    done
                    """).contains("CREATE c3"))
            }
        }

        @Test(arguments: SaveMount.accounts)
        func anUnmountWhileChangesAreReplayedEnds(kind: SaveMount) throws {
            for _ in 0..<(isLongRun ? 20 : 3) {
                try withMount(kind.account, kind.options) { (mount: Mount) throws in
                    try mount.shell("""
                        (cd "$S"; for n in $(seq 1500); do echo $n >f$n; done) & writer=$!
                        sleep 0.\(Int.random(in: 1...5)); cd /; quire unmount "$M"; wait $writer
                        """)
                    #expect(mount.daemon.map(Mount.hasEnded) == true)
                }
            }
        }

        /// A burst keeps nobody waiting: what cannot be replayed in time is not.
        @Test(arguments: SaveMount.accounts)
        func aBurstOfChangesDoesNotHoldTheMountUp(kind: SaveMount) throws {
            let count = isLongRun ? 100_000 : 10_000
            try withMount(kind.account, kind.options, prepare: "mkdir busy; echo x >doc") { (mount: Mount) throws in
                try mount.scanned()
                #expect(try mount.python("""
                    import os, subprocess, time
                    S, M, count = os.environ["S"], os.environ["M"], \(count)
                    watcher = subprocess.Popen(["inotifywait", "-q", "-m", "-e", "create", "--format", "%f", M + "/busy"],
                                               stdout=open(os.environ["T"] + "/events", "w"))
                    time.sleep(0.5)
                    def use():
                        with open(M + "/doc", "w") as file: file.write("y")
                        os.rename(M + "/doc", M + "/doc2"); os.rename(M + "/doc2", M + "/doc")
                    for n in range(count):
                        os.close(os.open(S + "/busy/%d" % n, os.O_CREAT | os.O_WRONLY))
                        if n % 100 == 0: use()
                    deadline = time.monotonic() + 180
                    while not os.path.exists(M + "/busy/%d" % (count - 1)) and time.monotonic() < deadline: time.sleep(0.01)
                    names = set(os.listdir(M + "/busy"))
                    time.sleep(1)
                    watcher.terminate(); watcher.wait()
                    told = open(os.environ["T"] + "/events").read().split()
                    if len(names) != count: print(len(names), "listed")
                    if len(told) != len(set(told)): print("told twice:", len(told) - len(set(told)))
                    if not told: print("nothing told")
                    """) == "")
            }
        }

        /// A file manager's monitor.
        @Test(arguments: SaveMount.accounts)
        func gioMonitorHears(kind: SaveMount) throws {
            try withMount(kind.account, kind.options) { (mount: Mount) throws in
                let told = try mount.shell("""
                    gio monitor -d "$M" >"$T/told" & monitor=$!; eventually 'touch begun; sleep 0.1; grep -q begun "$T/told"'
                    echo one >"$S/made"; eventually grep -q 'made: changes done' "$T/told"; mv "$S/made" "$S/moved"
                    eventually grep -q moved "$T/told"; rm "$S/moved"; eventually grep -q deleted "$T/told"
                    kill $monitor; sed "s:$M/::g" "$T/told"
                    """)
                for event in ["made: created", "made: changes done", "deleted"] { #expect(told.contains(event), "\(told)") }
            }
        }
    }
}
