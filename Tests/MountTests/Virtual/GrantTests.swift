import TestSupport
import Testing

extension MountTests {
    /// One document or folder, by a path of its own, for programs that are given nothing else.
    struct GrantTests {
        private static let store = "mkdir -p d/sub; echo one >d/doc; echo inner >d/sub/inner; echo else >other; chmod 755 . d d/sub"

        private func withGrant(_ account: Account = .root, of arguments: String = "d", _ script: String) throws {
            try withMount(account, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("place=$(quire grant \(arguments)); scope=$(dirname \"$place\")\n" + script)
            }
        }

        @Test(arguments: Account.allCases)
        func aFolderIsUsedByItsGrant(account: Account) throws {
            try withGrant(
                account,
                """
                [ "$(ls -A .scopes)" = "" ]; [ "$(ls -A "$scope")" = d ]; [ "$(ls -A "$place")" = "doc
                sub" ]
                [ "$(cat "$place/doc" "$place/sub/inner")" = "one
                inner" ]
                [ "$(stat -c '%i %a %u %s' "$place/doc")" = "$(stat -c '%i %a %u %s' d/doc)" ]
                setfattr -n user.xdg.tags -v kept d/doc
                echo two >"$place/doc"; [ "$(cat d/doc)" = two ]; echo three >d/doc; [ "$(cat "$place/doc")" = three ]
                echo more >>"$place/doc"; [ "$(tail -n 1 d/doc)" = more ]; echo last >>d/doc; [ "$(tail -n 1 "$place/doc")" = last ]
                echo four >"$place/doc.tmp"; mv "$place/doc.tmp" "$place/doc"; [ "$(cat d/doc)" = four ]
                [ "$(getfattr --only-values -n user.xdg.tags "$place/doc")" = kept ]; [ "$(readlink .tags/kept/doc)" = ../../d/doc ]
                echo n >"$place/sub/n"; mv "$place/sub/n" "$place/m"; [ "$(cat d/m)" = n ]
                ln "$place/m" "$place/hard"; [ "$(stat -c %h d/m)" = 2 ]; ln -s doc "$place/soft"; [ "$(cat d/soft)" = four ]
                mkdir "$place/made"; rmdir "$place/made"; rm -r "$place/sub"; [ "$(ls d)" = "doc
                hard
                m
                soft" ]
                truncate -s 2 "$place/doc"; chmod 600 "$place/doc"; touch -d 2001-02-03 "$place/doc"
                [ "$(stat -c '%s %a %y' d/doc | cut -c1-16)" = "2 600 2001-02-03" ]
                expect_status 1 python3 -c 'import os, sys; os.rename(sys.argv[1] + "/m", "m")' "$place"
                expect_status 1 python3 -c 'import os, sys; os.rename("other", sys.argv[1] + "/other")' "$place"
                expect_status 1 ln other "$place/"; [ "$(cat other)" = else ]; [ ! -e m ]
                expect_status 1 touch "$scope/x"
                """)
        }

        /// Editors make files beside a document to save it, or move it aside: nobody else sees these, nor the document gone.
        @Test(arguments: Account.allCases)
        func aDocumentIsSavedByItsGrantInEveryWay(account: Account) throws {
            try withGrant(
                account, of: "d/doc",
                """
                [ "$(ls -A "$scope")" = doc ]; setfattr -n user.xdg.tags -v kept d/doc
                echo two >"$place"; [ "$(cat d/doc)" = two ]; echo more >>"$place"; [ "$(tail -n 1 d/doc)" = more ]
                cd "$scope"
                echo three >.new; [ "$(cat .new)" = three ]; [ "$(ls -A)" = ".new
                doc" ]; [ "$(ls -A "$M/d")" = "doc
                sub" ]; mv .new doc; [ "$(cat "$M/d/doc" doc)" = "three
                three" ]; [ "$(ls -A)" = doc ]; [ "$(getfattr --only-values -n user.xdg.tags "$M/d/doc")" = kept ]
                mv doc doc~; expect_status 1 test -e doc; [ "$(cat doc~ "$M/d/doc")" = "three
                three" ]; echo four >doc; [ "$(cat doc doc~ "$M/d/doc")" = "four
                three
                four" ]; [ "$(getfattr --only-values -n user.xdg.tags "$M/d/doc")" = kept ]; rm doc~
                mv doc doc~; ( set -o noclobber; echo five >doc ); [ "$(cat doc "$M/d/doc")" = "five
                five" ]; mv doc~ other; mv -n other doc; [ "$(cat doc)" = five ]; mv other doc; [ "$(cat doc "$M/d/doc")" = "four
                four" ]
                mv doc aside; mv aside doc; [ "$(cat doc "$M/d/doc")" = "four
                four" ]
                ed -s doc <<<$'1c\\nfive\\n.\\nw\\nq'; vim -es -u NONE -c 'set backup writebackup backupcopy=no' -c '%s/five/six/' -c wq doc || true; [ "$(cat "$M/d/doc")" = six ]
                python3 -c 'open(".left", "w").write("x")'; expect_status 1 mkdir folder; cd /
                quire revoke "$scope"; [ "$(ls -A "$S/d")" = "doc
                sub" ]; [ "$(cat "$M/d/doc")" = six ]
                """)
        }

        /// A saver that is killed harms nothing, and nobody reads half a save.
        @Test(arguments: Account.allCases)
        func savesByAGrantAreTransactions(account: Account) throws {
            try withMount(account, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import os, signal, subprocess
                    place = subprocess.run(["quire", "grant", "d"], capture_output=True, text=True, check=True).stdout.strip()
                    def read(path):
                        with open(path) as file: return file.read()
                    def begin():
                        inner, outer = os.pipe()
                        child = os.fork()
                        if child == 0:
                            file = os.open(place + "/doc", os.O_WRONLY | os.O_TRUNC)
                            os.write(file, b"half")
                            os.write(outer, b"x")
                            signal.pause()
                        os.read(inner, 1)
                        return child
                    child = begin()
                    assert read("d/doc") == "one\\n" and read(place + "/doc") == "one\\n", (read("d/doc"), read(place + "/doc"))
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    assert read("d/doc") == "one\\n"
                    with open(place + "/doc", "r+") as file:
                        file.truncate(0)
                        file.write("whole")
                        file.flush()
                        assert read("d/doc") in ("one\\n", "whole")
                    assert read("d/doc") == "whole"
                    """)
            }
        }

        @Test(arguments: Account.allCases)
        func aGrantForReadingChangesNothing(account: Account) throws {
            try withGrant(
                account, of: "--read-only d",
                """
                [ "$(cat "$place/doc")" = one ]
                for command in 'echo x >"$place/doc"' 'echo x >>"$place/doc"' 'touch "$place/new"' 'mkdir "$place/new"' 'rm "$place/doc"' 'rmdir "$place/sub"' \\
                    'chmod 600 "$place/doc"' 'mv "$place/doc" "$place/moved"' 'ln "$place/doc" "$place/linked"' 'ln -s x "$place/soft"' 'truncate -s 0 "$place/doc"' \\
                    'setfattr -n user.a -v b "$place/doc"'
                do
                    code=0; message=$(eval "$command" 2>&1) || code=$?
                    [ $code != 0 ]
                    [[ "$message" = *'Read-only file system'* ]]
                done
                [ "$(cat d/doc)" = one ]; [ "$(ls d)" = "doc
                sub" ]; [ "$(quire grants)" = "ro  -  $M/d  $place" ]
                """)
        }

        /// For what is opened and what was; what was written of a save by then is not published.
        @Test(arguments: Account.allCases)
        func aRevokedGrantIsUsedNoMore(account: Account) throws {
            try withMount(account, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import errno, os, subprocess
                    def quire(*words): return subprocess.run(["quire", *words], capture_output=True, text=True, check=True).stdout.strip()
                    def fails(body, *numbers):
                        try: body()
                        except OSError as error: assert error.errno in numbers, error
                        else: raise AssertionError("it went")
                    place, kept = quire("grant", "d"), quire("grant", "d")
                    reader = os.open(place + "/doc", os.O_RDONLY)
                    folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
                    saver = os.open(place + "/doc", os.O_WRONLY | os.O_TRUNC)
                    os.write(saver, b"half")
                    assert os.pread(reader, 3, 0) == b"one"
                    quire("revoke", place)
                    fails(lambda: os.pread(reader, 3, 0), errno.ESTALE)
                    fails(lambda: os.write(saver, b"more"), errno.ESTALE)
                    fails(lambda: os.open("doc", os.O_RDONLY, dir_fd=folder), errno.ESTALE)
                    fails(lambda: os.listdir(folder), errno.ESTALE)
                    fails(lambda: os.stat(place + "/doc"), errno.ENOENT, errno.ESTALE)
                    try: os.close(saver)
                    except OSError: pass
                    assert open("d/doc").read() == "one\\n" and open(kept + "/doc").read() == "one\\n"
                    assert quire("grants").count("\\n") == 0 and kept in quire("grants")
                    quire("revoke", "d")
                    assert quire("grants") == ""
                    """)
            }
        }

        @Test func aGrantEndsWhenItsTimeIsOver() throws {
            try withGrant(
                .user, of: "--for 10s d",
                """
                [ "$(cat "$place/doc")" = one ]; over() { ! cat "$place/doc" 2>/dev/null; }; eventually over; [ "$(quire grants)" = "" ]
                """)
        }

        @Test(arguments: Account.allCases)
        func itIsFoundWhereverItIsMoved(account: Account) throws {
            try withGrant(
                account,
                """
                mkdir into; mv d into/moved; [ "$(ls "$scope")" = moved ]; [ "$(cat "$scope/moved/doc")" = one ]
                mv into outer; echo two >"$scope/moved/doc"; [ "$(cat outer/moved/doc)" = two ]; [ "$(quire grants --json | jq -r '.[].path')" = "$M/outer/moved" ]
                place=$(quire grant outer/moved/doc); scope=$(dirname "$place")
                echo three >outer/moved/doc; mv outer/moved/doc final; [ "$(cat "$scope/final")" = three ]; echo four >"$scope/final"; [ "$(cat final)" = four ]
                """)
        }

        /// In a sandbox that has nothing else of the mount.
        @Test(arguments: Account.allCases)
        func aSandboxHasWhatWasGrantedAlone(account: Account) throws {
            try withGrant(
                account,
                """
                run() { bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp --bind "$place" /work --chdir /work --unshare-all "$@"; }
                run bash -ec '
                    [ "$(ls)" = "doc
                sub" ]; [ ! -e ../other ]; [ ! -e ../../other ]
                    inotifywait -q -m -e create,close_write,moved_to --format "%e %f" . >/tmp/events & watch=$!
                    until grep -q inotify /proc/$watch/fdinfo/* 2>/dev/null; do sleep 0.01; done
                    echo two >doc; echo three >new; mv new doc
                    until grep -q "MOVED_TO doc" /tmp/events; do sleep 0.01; done
                    grep -q "CLOSE_WRITE,CLOSE doc" /tmp/events; grep -q "CREATE new" /tmp/events; kill $watch'
                [ "$(cat d/doc)" = three ]
                """)
        }

        /// By programs that have looked at the folder by its own path before, and watch it.
        @Test(arguments: Account.allCases)
        func whatIsDoneByAGrantShowsElsewhereAtOnce(account: Account) throws {
            try withMount(account, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.python("""
                    import os, subprocess
                    place = subprocess.run(["quire", "grant", "d"], capture_output=True, text=True, check=True).stdout.strip()
                    def look(): return sorted(os.listdir("d"))
                    for n in range(20):
                        name = f"n{n}"
                        assert not os.path.exists(f"d/{name}") and name not in look()
                        with open(f"{place}/{name}", "w") as file: file.write(str(n))
                        assert name in look() and open(f"d/{name}").read() == str(n) and os.stat(f"d/{name}").st_size == len(str(n))
                        with open(f"{place}/tmp", "w") as file: file.write("other")
                        os.rename(f"{place}/tmp", f"{place}/{name}")
                        assert open(f"d/{name}").read() == "other" and not os.path.exists("d/tmp")
                        os.chmod(f"{place}/{name}", 0o640)
                        assert os.stat(f"d/{name}").st_mode & 0o777 == 0o640
                        os.truncate(f"{place}/{name}", 2)
                        assert os.stat(f"d/{name}").st_size == 2 and open(f"d/{name}").read() == "ot"
                        os.mkdir(f"{place}/f{n}")
                        assert os.listdir(f"d/f{n}") == []
                        os.rename(f"{place}/f{n}", f"{place}/g{n}")
                        assert os.path.isdir(f"d/g{n}") and not os.path.exists(f"d/f{n}")
                        os.rmdir(f"{place}/g{n}"); os.unlink(f"{place}/{name}")
                        assert look() == ["doc", "sub"], look()
                    """)
                try mount.shell(
                    """
                    place=$(quire grant d); inotifywait -q -m -e create,close_write,moved_to,delete --format '%e %f' d >"$T/events" & watch=$!
                    until grep -q inotify /proc/$watch/fdinfo/* 2>/dev/null; do sleep 0.01; done
                    echo x >"$place/new"; mv "$place/new" "$place/moved"; rm "$place/moved"; echo two >"$place/doc"
                    seen() { grep -q 'CREATE new' "$T/events" && grep -q 'MOVED_TO moved' "$T/events" && grep -q 'DELETE moved' "$T/events" && grep -q 'CLOSE_WRITE,CLOSE doc' "$T/events"; }
                    eventually seen; kill $watch
                    """)
            }
        }

        /// By other paths, by another grant, and beneath the mount.
        @Test(arguments: Account.allCases)
        func watchesInAGrantHearOfWhatIsDoneElsewhere(account: Account) throws {
            try withMount(account, prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(
                    """
                    echo before >before; rm before
                    folder=$(quire grant d); document=$(quire grant other); another=$(quire grant d)
                    inotifywait -q -m -r -e create,close_write,delete,attrib --format '%f %e' "$folder" "$(dirname "$document")" >>"$T/events" & watch=$!
                    heard() { eventually grep -qx "$1" "$T/events"; : >"$T/events"; }
                    watches() { [ "$(cat /proc/$watch/fdinfo/* 2>/dev/null | grep -c '^inotify wd')" -ge 3 ]; }; eventually watches
                    echo two >d/doc; heard 'doc CLOSE_WRITE,CLOSE'; [ "$(cat "$folder/doc")" = two ]
                    echo new >d/new; heard 'new CREATE'
                    echo more >d/.new; mv d/.new d/new; eventually grep -qx 'new CLOSE_WRITE,CLOSE' "$T/events"; [ "$(cat "$folder/new")" = more ]
                    [ "$(grep -cx 'new CREATE' "$T/events" || true)" = 0 ]; : >"$T/events"
                    echo in >in; mv in d/in; echo more >>d/in; heard 'in CREATE'; rm d/in
                    for n in $(seq 200); do echo $n >d/n$n; done; heard 'n200 CLOSE_WRITE,CLOSE'; rm d/n*[0-9]; heard 'n200 DELETE'
                    mv d/new d/sub/moved; heard 'new DELETE'; [ ! -e "$folder/new" ]
                    chmod 600 d/sub/moved; heard 'moved ATTRIB'
                    mkdir d/folder; heard 'folder CREATE,ISDIR'; rmdir d/folder; heard 'folder DELETE'
                    echo x >"$another/own"; heard 'own CLOSE_WRITE,CLOSE'; rm "$another/own"; heard 'own DELETE'
                    echo beneath >'\(mount.store)/d/beneath'; heard 'beneath CREATE'; rm '\(mount.store)/d/beneath'; heard 'beneath DELETE'
                    echo changed >other; heard 'other CLOSE_WRITE,CLOSE'; [ "$(cat "$document")" = changed ]
                    mv other renamed; heard 'other DELETE'; [ "$(cat "$(dirname "$document")/renamed")" = changed ]
                    # inotify reports a change by the grant itself once.
                    echo once >"$folder/once"; rm "$folder/once"; echo end >d/end; eventually grep -qx 'end CREATE' "$T/events"
                    [ "$(grep -cx 'once DELETE' "$T/events")" = 1 ]
                    kill $watch
                    """)
            }
        }

        /// Not even a user who has learned the token.
        @Test func itIsItsOwnersAlone() throws {
            try withMount(prepare: Self.store) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell("chmod 777 . d; chmod 666 d/doc")
                let place = try mount.shell("quire grant d", as: Account.alice)
                #expect(try mount.shell("echo hers >'\(place)/doc'; cat d/doc", as: Account.alice) == "hers")
                try mount.refuses("cat '\(place)/doc'", "No such file", as: Account.bob)
                try mount.refuses("quire revoke '\(place)'", "nothing was granted", as: Account.bob)
                #expect(try mount.shell("ls -A .scopes; quire grants", as: Account.bob) == "")
                try mount.shell("chmod 700 d/sub; echo root >d/sub/secret; chmod 600 d/sub/secret")
                try mount.refuses("cat '\(place)/sub/secret'", "Permission denied", as: Account.alice)
                try mount.refuses("quire grant d/sub/secret", "Permission denied", as: Account.alice)
                try mount.shell("chmod 755 d/sub")
                try mount.refuses("quire grant d/sub/secret", "that you may read", as: Account.alice)
                // Whoever may read a document may not remove or replace it by a grant.
                try mount.shell("mkdir -m 755 shown; mkdir -m 1777 shared; for f in shown shared; do echo root >$f/doc; chmod 644 $f/doc; done")
                for folder in ["shown", "shared"] {
                    let document = try mount.shell("quire grant \(folder)/doc", as: Account.bob)
                    try mount.refuses("rm -f '\(document)'", "ermi", as: Account.bob)
                    try mount.refuses("echo x >'\(document).new'; mv -f '\(document).new' '\(document)'", "ermi", as: Account.bob)
                    try mount.refuses("mv '\(document)' '\(document)~'", "ermi", as: Account.bob)
                    #expect(try mount.shell("cat \(folder)/doc; ls -A \(folder)") == "root\ndoc")
                }
                #expect(try mount.shell("cat '\(place)/sub/secret'; quire revoke --all; quire grants") == "root")
            }
        }
    }
}
