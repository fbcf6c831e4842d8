import TestSupport
import Testing

extension MountTests {
    /// What could lose or show something of what is saved within claims.
    @Suite(.sharedMounts)
    struct GroupCornerTests {
        private func run(_ kind: SaveMount, _ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try WithinClaim.run(kind, script, sourceLocation: sourceLocation)
        }

        @Test(arguments: SaveMount.accounts)
        func anInnerClaimThatIsDiscardedTakesNothingOfTheOuterOnes(kind: SaveMount) throws {
            try run(kind, """
                inside <<'END'
                quire coordinate --write one -- sh -c 'echo inner >one; touch "$T/inner"; sleep 1; test "$(cat one)" = inner && exit 3' &
                eventually [ -e "$T/inner" ]; echo outer >one; expect_status 3 wait $!; [ "$(cat one)" = outer ]
                outside <<<'[ "$(cat one)" = "old one" ]'
                END
                [ "$(cat one)" = outer ]
                """)
        }

        /// Neither was asked for within the other: what is published is published.
        @Test(arguments: SaveMount.accounts)
        func claimsOfOnePurposeDoNotPublishForEachOther(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >one") { (mount: Mount) throws in
                try mount.python(PresenterScript.text + """
                    first, second = Service(), Service()
                    item = [{"path": M + "/one", "access": "writing"}]
                    outer = first.call("Coordination.Claim", intents=item, purpose="shared")["claim"]
                    inner = second.call("Coordination.Claim", intents=item, purpose="shared")["claim"]
                    with open("one", "w") as file: file.write("saved")
                    second.call("Coordination.Release", claim=inner)
                    assert run("cat one").stdout == "saved"
                    first.call("Coordination.Release", claim=outer, discard=True)
                    assert run("cat one").stdout == "saved"
                    """)
            }
        }

        /// One process opens nothing: it truncates by name.
        @Test(arguments: SaveMount.accounts)
        func documentsTruncatedByNameAreTheClaimsToo(kind: SaveMount) throws {
            try run(kind, """
                status=0; inside <<'END' || status=$?
                python3 -c 'import os; os.truncate("one", 3); open("two", "r+").write("new"); os.truncate("two", 5)'
                [ "$(cat one two)" = 'oldnew t' ]
                outside <<<'[ "$(cat one two)" = "$(printf "old one\\nold two")" ]'
                exit 3
                END
                [ $status = 3 ]; [ "$(cat one two)" = "$(printf 'old one\nold two')" ]
                """)
        }

        /// A name that a claim gives to another file takes nothing from the file's other name.
        @Test(arguments: SaveMount.accounts)
        func aFileWhoseNameAClaimReplacesKeepsItsOtherName(kind: SaveMount) throws {
            try run(kind, """
                ln one other; ln two third; exec 3<other 4<third
                inside <<<'echo new >draft; mv draft one'
                inside <<<'echo newer >draft; mv draft one; echo new >draft; mv draft two'
                expect_equal "$(cat one two)" "$(printf 'newer\\nnew')"; sleep 0.2
                expect_equal "$(cat other) $(stat -c %h other) $(stat -L -c %h /dev/fd/3)" 'old one 1 1'
                expect_equal "$(cat third) $(stat -c %h third) $(stat -L -c %h /dev/fd/4)" 'old two 1 1'
                echo more >>other; expect_equal "$(tail -n 1 other)" more; rm other third
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aDocumentMovedOverAClaimedOneComesBack(kind: SaveMount) throws {
            try run(kind, """
                echo draft >draft; sleep 0.1
                for ending in 'exit 3' 'kill -9 $PPID $$'; do
                    echo "mv draft one; [ \\"\\$(cat one)\\" = draft ]; $ending" | inside || true
                    eventually [ -e draft ]
                    [ "$(cat one)" = 'old one' ]; [ "$(cat draft)" = draft ]; [ "$(ls | tr '\n' ' ')" = 'draft one two ' ]
                done
                echo draft2 >draft; rm draft
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func whatIsMovedAsideIsACopy(kind: SaveMount) throws {
            try run(kind, """
                status=0; inside <<'END' || status=$?
                mv one tmp; echo more >>tmp; mv tmp one; mv two two.bak; echo more >>two.bak; [ "$(wc -l <one)" = 2 ]
                outside <<<'[ "$(cat one two)" = "$(printf "old one\\nold two")" ]'
                exit 3
                END
                [ $status = 3 ]; [ "$(cat one two)" = "$(printf 'old one\nold two')" ]
                [ "$(stat -c %h one two two.bak | tr '\n' ' ')" = '1 1 1 ' ]; rm two.bak
                """)
        }

        /// A hidden version may be a document that others have.
        @Test(arguments: SaveMount.accounts)
        func keepingAVersionChangesNoOtherDocument(kind: SaveMount) throws {
            try run(kind, """
                echo shared >shared; chmod 644 shared one
                inside <<'END' &
                mv one two; ln shared new; echo $PPID $$ >"$T/saved.new"; mv "$T/saved.new" "$T/saved"; exec sleep 60
                END
                eventually [ -e "$T/saved" ]; kill -9 $(cat "$T/saved")
                eventually 'quire coordinate --write one --timeout 0 -- true 2>/dev/null'
                [ "$(stat -c '%a %h' shared one | tr '\n' ' ')" = '644 1 644 1 ' ]; rm shared
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func whatOthersChangeOfAttributesHolds(kind: SaveMount) throws {
            try run(kind, """
                chmod 644 one two
                inside <<'END'
                echo new >one; echo new >two; chmod 640 two; quire status . | grep '2 saved and not published yet'
                outside <<<'chmod 600 one two; setfattr -n user.xdg.tags -v other one'
                END
                [ "$(cat one two)" = "$(printf 'new\nnew')" ]; [ "$(stat -c %a one two | tr '\n' ' ')" = '600 640 ' ]
                [ "$(getfattr --only-values -n user.xdg.tags one)" = other ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func whatIsOpenedAndNotWrittenIsLetBe(kind: SaveMount) throws {
            try run(kind, """
                before=$(stat -c %i "$S/one")
                inside <<<'python3 -c "open(\\"one\\", \\"r+\\").close()"'
                [ "$(stat -c %i "$S/one")" = $before ]; [ "$(cat one)" = 'old one' ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func foldersAreMovedAtOnce(kind: SaveMount) throws {
            try run(kind, """
                mkdir folder folder/inner; echo a >folder/a; echo b >folder/inner/b; mkdir photos
                status=0; quire coordinate --write album -- sh -c 'mv photos album; exit 3' || status=$?
                [ $status = 3 ]; [ -d album ]; rmdir album
                quire coordinate --write folder --option replacing -- rm -r folder/inner; [ ! -e folder/inner ]; [ -e folder/a ]
                status=0; quire coordinate --write folder --option replacing -- sh -c 'rm folder/a; rmdir folder; exit 3' || status=$?
                [ $status = 3 ]; [ "$(cat folder/a)" = a ]
                """)
        }

        /// Who goes on after its claim has ended saves as everybody does, and what is claimed next is published.
        @Test(arguments: SaveMount.accounts)
        func whoIsLateSavesForItself(kind: SaveMount) throws {
            try run(kind, """
                for n in 1 2 3 4 5 6; do
                    inside <<<"(sleep 0.0$n; echo late \\$BASHPID >one) >/dev/null 2>\"$T/late\" & echo at once >two"
                    until grep -q late one; do if [ -s "$T/late" ]; then cat "$T/late" one; exit 1; fi; sleep 0.02; done; [ "$(cat two)" = 'at once' ]
                    inside <<<'echo next >one'; [ "$(cat one)" = next ]
                done
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aLargeCopyThatIsLateIsNobodys(kind: SaveMount) throws {
            try run(kind, """
                head -c 300M /dev/zero >one
                quire coordinate --write one -- sh -c '(printf x | dd of=one conv=notrunc 2>/dev/null) & sleep 0.05; kill -9 $PPID' || true
                eventually "quire coordinate --write one --timeout 0 -- sh -c 'echo next >one' 2>/dev/null"
                [ "$(cat one)" = next ]
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aLockOnTheDocumentExcludesThatOnItsCopy(kind: SaveMount) throws {
            try run(kind, """
                inside <<'END'
                echo more >>one
                outside <<<'flock one sh -c "touch $T/locked; sleep 1" >/dev/null 2>&1 & eventually [ -e "$T/locked" ]'
                expect_status 1 flock -n one true; flock -w 60 one true; rm "$T/locked"
                flock one sh -c 'touch "$T/locked"; until [ -e "$T/seen" ]; do sleep 0.02; done' & eventually [ -e "$T/locked" ]
                outside <<<'expect_status 1 flock -n one true'; touch "$T/seen"; wait $!; rm "$T/locked" "$T/seen"
                END
                flock -n one true
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func whatIsWrittenBesideIsKept(kind: SaveMount) throws {
            try run(kind, """
                inside <<'END'
                echo new >one; echo beside >>"$S/one"
                END
                [ "$(cat one)" = new ]; quire recover list . | grep -w one | grep -i saved
                """)
        }

        /// The kernel keeps the entry that a rename by another program moved to the claimed name, for as long as the daemon's process that
        /// has it forgotten gets no processor.
        @Test(arguments: SaveMount.accounts)
        func anOpenAfterTheClaimReadsItsVersionWhateverWasRenamedThere(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc") { (mount: Mount) throws in
                let daemon = try #require(mount.daemon)
                #expect(try mount.shell("""
                    quire coordinate --write doc -- sh -c 'echo claimed >doc; touch "$0/ready"; until [ -e "$0/go" ]; do sleep 0.02; done' "$T" & holder=$!
                    eventually [ -e "$T/ready" ]; echo theirs >their; mv their doc; cat doc; exec 3<doc
                    eventually 'helpers=$(pgrep -P \(daemon) -x quire-replay)'; trap 'kill -CONT $helpers' EXIT; kill -STOP $helpers
                    touch "$T/go"; wait $holder; cat doc; cat /proc/self/fd/3
                    """) == "theirs\nclaimed\ntheirs")
            }
        }

        /// A file system that cannot exchange names.
        @Test func groupsArePublishedWhereNamesCannotBeExchanged() throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            try mount.shell("mkdir \"$T/below\"; bindfs \"$T/below\" \"$S\"; echo old >\"$S/one\"; echo old >\"$S/two\"", in: "/")
            defer { _ = try? mount.attempt("umount -l \"$S\"", in: "/") }
            try mount.mount(Account.root.options)
            try mount.shell("""
                for round in 1 2 3; do
                    quire coordinate --write one --write two --write new -- sh -c "echo $round >one; echo $round >two; echo $round >new"
                    [ "$(cat one two new | sort -u)" = $round ]; [ "$(ls "$T/below" | tr '\\n' ' ')" = 'new one two ' ]
                done
                """)
            mount.end()
        }
    }
}
