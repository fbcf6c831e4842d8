import TestSupport
import Testing

extension MountTests {
    /// A saver that is killed leaves the document as it was.
    @Suite(.sharedMounts)
    struct KilledSaverTests {
        static let nothingWrong = "mixed 0 lost 0 published 0 failed 0"
        /// All that end a process but PIPE, which never discards.
        static let signals = "KILL TERM INT HUP SEGV ABRT BUS ILL FPE SYS TRAP QUIT ALRM USR1 USR2 XCPU RTMIN IO VTALRM"
        /// Fourteen cases: a thousand killed savers and more.
        static let saversOfEach = isLongRun ? 80 : 38

        enum Style: String, CaseIterable, Sendable {
            case plain, threads
            /// Its /proc is closed to a daemon without rights.
            case nondumpable
            /// It enters a user namespace of its own.
            case namespace
            /// It changes to another user after its first write.
            case setuid
            /// It is of another user from the beginning.
            case other

            var needsRoot: Bool { self == .setuid || self == .other }
        }
        static let cases: [(SaveMount, Style)] = SaveMount.allCases.flatMap { kind in
            Style.allCases.filter { kind.account == .root || !$0.needsRoot }.map { (kind, $0) }
        }

        @Test(arguments: cases)
        func theDocumentIsAsItWas(kind: SaveMount, style: Style) throws {
            try withSharedMount(kind, prepare: "echo old >doc; chmod 666 doc") { (mount: Mount) throws in
                #expect(try mount.shell(
                    "SaveExerciser killed doc \(Self.saversOfEach) \(style) 800 \(Self.signals)", limit: .seconds(600)
                ) == Self.nothingWrong)
            }
        }

        /// Savers that cut the document to nothing on a descriptor opened without O_TRUNC, or open it through /proc/self/fd: no LOOKUP follows.
        @Test(arguments: SaveMount.allCases, ["late", "reopened"])
        func whoeverBeginsOnADescriptorHarmsNothingEither(kind: SaveMount, start: String) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell(
                    "START=\(start) SaveExerciser killed doc \(isLongRun ? 200 : 38) plain 800 \(Self.signals)", limit: .seconds(600)
                ) == Self.nothingWrong)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func exitingWithoutClosingPublishes(kind: SaveMount) throws {
            try withSharedMount(kind) { (mount: Mount) throws in
                #expect(try mount.shell("SaveExerciser killed doc \(isLongRun ? 200 : 20) exits 100 KILL") == Self.nothingWrong)
            }
        }

        @Test(arguments: SaveMount.accounts)
        func attributesOfADocumentStayWhenItsSaverIsKilled(kind: SaveMount) throws {
            let prepare = "echo old >doc; chmod 640 doc; setfattr -n user.xdg.tags -v tag doc; touch -d 2001-02-03 doc"
            try withSharedMount(kind, prepare: prepare) { (mount: Mount) throws in
                #expect(try mount.shell("""
                    facts() { stat -c '%i %a %u %s %y %h' doc; getfattr --only-values -n user.xdg.tags doc; cat doc; }
                    facts >"$T/before"; (exec 3>doc; echo half >&3; kill -9 $BASHPID) || echo $?
                    facts >"$T/after"; cmp "$T/before" "$T/after"
                    """) == "137")
            }
        }

        /// `(exec 3>doc; ...)`: a shell that opens, writes and dies itself is not redirected.
        @Test(arguments: SaveMount.accounts)
        func theNextSaverStartsFromTheOldVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    (exec 3>doc; echo half >&3; kill -9 $BASHPID) || true; cat doc; echo more >>doc; cat doc
                    (exec 3>doc; kill -9 $BASHPID) || true; cat doc; echo new >doc; cat doc
                    """) == "old\nold\nmore\nold\nmore\nnew")
            }
        }

        /// What a child got by fork and never used does not hold up what its killed parent began.
        @Test(arguments: SaveMount.accounts)
        func aChildThatOnlyKeepsTheDescriptorSavesNothing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.python("""
                    import os, signal, time
                    ends = os.pipe(); saver = os.fork()
                    if saver == 0:
                        file = os.open("doc", os.O_WRONLY | os.O_TRUNC); os.write(file, b"half\\n")
                        keeper = os.fork()
                        if keeper == 0: time.sleep(60); os._exit(0)
                        os.write(ends[1], b"%d\\n" % keeper); time.sleep(60)
                    keeper = int(os.read(ends[0], 20))
                    os.kill(saver, signal.SIGKILL); os.waitpid(saver, 0)
                    print(open("doc").read(), end=""); os.kill(keeper, signal.SIGTERM); time.sleep(0.1)
                    print(open("doc").read(), end="")
                    """) == "old\nold")
            }
        }

        /// Its own lineage saw the new content, and is back at the old one.
        @Test(arguments: SaveMount.accounts)
        func aShellWhoseSaverIsKilledSeesTheOldVersion(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "echo old >doc") { (mount: Mount) throws in
                #expect(try mount.shell("""
                    (exec 3>doc; echo half >&3; cat doc; kill -9 $BASHPID) || true; cat doc; stat -c %s doc
                    """) == "half\nold\n4")
            }
        }
    }
}
