import TestSupport
import Testing

extension MountTests {
    /// Folders and symbolic links that are made and removed within claims.
    @Suite(.sharedMounts)
    struct GroupFolderTests {
        /// `within` runs the script in its input within a claim of `folder`, and `look` prints all that is in it.
        private static let functions = """
            within() { cat >"$T/inside"; quire coordinate --write folder -- bash -c '. "$PRELUDE"; . "$0"' "$T/inside"; }
            failing() { expect_status 3 within; }
            look() { find folder -printf '%p %y %l\\n' | sort; find folder -type f | sort | xargs cat; }
            kept() { quire recover list . | grep -cw folder || true; }
            kept_before=$(kept); nothing_kept() { [ $(kept) = $kept_before ]; }

            """
        private static let folder = """
            mkdir -p folder/in/deep folder/empty; echo a >folder/a; echo b >folder/in/b; echo c >folder/in/deep/c; ln -s b folder/in/link
            mkdir photos; echo p >photos/p

            """

        private func run(_ kind: SaveMount, _ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try WithinClaim.run(kind, Self.folder + Self.functions + script, sourceLocation: sourceLocation)
        }

        @Test(arguments: SaveMount.accounts)
        func foldersRemovedByACommandThatFailsAreStillThere(kind: SaveMount) throws {
            try run(kind, """
                look >"$T/before"; inode=$(stat -c %i folder/in/b)
                failing <<'END'
                rm -r folder/in folder/empty; [ "$(ls folder)" = a ]; expect_status 2 ls folder/in 2>/dev/null; rm -r folder; [ ! -e folder ]
                outside <<<'find folder -printf "%p %y %l\\n" | sort >"$T/meanwhile"; find folder -type f | sort | xargs cat >>"$T/meanwhile"'
                exit 3
                END
                cmp "$T/meanwhile" "$T/before"; look | cmp - "$T/before"; [ $(stat -c %i folder/in/b) = $inode ]; nothing_kept
                # As good as new.
                echo new >folder/in/deep/new; echo more >>folder/in/b; mkdir folder/empty/in; mv folder/in folder/moved
                [ "$(cat folder/moved/b folder/moved/deep/new | tr '\\n' ' ')" = 'b more new ' ]; rm -r folder; [ ! -e "$S/folder" ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func foldersRemovedByACommandThatSucceedsAreGone(kind: SaveMount) throws {
            try run(kind, """
                within <<'END'
                rm -r folder/in folder/empty; echo new >folder/a
                outside <<<'[ "$(cat folder/in/b folder/in/link folder/a | tr "\\n" " ")" = "b b a " ]; [ -d folder/empty ]'
                END
                [ "$(ls -A folder) $(cat folder/a) $(ls -A "$S/folder")" = 'a new a' ]
                mkdir folder/in; [ -z "$(ls -A folder/in)" ]
                quire coordinate --write folder -- rm -r folder; [ ! -e folder ]; [ ! -e "$S/folder" ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aFolderThatIsMadeAgainHasOnlyWhatIsNew(kind: SaveMount) throws {
            try run(kind, """
                look >"$T/before"; again='rm -r folder/in; mkdir folder/in; echo new >folder/in/new; mkdir folder/in/deep'
                failing <<<"$again; [ \\"\\$(find folder/in | sort | tr '\\\\n' ' ')\\" = 'folder/in folder/in/deep folder/in/new ' ]; exit 3"
                look | cmp - "$T/before"; nothing_kept
                failing <<<"$again; rm -r folder/in; [ ! -e folder/in ]; exit 3"
                look | cmp - "$T/before"
                within <<<"$again"
                [ "$(find folder/in | sort | tr '\\n' ' ')" = 'folder/in folder/in/deep folder/in/new ' ]; [ "$(cat folder/in/new)" = new ]
                within <<<'rm -r folder/in; mkdir -m 711 folder/in'; [ "$(stat -c %a folder/in)" = 711 ]; [ -z "$(ls -A folder/in)" ]
                """)
        }

        /// What takes its place is made at once: then its documents are kept.
        @Test(arguments: SaveMount.accounts)
        func whatTakesARemovedFoldersPlace(kind: SaveMount) throws {
            try run(kind, """
                for taking in 'mv photos folder/in' 'echo file >folder/in' 'ln -s a folder/in' 'mkfifo folder/in'; do
                    failing <<<"rm -r folder/in; $taking; [ -e folder/in ]; exit 3"
                    [ ! -e folder/in/b ]; quire recover list . | grep -w folder/in/deep/c
                    [ ! -e folder/in/p ] || mv folder/in photos
                    rm -rf folder/in; mkdir -p folder/in/deep; echo b >folder/in/b; echo c >folder/in/deep/c
                    within <<<"rm -r folder/in; $taking"
                    case $taking in
                        mv*) [ "$(ls -A folder/in)" = p ]; mv folder/in photos ;;
                        echo*) [ "$(cat folder/in)" = file ] ;;
                        ln*) [ "$(readlink folder/in)" = a ] ;;
                        *) [ -p folder/in ] ;;
                    esac
                    rm -rf folder/in; mkdir -p folder/in/deep; echo b >folder/in/b; echo c >folder/in/deep/c
                done
                # Instead of a document.
                failing <<<'rm folder/a; mv photos folder/a; [ -e folder/a/p ]; exit 3'
                [ -e folder/a/p ]; quire recover list . | grep -w folder/a
                """)
        }

        /// The folder is not claimed itself.
        @Test(arguments: SaveMount.accounts)
        func aFolderOfWhichAllIsClaimed(kind: SaveMount) throws {
            try run(kind, """
                expect_status 3 quire coordinate --write photos/p -- sh -ec 'rm -r photos; [ ! -e photos ]; exit 3'; [ "$(cat photos/p)" = p ]
                expect_status 1 quire coordinate --write folder/a -- sh -c 'rm folder/a; rmdir folder' 2>/dev/null; [ -e folder/a ]
                quire coordinate --write photos/p -- rm -r photos; [ ! -e photos ]; [ ! -e "$S/photos" ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aFolderIntoWhichOthersPutSomethingStays(kind: SaveMount) throws {
            try run(kind, """
                within <<<'rm -r folder/in; echo theirs >"$S/folder/in/theirs"'
                [ "$(ls folder/in)" = theirs ]; [ "$(cat folder/in/theirs)" = theirs ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func withinEachOther(kind: SaveMount) throws {
            try run(kind, """
                look >"$T/before"
                within <<'END'
                expect_status 3 quire coordinate --write folder -- sh -c 'rm -r folder/in; exit 3'
                [ -e folder/in/b ]; rm -r folder/empty; quire coordinate --write folder -- rm -r folder/in; [ ! -e folder/in ]
                outside <<<'[ -e folder/in/b ]; [ -d folder/empty ]'
                END
                [ "$(ls folder)" = a ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func symbolicLinksAreTheClaimsToo(kind: SaveMount) throws {
            try run(kind, """
                ln -s a folder/current; look >"$T/before"
                change='ln -sfn in/b folder/current; ln -s in folder/new; rm folder/in/link; mv folder/new folder/other
                    [ "$(cat folder/current folder/other/b | tr "\\n" " ")" = "b b " ]; [ ! -L folder/in/link ]; rm folder/current
                    ln -s in/deep/c folder/current'
                failing <<END
                $change; outside <<<'[ "\\$(readlink folder/current folder/in/link | tr "\\n" " ")" = "a b " ]; [ ! -e folder/other ]'; exit 3
                END
                look | cmp - "$T/before"; nothing_kept
                quire coordinate --write folder -- sh -c "$change; kill -9 \\$PPID; exec sleep 60" || true
                eventually 'quire coordinate --write folder --timeout 0 -- true 2>/dev/null'
                look | cmp - "$T/before"
                within <<<"$change"
                [ "$(readlink folder/current folder/other | tr '\\n' ' ')" = 'in/deep/c in ' ]; [ ! -L folder/in/link ]; [ ! -L folder/new ]
                within <<<'mv folder/other folder/in/link'; [ "$(readlink folder/in/link)" = in ]; [ ! -L folder/other ]
                """)
        }

        /// git removes folders as it goes.
        @Test(arguments: SaveMount.accounts)
        func aRepositoryIsCollectedOrNot(kind: SaveMount) throws {
            try run(kind, """
                export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
                cd folder; git init -q .; git config user.email a@b; git config user.name a
                for n in $(seq 5); do echo $n >doc; git add .; git commit -qm $n; done; cd ..
                find folder -type f | sort | xargs md5sum >"$T/before"
                failing <<<'git -C folder gc -q --prune=now; [ -z "$(find folder/.git/objects -maxdepth 1 -name "[0-9a-f][0-9a-f]")" ]; exit 3'
                find folder -type f | sort | xargs md5sum | cmp - "$T/before"; git -C folder fsck --strict; git -C folder status
                within <<<'git -C folder gc -q --prune=now'
                git -C folder fsck --strict; [ $(git -C folder log --oneline | wc -l) = 5 ]
                [ -z "$(find folder/.git/objects -maxdepth 1 -name '[0-9a-f][0-9a-f]')" ]
                """)
        }
    }
}
