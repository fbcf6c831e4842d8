import Glibc
import TestSupport
import Testing

extension MountTests {
    /// Whatever a daemon was at when it was killed, each document is one whole version afterwards.
    struct KilledDaemonTests {
        static let daemons = isLongRun ? 70 : 4

        @Test(arguments: SaveMount.allCases)
        func documentsAreWholeAfterTheDaemonWasKilled(kind: SaveMount) throws {
            let prepare = "mkdir d; SaveExerciser version one; SaveExerciser version two; cp one d/three"
            try withMount(kind.account, kind.options, prepare: prepare) { (mount: Mount) throws in
                var random = SystemRandomNumberGenerator()
                for _ in 0..<Self.daemons {
                    let daemon = try #require(mount.daemon)
                    try mount.shell("""
                        for name in one two two d/three; do SaveExerciser loop $name 262144 300 2>/dev/null & done
                        sleep 0.0\(Int.random(in: 10...99, using: &random)); kill -9 \(daemon); wait || true
                        """, in: mount.path)
                    eventually { Mount.hasEnded(daemon) }
                    try mount.mount(kind.options)
                    #expect(try mount.shell("SaveExerciser check one two d/three; ls") == "d\none\ntwo")
                    try expectNothingHidden(mount)
                }
            }
        }

        /// Programs that save by rename, and those that append, beside those that truncate.
        @Test(arguments: SaveMount.accounts)
        func othersAreAsOnAnyFileSystem(kind: SaveMount) throws {
            let prepare = "echo 0 >doc; echo 0 >other; setfattr -n user.xdg.tags -v tag doc"
            try withMount(kind.account, kind.options, prepare: prepare) { mount in
                for round in 1...3 {
                    let daemon = try #require(mount.daemon)
                    try mount.shell("""
                        exec 3>doc; echo half >&3; echo \(round) >new; mv new other; echo \(round) >>list; kill -9 \(daemon)
                        """)
                    eventually { Mount.hasEnded(daemon) }
                    try mount.mount(kind.options)
                    #expect(try mount.shell("""
                        cat doc other; wc -l <list; getfattr --only-values -n user.xdg.tags doc
                        """) == "0\n\(round)\n\(round)\ntag")
                    try expectNothingHidden(mount)
                }
            }
        }

        @Test(arguments: SaveMount.accounts)
        func whatWasPublishedStaysPublished(kind: SaveMount) throws {
            let prepare = "for n in $(seq 20); do echo old >doc$n; done"
            try withMount(kind.account, kind.options, prepare: prepare) { (mount: Mount) throws in
                let daemon = try #require(mount.daemon)
                try mount.shell("for n in $(seq 20); do echo new $n >doc$n; done; kill -9 \(daemon)")
                eventually { Mount.hasEnded(daemon) }
                try mount.mount(kind.options)
                let published = (1...20).map { "new \($0)" }.joined(separator: "\n")
                #expect(try mount.shell("for n in $(seq 20); do cat doc$n; done") == published)
                try expectNothingHidden(mount)
            }
        }

        /// A daemon that is told to end publishes what is closed in time, and leaves the rest as it was.
        @Test(arguments: SaveMount.accounts)
        func anUnmountUnderASaveLeavesAWholeDocument(kind: SaveMount) throws {
            try withMount(kind.account, kind.options, prepare: "echo old >doc; echo old >two") { (mount: Mount) throws in
                let daemon = try #require(mount.daemon)
                try mount.shell("""
                    exec 3>doc 4>two; echo new >&3; echo new >&4; kill -TERM \(daemon); sleep 0.1; exec 3>&-; cd /
                    eventually '! grep "^State:.[^Z]" /proc/\(daemon)/status >/dev/null 2>&1'; exec 4>&- || true
                    """)
                eventually { Mount.hasEnded(daemon) }
                #expect(try mount.shell("cat doc two", in: mount.store) == "new\nold")
                try expectNothingHidden(mount)
            }
        }
    }
}
