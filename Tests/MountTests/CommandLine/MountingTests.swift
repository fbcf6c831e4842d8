import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Ways to mount and to end a mount.
    struct MountingTests {
        @Test(arguments: Account.allCases, [false, true])
        func mountingAnswersAtOnceAndUnmountingLeavesNothing(account: Account, inPlace: Bool) throws {
            try withMount(account, inPlace: inPlace, prepare: "echo text >doc") { mount in
                #expect(try mount.shell("cat doc") == "text")
                #expect(try mount.shell("findmnt -n -o FSTYPE,SOURCE \"$M\"").split(separator: " ").map(String.init)
                    == ["fuse.quire", mount.store])
                try mount.unmount()
                #expect(!mount.isMounted)
                #expect(try mount.shell("ls \"$M\"", in: "/") == (inPlace ? "doc" : ""))
                #expect(Mount.hasEnded(try #require(mount.daemon)))
                #expect(try mount.shell("ls -A \"$S\"", in: "/") == "doc")
            }
        }

        @Test(arguments: Account.allCases, ["umount", "fusermount3 -u", "umount -l"])
        func otherCommandsUnmountToo(account: Account, command: String) throws {
            // util-linux unmounts for an ordinary user through fusermount3's record only where there is one.
            if account == .user && command != "fusermount3 -u" { return }
            try withMount(account, prepare: "echo text >doc") { mount in
                try mount.shell("\(command) \"$M\"", in: "/")
                #expect(!mount.isMounted)
                eventually { mount.daemon.map(Mount.hasEnded) ?? false }
            }
        }

        @Test(arguments: Account.allCases, [SIGTERM, SIGINT, SIGHUP])
        func signalsUnmountCleanly(account: Account, signal: Int32) throws {
            try withMount(account, prepare: "echo text >doc") { mount in
                try mount.shell("echo more >>doc; mkdir .tags/tag; ln doc .tags/tag/")
                kill(try #require(mount.daemon), signal)
                eventually { !mount.isMounted }
                try mount.mount()
                try mount.expectNames(["doc"], in: ".tags/tag")
                try mount.expectNames(["doc"], in: ".recents")
            }
        }

        @Test(arguments: Account.allCases)
        func inTheForegroundItEndsWithItsSignal(account: Account) throws {
            let mount = try Mount(account)
            defer { mount.end() }
            try mount.shell("""
                quire mount "$S" "$M" --foreground 2>"$T/log" & daemon=$!
                eventually mountpoint -q "$M"; kill -INT $daemon; wait $daemon; expect_fails mountpoint -q "$M"
                """, in: "/")
        }

        /// As systemd starts it (Type=notify), with a socket that has a path or an abstract name.
        @Test(arguments: ["/", "@"])
        func theServiceManagerIsToldWhenTheMountAnswers(kind: String) throws {
            let mount = try Mount(.user)
            defer { mount.end() }
            #expect(try mount.python("""
                import os, socket, subprocess
                S, M, T = (os.environ[name] for name in "SMT")
                notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); notices.settimeout(60)
                name = T + "/notify"; notices.bind(name if "\(kind)" == "/" else "\\0" + name)
                environment = dict(os.environ, NOTIFY_SOCKET=name if "\(kind)" == "/" else "@" + name)
                daemon = subprocess.Popen(["quire", "mount", S, M, "--foreground"], env=environment, stderr=open(T + "/log", "w"))
                print(notices.recv(4096).decode().split("\\n")[0], os.path.ismount(M))
                daemon.terminate(); print(notices.recv(4096).decode(), daemon.wait())
                """, in: "/") == "READY=1 True\nSTOPPING=1 0")
        }

        @Test(arguments: ["mkdir", "touch", "ln -s /var"])
        func nobodyKeepsOthersFromMountingByANameInTmp(command: String) throws {
            let mount = try Mount(.user)
            defer { mount.end() }
            let place = "/tmp/quire-\(try mount.shell("id -u", in: "/"))"
            try #require(access(place, F_OK) != 0, "\(place) is there")
            try mount.shell("\(command) \(place)", in: "/", as: 0)
            defer { unlink(place); rmdir(place) }
            try mount.shell("""
                unset XDG_RUNTIME_DIR; quire mount "$S" "$M"; echo text >"$M/doc"
                quire status "$M" | grep -F "$M" >/dev/null; quire tag add work "$M/doc"; ls "$M/.tags/work" | grep -x doc
                quire unmount "$M"
                """, in: "/")
        }

        @Test func aBusyMountIsKeptAndItsHoldersAreNamed() throws {
            try withMount(prepare: "echo text >doc") { mount in
                let result = try mount.attempt("""
                    exec 9<doc; sleep 30 & sleeper=$!; cd /; status=0; quire unmount "$M" || status=$?
                    echo $status $$ $sleeper; cat <&9; kill $sleeper; wait $sleeper 2>/dev/null || true
                    """)
                let words = result.output.split { $0 == " " || $0 == "\n" }.map(String.init)
                #expect(words.count == 4 && words.first == "2" && words.last == "text", "\(result)")
                for pid in words.dropFirst().prefix(2) { #expect(result.errors.contains("process \(pid) (")) }
                #expect(result.errors.contains("busy, nothing was changed"))
                #expect(mount.isMounted)
                #expect(try mount.shell("cat doc") == "text")
            }
        }

        @Test func aMountInsideIsNamed() throws {
            try withMount(prepare: "mkdir folder") { mount in
                try mount.shell("mount -t tmpfs inner folder")
                defer { _ = try? mount.shell("umount folder") }
                let result = try mount.attempt("cd /; quire unmount $M")
                #expect(result.status == 2 && result.errors.contains("  mount \(mount.path)/folder (tmpfs)"), "\(result)")
                #expect(!result.errors.contains("  process ") && mount.isMounted, "\(result)")
            }
        }

        @Test func aMountThatAContainerHasTooGoesOnThere() throws {
            try withMount(prepare: "echo text >doc") { mount in
                let result = try mount.attempt("""
                    coproc unshare -m bash -c 'echo there; read line; cat "$M/doc"; read line'
                    container=$COPROC_PID; exec 7<&${COPROC[0]} 8>&${COPROC[1]}; head -1 <&7 | grep -q there
                    cd /; quire unmount "$M"; expect_fails mountpoint -q "$M"
                    echo >&8; head -1 <&7; echo $container; kill -0 \(try #require(mount.daemon)); echo >&8; wait $container
                    """)
                let lines = result.output.split(separator: "\n")
                #expect(lines.count == 2 && lines.first == "text", "\(result)")
                #expect(result.errors.contains("process \(lines.last ?? "") (") && result.errors.contains("mounted elsewhere too"))
                eventually { mount.daemon.map(Mount.hasEnded) ?? false }
            }
        }

        @Test(arguments: Account.allCases)
        func lazyUnmountingFreesThePlaceAndEndsWithTheLastUser(account: Account) throws {
            try withMount(account, prepare: "echo text >doc") { mount in
                try mount.shell("""
                    exec 9>>doc; cd /; quire unmount --lazy "$M"; expect_fails mountpoint -q "$M"; ls "$M" | wc -l | grep -x 0
                    echo late >&9; kill -0 \(try #require(mount.daemon))
                    """)
                eventually { mount.daemon.map(Mount.hasEnded) ?? false }
                #expect(try mount.shell("cat doc", in: mount.store) == "text\nlate")
            }
        }

        @Test(arguments: Account.allCases, ["unmount", "mount"])
        func aMountWhoseDaemonDiedIsRepaired(account: Account, command: String) throws {
            try withMount(account, prepare: "echo text >doc") { mount in
                let daemon = try #require(mount.daemon)
                kill(daemon, SIGKILL)
                eventually { Mount.hasEnded(daemon) }
                try eventually {
                    try mount.attempt("ls \"$M\"", in: "/").errors.contains("Transport endpoint is not connected")
                }
                #expect(try mount.quire("status").output.contains("dead: "))
                if command == "unmount" {
                    try mount.unmount()
                    #expect(!mount.isMounted)
                } else {
                    try mount.mount()
                    #expect(try mount.shell("cat doc") == "text")
                    let table = try readFile("/proc/self/mounts")
                    #expect(table.split(separator: "\n").filter { $0.contains(" \(mount.path) ") }.count == 1)
                }
            }
        }

        @Test func aMountInPlaceWhoseDaemonDiedIsRepaired() throws {
            try withMount(inPlace: true, prepare: "echo text >doc") { mount in
                kill(try #require(mount.daemon), SIGKILL)
                eventually { mount.daemon.map(Mount.hasEnded) ?? false }
                try mount.mount()
                #expect(try mount.shell("cat doc") == "text")
            }
        }

        /// mount(8) looks for the program in the system's folders only: there has to be one while `body` runs.
        private func installed(_ body: () throws -> Void) throws {
            let place = "/usr/local/bin/quire"
            var isOurs = false
            if access(place, X_OK) != 0, access("/usr/bin/quire", X_OK) != 0 {
                unlink(place)
                isOurs = symlink(Products.folder + "/quire", place) == 0
            }
            defer { if isOurs { unlink(place) } }
            try body()
        }

        @Test func mountingByTheSystemsCommandWorks() throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            try installed {
                try mount.shell("mount -t fuse.quire \"$S\" \"$M\" -o allow_other,virtual=hidden; touch \"$M/doc\"", in: "/")
            }
            try mount.noteDaemon()
            #expect(try mount.shell("ls -A; ls -d .tags") == "doc\n.tags")
            try mount.shell("umount \"$M\"", in: "/")
        }

        @Test func aLineOfFstabWorks() throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            try installed { try mount.shell("""
                echo "$S $M fuse.quire allow_other,noauto,nofail,x-systemd.automount,nosuid,passthrough=off 0 0" >"$T/fstab"
                mount -T "$T/fstab" "$M"; touch "$M/doc"; findmnt -n -o OPTIONS "$M" | tr , '\\n' | grep -x nosuid
                """, in: "/") }
            try mount.noteDaemon()
            #expect(try mount.shell("ls", as: Account.alice) == "doc")
            #expect(try mount.quire("status", "--json", mount.path).output.contains("\"passthrough\" : false"))
            try mount.shell("umount \"$M\"", in: "/")
        }

        @Test(arguments: Account.allCases)
        func aReadOnlyMountChangesNothing(account: Account) throws {
            try withMount(account, ["ro"], prepare: "echo text >doc; setfattr -n user.xdg.tags -v tag doc") { mount in
                try mount.scanned()
                #expect(try mount.shell("cat doc") == "text")
                for script in ["echo new >new", "echo more >>doc", "rm doc", "mkdir d", "mkdir .tags/b", "chmod 600 doc", "rm .tags/tag/doc"] {
                    try mount.refuses(script, "Read-only file system")
                }
                #expect(try mount.names(in: ".tags") == ["tag"])
                try mount.shell("echo beneath >>doc", in: mount.store)
                try eventually { try mount.shell("cat doc") == "text\nbeneath" }
            }
        }

        @Test func othersAreKeptOutUnlessAllowed() throws {
            try withMount(.root, [], prepare: "echo text >doc; chmod 644 doc") { mount in
                let result = try mount.attempt("cat \"$M/doc\"", in: "/", as: Account.alice)
                #expect(result.errors.contains("Permission denied"))
            }
        }

        @Test func aFileSystemMountedInTheStoreIsEntered() throws {
            let mount = try Mount(.root)
            defer {
                mount.end()
                umount2(mount.store + "/inner", Int32(MNT_DETACH))
            }
            try mount.shell("mkdir inner; mount -t tmpfs -o size=4m quire-test inner; echo text >inner/doc", in: mount.store)
            try mount.mount()
            #expect(try mount.shell("cat inner/doc; echo more >>inner/doc; cp inner/doc copy; mv inner/doc moved; cat moved; ls inner")
                == "text\ntext\nmore")
            #expect(try mount.shell("""
                python3 -c 'import os
                open("a", "w")
                try: os.rename("a", "inner/a")
                except OSError as error: print(error.strerror)'
                """) == "Invalid cross-device link")
        }

        /// A limit of whoever mounts is for their own programs: it ends no daemon, and root's is nobody else's.
        @Test(arguments: Account.allCases)
        func limitsOfWhoMountsEndNoDaemon(account: Account) throws {
            let mount = try Mount(account)
            defer { mount.end() }
            let options = (account.options + ["restart=off"]).map { " -o \($0)" }.joined()
            try mount.shell("ulimit \(account == .root ? "-S -f 64" : "-f 2000"); quire mount \"$S\" \"$M\"" + options, in: "/")
            try mount.noteDaemon()
            let save = try mount.attempt("head -c 3000000 /dev/zero >doc")
            #expect(account == .root ? save.status == 0 : save.errors.contains("File too large"), "\(save)")
            #expect(try mount.shell("echo text >small; cat small") == "text")
        }
    }
}
