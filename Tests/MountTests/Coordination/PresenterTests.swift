import TestSupport
import Testing

extension MountTests {
    /// Programs that show documents: asked before others read or write, and told of what others do.
    @Suite(.sharedMounts)
    struct PresenterTests {
        /// A presenter that a busy machine holds up is not given up.
        private func presentWithoutLimit(
            _ kind: SaveMount, prepare: String, _ program: String, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            try withMount(kind.account, kind.options + ["presenter-timeout=600"], prepare: prepare) { (mount: Mount) throws in
                try mount.python(PresenterScript.text + program, sourceLocation: sourceLocation)
            }
        }
        private func present(
            _ kind: SaveMount, prepare: String, _ program: String, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            try withSharedMount(kind, prepare: prepare) { (mount: Mount) throws in
                try mount.python(PresenterScript.text + program, sourceLocation: sourceLocation)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whoReadsSeesWhatWasTypedAMomentAgo(kind: SaveMount) throws {
            try presentWithoutLimit(kind, prepare: "echo saved >doc; echo other >other", """
                def save(question):
                    assert question["saves"] and question["access"] == "reading" and question["path"] == M + "/doc", question
                    open("doc", "w").write("typed\\n")
                    presenter.unsaved(False)
                presenter = Presenter("doc", answers=lambda question: save(question))
                assert run("cat doc").stdout == "saved\\n"
                for text in range(3):
                    presenter.unsaved(True)
                    # Its own, and those of another document, are not asked.
                    assert run("cat other").stdout == "other\\n" and len(presenter.questions) == text
                    assert run("cat doc").stdout == "typed\\n"
                    assert len(presenter.questions) == text + 1
                open("doc").read()
                """)
        }

        /// Another file stands under the name then.
        @Test(arguments: SaveMount.accounts, ["rename", "claim"])
        func itMaySaveByAnotherFile(kind: SaveMount, way: String) throws {
            try presentWithoutLimit(kind, prepare: "echo saved >doc", """
                service, count = Service(), 0
                def save(question):
                    global count
                    count += 1
                    if "\(way)" == "claim":
                        claim = service.call("Coordination.Claim", intents=[{"path": M + "/doc", "access": "writing"}])["claim"]
                        open("doc", "w").write(f"typed {count}\\n")
                        service.call("Coordination.Release", claim=claim)
                    else:
                        open("doc.new", "w").write(f"typed {count}\\n")
                        os.rename("doc.new", "doc")
                    presenter.unsaved(False)
                presenter = Presenter("doc", answers=save)
                for number in range(1, 5):
                    presenter.unsaved(True)
                    seen = run("cat doc").stdout
                    assert seen == f"typed {number}\\n", (number, seen)
                """)
        }

        /// Who claims it for reading and writing finds what was typed, and nothing is written over it later.
        @Test(arguments: SaveMount.accounts)
        func aCommandThatClaimsItFindsWhatWasTyped(kind: SaveMount) throws {
            try presentWithoutLimit(kind, prepare: "echo saved >doc", """
                def save(question):
                    if not question["saves"]: return
                    open("doc", "w").write("typed\\n")
                    presenter.unsaved(False)
                presenter = Presenter("doc", answers=save, unsaved=True)
                result = run("quire coordinate --write doc -- sh -c 'cat doc; echo claimed >>doc; cat doc'; sleep 0.3; cat doc")
                assert result.stdout == "typed\\ntyped\\nclaimed\\ntyped\\nclaimed\\n", result.stdout
                assert len(presenter.questions) == 1, presenter.questions
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func whoDoesNotAnswerIsWaitedForOnce(kind: SaveMount) throws {
            try present(kind, prepare: "echo saved >doc", """
                presenter = Presenter("doc", unsaved=True)
                result, time_taken = timed("cat doc")
                assert result.stdout == "saved\\n" and 1.5 < time_taken, time_taken
                for _ in range(3): assert run("cat doc").stdout == "saved\\n"
                assert len(presenter.questions) == 1, presenter.questions
                # Late, and asked again from then on.
                presenter.call("Answer", presenter=presenter.id, question=presenter.questions[0]["id"])
                result, time_taken = timed("cat doc")
                assert 1.5 < time_taken and len(presenter.questions) == 2, (time_taken, presenter.questions)
                """)
        }

        /// It has let go of the item, and is to have it back.
        @Test(arguments: SaveMount.accounts)
        func whoAnswersTooLateIsToldThatTheClaimIsOver(kind: SaveMount) throws {
            try present(kind, prepare: "echo saved >doc", """
                presenter = Presenter("doc", answers=lambda question: time.sleep(2.5))
                result, time_taken = timed("quire coordinate --write doc -- true")
                assert result.returncode == 0 and 1.5 < time_taken, time_taken
                eventually(lambda: presenter.over)
                assert presenter.over == [presenter.questions[0]["id"]], presenter.over
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func nobodyWaitsForAPresenterThatCrashes(kind: SaveMount) throws {
            try presentWithoutLimit(kind, prepare: "echo saved >doc", """
                reading, writing = os.pipe()
                child = os.fork()
                if child == 0:
                    presenter = Presenter("doc", unsaved=True); os.write(writing, b"!"); time.sleep(60)
                os.read(reading, 1)
                threading.Timer(0.4, lambda: os.kill(child, 9)).start()
                result, time_taken = timed("cat doc")
                assert result.stdout == "saved\\n" and 0.2 < time_taken, time_taken
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func bulkReadersAndWorkersDoNotAsk(kind: SaveMount) throws {
            try present(kind, prepare: "mkdir many; for n in $(seq 40); do echo $n >many/$n; done; echo saved >many/zdoc", """
                presenter = Presenter("many/zdoc", unsaved=True)
                run("nice -n 19 cat many/zdoc"); run("cat many/[0-9]* many/zdoc")
                assert not presenter.questions
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func aClaimHasItRelinquishTheItem(kind: SaveMount) throws {
            try present(kind, prepare: "echo saved >doc", """
                presenter = Presenter("doc", answers=lambda question: None)
                assert run("quire coordinate --write doc --option moving -- sh -c 'echo new >doc'").returncode == 0
                question = presenter.questions[0]
                assert question["access"] == "writing" and not question["saves"] and not question["deletes"], question
                eventually(lambda: presenter.over == [question["id"]])
                run("quire coordinate --write doc -- true"); assert presenter.questions[1]["saves"]
                run("quire coordinate --write doc --option deleting -- rm doc"); assert presenter.questions[2]["deletes"]
                run("quire coordinate --read doc -- true"); assert presenter.questions[3]["saves"]
                run("quire coordinate --read doc --option withoutChanges -- true"); assert not presenter.questions[4]["saves"]
                run("quire coordinate --read doc --option immediately -- true"); assert len(presenter.questions) == 5
                # It may save while the claim keeps others out.
                def save(question):
                    with open("doc", "w") as file: file.write("typed")
                presenter.answers = save
                assert run("quire coordinate --write doc --option merging -- cat doc").stdout == "typed"
                presenter.answers = lambda question: "the disk is full"
                result = run("quire coordinate --write doc -- true")
                assert result.returncode == 1 and "could not let it go: the disk is full" in result.stderr, result
                """)
        }

        @Test(arguments: SaveMount.accounts)
        func itIsToldOfWhatOthersDo(kind: SaveMount) throws {
            // Made in the store, long ago as far as the mount knows: what was made just now and is moved aside is no document.
            try withMount(kind.account, kind.options, prepare: "echo old >doc; mkdir folder; echo old >folder/in") { mount in
                try mount.python(PresenterScript.text + """
                    presenter = Presenter("doc"); package = Presenter("folder", contents=True)
                    def does(command, *events):
                        presenter.events.clear(); package.events.clear()
                        run(command)
                        eventually(lambda: set(events) <= set(presenter.events + package.events), lambda: presenter.events + package.events)
                    # As vim saves.
                    aside = "import os; os.rename('doc', 'doc~'); open('doc', 'w').write('anew'); os.remove('doc~')"
                    does("python3 -c \\"%s\\"" % aside, ("moved", "doc", "doc~"), ("appeared", "doc~", "doc"), ("changed", None, "doc"))
                    does("echo new >doc", ("changed", None, "doc"))
                    does("mv doc moved", ("moved", "doc", "moved"))
                    does("echo new >new; mv new moved", ("changed", None, "moved"))
                    does("setfattr -n user.xdg.tags -v work moved", ("attributesChanged", None, "moved"))
                    does("mv moved folder/doc", ("moved", "moved", "folder/doc"))
                    assert ("moved", "moved", "folder/doc") in presenter.events + package.events
                    does("mv folder pack", ("moved", "folder", "pack"))
                    does("echo new >pack/doc", ("changed", None, "pack/doc"))
                    # Both are told, each by a connection of its own.
                    eventually(lambda: ("changed", None, "pack/doc") in presenter.events, lambda: presenter.events)
                    does("rm -r pack", ("deleted", None, "pack/in"), ("deleted", None, "pack"))
                    # Its own doings it knows.
                    os.mkdir("pack"); open("pack/own", "w").write("own"); time.sleep(0.3)
                    assert not [event for event in package.events if "own" in event[2] and event[0] == "changed"], package.events
                    """)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func itPresentsManyItems(kind: SaveMount) throws {
            try present(kind, prepare: "echo old >doc", """
                presenter = Presenter("doc")
                for number in range(10_000): presenter.present("item%d" % number)
                run("echo new >item9999; echo new >doc")
                eventually(lambda: ("changed", None, "doc") in presenter.events and ("appeared", None, "item9999") in presenter.events)
                other = Service()
                try:
                    other.call("Presenters.Withdraw", session=presenter.session, presenter=999999999); assert False
                except RuntimeError as error: assert "NotFound" in str(error)
                """)
        }

        @Test func theSessionsOfOthersAreInaccessible() throws {
            try withMount(prepare: "echo public >doc; mkdir private; echo secret >private/doc; chmod 700 private") { mount in
                let user = try #require(Account.user.uid)
                try mount.shell("cd /; mkdir \"$T/out\"; chmod 777 \"$T/out\"")
                try mount.python(PresenterScript.text + """
                    try:
                        Presenter("private/doc"); assert False
                    except RuntimeError as error: assert "PermissionDenied" in str(error)
                    Presenter("", contents=True); Presenter("doc")
                    """, as: user)
                try mount.python(PresenterScript.text + """

                    presenter = Presenter("doc")
                    child = os.fork()
                    if child == 0:
                        os.setgid(\(user)); os.setuid(\(user))
                        try: Service().call("Presenters.SetUnsaved", session=presenter.session, presenter=presenter.id, unsaved=True)
                        except RuntimeError as error: os._exit(0 if "NotFound" in str(error) else 1)
                        os._exit(2)
                    assert os.waitpid(child, 0)[1] == 0
                    """)
                // What is in a folder that they may not list is not told.
                try mount.python(PresenterScript.text + """
                    child = os.fork()
                    if child == 0:
                        os.setgid(\(user)); os.setuid(\(user))
                        everything = Presenter("", contents=True)
                        open(os.environ["T"] + "/out/listening", "w")
                        eventually(lambda: any(path == "last" for _, _, path in everything.events))
                        os._exit(1 if any("private" in (path or "") for _, old, new in everything.events for path in (old, new)) else 0)
                    eventually(lambda: os.path.exists(os.environ["T"] + "/out/listening"))
                    run("echo new >private/doc; echo new >private/new; mv doc last")
                    assert os.waitpid(child, 0)[1] == 0
                    """)
            }
        }
    }
}
