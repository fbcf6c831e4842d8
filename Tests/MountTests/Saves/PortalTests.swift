import TestSupport
import Testing

extension MountTests {
    /// xdg-document-portal, by whose mount sandboxed apps open documents. It opens each through /proc/self/fd, by a descriptor that it keeps,
    /// answers FLUSH with nothing, and closes later.
    @Suite(.sharedMounts)
    struct PortalTests {
        /// Runs a script with the document shared with two apps: $ONE and $TWO are the paths that they have, $PORTAL is the process.
        private func shell(
            _ mount: Mount, _ document: String, _ script: String, limit: Duration = .seconds(300)
        ) throws -> String {
            try mount.shell(Self.portal + "\n" + """
                cat >"$T/script" <<'END_OF_SCRIPT'
                \(script)
                END_OF_SCRIPT
                dbus-run-session -- /usr/bin/python3 "$T/portal" \(document) "$T/script" test.One test.Two
                """, limit: limit)
        }

        private static let portal = """
            cat >"$T/portal" <<'END_OF_PORTAL'
            import os, signal, subprocess, sys, time
            from gi.repository import Gio, GLib
            name, path, interface = "org.freedesktop.portal.Documents", "/org/freedesktop/portal/documents", "org.freedesktop.portal.Documents"
            document, script, apps = sys.argv[1], sys.argv[2], sys.argv[3:]
            bus = Gio.bus_get_sync(Gio.BusType.SESSION)
            # The bus starts it.
            folder = bytes(bus.call_sync(name, path, interface, "GetMountPoint", None, None, 0, 60000).unpack()[0]).rstrip(b"\\0").decode()
            portal = bus.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixProcessID",
                                   GLib.Variant("(s)", (name,)), None, 0, 60000).unpack()[0]
            files = Gio.UnixFDList.new(); index = files.append(os.open(document, os.O_PATH))
            environment = dict(os.environ, PORTAL=str(portal))
            for app, variable in zip(apps, ["ONE", "TWO"]):
                asked = GLib.Variant("(ahusas)", ([index], 1, app, ["read", "write"]))
                answer, _ = bus.call_with_unix_fd_list_sync(name, path, interface, "AddFull", asked, None, 0, 5000, files, None)
                environment[variable] = "%s/by-app/%s/%s/%s" % (folder, app, answer.unpack()[0][0], os.path.basename(document))
            status = subprocess.call(["bash", "-c", 'source "$PRELUDE"; source "$0"', script], env=environment)
            try: os.kill(portal, signal.SIGTERM)
            except ProcessLookupError: pass
            while os.path.exists("/proc/%d" % portal): time.sleep(0.05)
            subprocess.call(["fusermount3", "-u", "-z", folder], stderr=subprocess.DEVNULL)
            sys.exit(status)
            END_OF_PORTAL
            """

        /// With a second app that saves too, every open for reading still finds a whole version. What is opened through /proc/self/fd while
        /// another inode is saved in its place may be extended with zeros by the kernel (quire help saves, "Limits").
        @Test(arguments: SaveMount.allCases)
        func noReadIsTornOfASaveByAnApp(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "SaveExerciser version doc") { (mount: Mount) throws in
                #expect(try shell(mount, "doc", """
                    SAVER_PATH=$ONE SaveExerciser torn doc 1 \(isLongRun ? 16_700 : 40) 262144 300 \(TornReadTests.readers)
                    SAVER_PATH=$TWO SaveExerciser loop "$TWO" 65536 300 & second=$!
                    SAVER_PATH=$ONE SaveExerciser torn doc 2 20 262144 300 read pread | sed 's/older [0-9]*/older N/'; kill $second
                    """, limit: .seconds(3600)) == TornReadTests.noneTorn + "\n" + TornReadTests.noneTorn.replacing("older 0", with: "older N"))
            }
        }

        /// It has a FUSE device open, and opens documents by descriptors that it keeps. Both apps have one inode of its mount, with one
        /// size, so the versions are of one size.
        @Test(arguments: SaveMount.accounts)
        func aPortalIsRecognisedByWhatItDoes(kind: SaveMount) throws {
            try withMount(kind.account, kind.options + ["relay=none"], prepare: "printf old >doc") { (mount: Mount) throws in
                #expect(try shell(mount, "doc", """
                    quire status . | grep 'relays '
                    printf first >"$ONE"; eventually '[ "$(cat doc)" = first ]'
                    quire status . | grep 'relays '
                    exec 5>"$ONE"; printf other >&5; cat "$TWO" doc; exec 5>&-
                    """) == "  relays       none\n  relays       xdg-document-po\nfirstfirst")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func anAppReadsWholeVersionsOfASaverBeneath(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "SaveExerciser version doc") { (mount: Mount) throws in
                #expect(try shell(mount, "doc", """
                    SaveExerciser loop doc 262144 300 & saver=$!
                    for n in $(seq \(isLongRun ? 4000 : 200)); do SaveExerciser check "$ONE"; done; kill $saver; echo read
                    """, limit: .seconds(600)) == "read")
            }
        }

        /// It looks as if the app had closed the document. The version before is kept.
        @Test(arguments: SaveMount.accounts)
        func whatAKilledAppSavedOverIsKept(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf 'old version' >over") { (mount: Mount) throws in
                #expect(try shell(mount, "over", """
                    python3 -c 'import os; file = os.open(os.environ["ONE"], os.O_WRONLY | os.O_TRUNC); os.write(file, b"half"); os.kill(os.getpid(), 9)' || true
                    eventually '[ "$(cat over)" = half ]'
                    reason_kept over
                    quire recover restore $(quire recover list over | cut -d' ' -f1) >/dev/null; cat over
                    """) == "\"reason\" : \"relayed\",\nold version")
            }
        }

        @Test(arguments: SaveMount.accounts)
        func aPortalThatIsKilledHarmsNothing(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf 'old version' >cut") { (mount: Mount) throws in
                #expect(try shell(mount, "cut", """
                    exec 5>"$ONE"; printf half >&5; cat cut; echo; kill -9 $PORTAL
                    reason_kept cut; cat cut
                    """) == "old version\n\"reason\" : \"killed\",\nold version")
            }
        }

        /// An app in a sandbox of Flatpak's kind has the portal's folder alone. The portal refuses locks itself (ENOSYS).
        @Test(arguments: SaveMount.accounts)
        func anAppInASandboxSavesInEveryWay(kind: SaveMount) throws {
            try withSharedMount(kind, prepare: "printf old >doc") { (mount: Mount) throws in
                #expect(try shell(mount, "doc", """
                    seen() { expected=$1; eventually '[ "$(cat doc)" = "$expected" ]'; echo "$1"; }
                    inside() {
                        bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev \\
                            --bind "$(dirname "$(dirname "$ONE")")" /documents --chdir "/documents/$(basename "$(dirname "$ONE")")" -- "$@"
                    }
                    inside sh -c 'cat doc; printf over >doc'; seen over; inside cat doc
                    inside sh -c 'printf renamed >.doc.new; mv .doc.new doc; cat doc'; seen renamed
                    inside python3 -c '
                    import mmap, os
                    file = os.open("doc", os.O_RDWR | os.O_TRUNC); os.ftruncate(file, 6); content = mmap.mmap(file, 6); content[:] = b"mapped"
                    content.flush(); content.close(); os.close(file)'; seen mapped
                    inside sh -c 'cat doc'
                    """) == "oldover\noverrenamedrenamed\nmapped\nmapped")
            }
        }
    }
}
