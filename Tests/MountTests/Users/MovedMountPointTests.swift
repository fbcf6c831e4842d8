import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Whoever may rename a folder on a mount point's path decides where the path leads. Root's daemon and its processes go by what they
    /// have mounted, and do nothing to what is there instead.
    struct MovedMountPointTests {
        /// Mounts a second store, has the mount point's path lead to this mount, runs `body` in the folder that holds `store` and the mount
        /// point, which is `d2/m` by then, and takes what is left of the mount away. `$daemon` is its process.
        private func besideMovedMount(_ body: String, _ check: (Mount) throws -> Void) throws {
            let prepare = "mkdir -m 700 priv; for i in secret x y; do echo $i >priv/$i; done; chown -R \(Account.alice) priv"
            try withMount(prepare: prepare) { (mount: Mount) throws in
                try mount.shell("""
                    mkdir -p store/priv d/m; for i in secret x y; do echo other >store/priv/$i; done
                    quire mount store d/m -o restart=off
                    trap 'grep -q " $PWD/d2/m " /proc/self/mounts && quire unmount d2/m' EXIT
                    daemon=$(quire status --json d/m | awk -F'[:,]' '/"pid"/ { print $2 + 0; exit }')
                    ls -lR d/m >/dev/null
                    mv d d2; mkdir d; ln -s "$M" d/m

                    """ + body, in: mount.folder.path("outside"))
                try check(mount)
            }
        }

        @Test func whatIsChangedOutsideIsReplayedOnTheMountAlone() throws {
            try besideMovedMount("""
                cd store/priv; rm secret; sleep 0.3; echo >made; mkdir folder; sleep 0.3; mv x y; sleep 1.5; cd ../..
                """) { (mount) throws in
                #expect(try mount.shell("ls priv | paste -sd' '; cat priv/*") == "secret x y\nsecret\nx\ny")
            }
        }

        @Test func aDaemonThatIsAskedToEndTakesItsOwnMountAway() throws {
            try besideMovedMount("kill -TERM $daemon; while kill -0 $daemon 2>/dev/null && ! grep -q ' Z ' /proc/$daemon/stat; do sleep 0.1; done") { (mount) throws in
                #expect(mount.isMounted)
                #expect(try mount.shell("cat priv/secret") == "secret")
                #expect(try !readFile("/proc/self/mounts").contains(mount.folder.path("outside/d2/m")))
            }
        }

        /// The process that sees the daemon die mounts again what was mounted, where it was mounted, or not at all.
        @Test func anotherStoreIsNotMountedAgain() throws {
            let mount = try Mount(.root)
            mount.restarts = true
            defer { mount.end() }
            try mount.shell("mkdir -m 700 closed; mkdir closed/open; echo secret >closed/open/letter", in: mount.folder.path("outside"))
            try mount.mount()
            try mount.shell("mv \"$S\" \"$S-2\"; ln -s \"$T/closed/open\" \"$S\"", in: "/")
            kill(try #require(mount.daemon), SIGKILL)
            try eventually { try mount.shell("cat $QUIRE_STATE_HOME/*/log", in: "/").contains("is another folder") }
            #expect(try mount.attempt("cat letter", in: "/").status != 0)
            #expect(try mount.attempt("cat \"$M/letter\"", in: "/").status != 0)
        }

        @Test func anotherFolderIsNotCovered() throws {
            try withMount { (mount: Mount) throws in
                let daemon = try #require(mount.daemon)
                // What the process that mounts again was told of the folders.
                let folders = try mount.shell("tr '\\0' '\\n' </proc/$(pgrep -P \(daemon) -x quire-guard)/cmdline | grep -A 1 -x -e --again | tail -1", in: "/")
                let store = try #require(folders.split(separator: ",").first)
                // It is not to be faster than this test, nor the daemon to start another one.
                kill(daemon, SIGSTOP)
                kill(try #require(Int32(try mount.shell("pgrep -P \(daemon) -x quire-guard", in: "/"))), SIGKILL)
                kill(daemon, SIGKILL)
                eventually { (try? mount.attempt("ls \"$M\"", in: "/").errors.contains("not connected")) == true }
                let result = try mount.attempt("quire mount --foreground --again \(store),\(store) \"$S\" \"$M\"", in: "/")
                #expect(result.status == 1 && result.errors.contains("mnt: is another folder by now"), "\(result)")
                #expect(!mount.isMounted)
            }
        }

        /// What another user has mounted, or says that they have, keeps nobody from mounting.
        @Test func anotherUsersMountOfTheStoreIsTheirs() throws {
            let (theirs, roots) = (try Mount(.user), try Mount(.root))
            defer { theirs.end() }
            try theirs.mount()
            try roots.shell("quire mount '\(theirs.store)' \"$M\"; trap 'quire unmount \"$M\"' EXIT; echo there >\"$M/doc\"", in: "/")
            #expect(try theirs.shell("cat doc") == "there")
        }
    }
}
