import TestSupport
import Testing

extension MountTests {
    /// `quire bookmark`, and bookmarks of DocumentKit.
    struct BookmarkTests {
        private static let documents = "mkdir a b; printf 'the content' >a/doc; echo other >a/other; ln a/other a/link"

        /// Defines `resolves STATUS PATH`: what resolving $bookmark is to exit with, and to print.
        private static let functions = """
            resolves() {
                local code=0 found; found=$(quire bookmark resolve "$bookmark" 2>"$T/said") || code=$?
                expect_equal "$code $found" "$1 ${2:+$M/$2}"
            }
            bookmark=$(quire bookmark create a/doc); [[ $bookmark =~ ^[A-Za-z0-9_-]{80,400}$ ]]

            """

        private func run(_ account: Account, _ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try withMount(account, prepare: Self.documents) { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.functions + script, sourceLocation: sourceLocation)
            }
        }

        @Test(arguments: Account.allCases)
        func aDocumentIsFoundWhereverItGoes(account: Account) throws {
            try run(account, """
                resolves 0 a/doc
                echo more >>a/doc; echo save >new; mv new a/doc; resolves 0 a/doc
                mv a/doc b/else; resolves 0 b/else
                mv b c; resolves 0 c/else
                echo another >a/doc; resolves 0 c/else
                (cd "$S"; mv c/else beneath); until [ "$(quire bookmark resolve "$bookmark" 2>/dev/null)" = "$M/beneath" ]; do sleep 0.01; done; resolves 0 beneath
                cd /; quire unmount "$M"; mkdir "$S/deep"; mv "$S/beneath" "$S/deep/last"; quire mount "$S" "$M" -o restart=off; cd "$M"
                until [ "$(quire status --json . | jq -r .gather.state)" = done ]; do sleep 0.02; done
                resolves 0 deep/last
                [ "$(quire bookmark resolve --json "$bookmark" | jq -r '.state, .path')" = "found
                $M/deep/last" ]
                """)
        }

        /// What a backup has brought back is another file, with the content and time of the one that is gone.
        @Test(arguments: Account.allCases)
        func whatWasRestoredIsStale(account: Account) throws {
            try run(account, """
                cp -p a/doc "$T/backup"; rm a/doc; resolves 3
                cp -p "$T/backup" a/doc; resolves 2 a/doc; grep -q 'make a new bookmark' "$T/said"
                mv a/doc b/elsewhere; rm -f a/doc; bookmark2=$bookmark; resolves 2 b/elsewhere
                rm b/elsewhere; printf 'thE content' >a/third; touch -r "$T/backup" a/third; resolves 3
                # Any document at its path, at the end.
                echo different >a/doc; resolves 2 a/doc
                rm a/doc; resolves 3; grep -q 'gone' "$T/said"
                """)
        }

        /// The index is made anew, with ids that mean other documents.
        @Test func anIndexThatIsMadeAnewKnowsTheDocumentByItsFile() throws {
            try run(.root, """
                state=$(dirname "$(find /var/lib/quire ${QUIRE_STATE_HOME:-} -maxdepth 2 -name store -exec grep -lF "$S" {} +)"); cd /; quire unmount "$M"
                rm "$state"/index.sqlite*; (cd "$S"; for n in {1..20}; do echo $n >aa$n; done; mv a/doc b/moved)
                quire mount "$S" "$M" -o restart=off,allow_other; cd "$M"
                until [ "$(quire status --json . | jq -r .gather.state)" = done ]; do sleep 0.02; done
                resolves 0 b/moved
                """)
        }

        @Test func whatNoStoreHasMadeIsForged() throws {
            try run(.root, """
                real=$bookmark
                for n in 0 1 5 20 60 $((${#real} / 2)) $((${#real} - 1)); do
                    other=$([ "${real:n:1}" = A ] && echo B || echo A); bookmark=${real:0:n}$other${real:n+1}; resolves 4
                done
                for bookmark in "$real=" "${real%?}" "$real$real" x '' "$(printf %04096d 0)" '../../etc/passwd' "$(printf 'ä%.0s' {1..90})"; do resolves 4; done
                grep -q 'no bookmark of a store that is mounted' "$T/said"
                expect_fails quire bookmark create a 2>"$T/said"; grep -q "a among the documents that you may read" "$T/said"
                expect_fails quire bookmark create nothing 2>/dev/null; expect_fails quire bookmark create /etc/passwd 2>"$T/said"; grep -q 'in no Quire mount' "$T/said"
                """)
        }

        /// A bookmark gives nobody any right.
        @Test func usersFindWhatTheyMayRead() throws {
            try withMount(prepare: Self.documents + "; chmod 755 . a b; chmod 644 a/doc a/other") { (mount: Mount) throws in
                try mount.scanned()
                try mount.shell(Self.functions + """
                    as() { setpriv --reuid=$1 --regid=$1 --clear-groups -- "${@:2}"; }
                    [ "$(as \(Account.alice) quire bookmark resolve "$bookmark")" = "$M/a/doc" ]
                    chmod 600 a/doc; expect_status 3 as \(Account.alice) quire bookmark resolve "$bookmark" 2>/dev/null
                    expect_fails as \(Account.alice) quire bookmark create a/doc 2>/dev/null
                    mkdir -m 700 closed; mv a/doc closed/; chmod 644 closed/doc; expect_status 3 as \(Account.alice) quire bookmark resolve "$bookmark" 2>/dev/null
                    resolves 0 closed/doc
                    """)
            }
        }

        @Test(arguments: Account.allCases)
        func programsHaveThemToo(account: Account) throws {
            try run(account, """
                mark=$(CoordinatedProgram bookmark a/other); mv a/other b/
                [ "$(CoordinatedProgram resolve "$mark")" = "$M/b/other" ]; [ "$(quire bookmark resolve "$mark")" = "$M/b/other" ]
                cp -p b/other "$T/backup"; rm b/other a/link; expect_fails CoordinatedProgram resolve "$mark" >"$T/said"; grep -q 'is gone' "$T/said"
                cp -p "$T/backup" b/back; [ "$(CoordinatedProgram resolve "$mark")" = "stale $M/b/back" ]
                expect_fails CoordinatedProgram resolve "${mark%?}" >"$T/said"; grep -q 'no bookmark' "$T/said"
                """)
        }
    }
}
