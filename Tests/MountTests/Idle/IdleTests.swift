import Glibc
import TestSupport
import Testing

extension MountTests {
    /// A daemon that nobody uses does nothing, and keeps nothing of what is gone.
    struct IdleTests {
        /// What a daemon has used, and what it holds.
        private struct Use: Equatable {
            /// How often its threads were run.
            let runs: Int
            let written: Int
            let log: Int
        }

        private func use(_ mount: Mount) throws -> Use {
            let pid = try #require(mount.daemon)
            let runs = try runProgram("bash", ["-c", "cat /proc/\(pid)/task/*/status | awk '/ctxt_switches/ { runs += $2 } END { print runs }'"])
            let io = try readFile("/proc/\(pid)/io").split(separator: "\n").first { $0.hasPrefix("write_bytes") }
            let log = try runProgram("bash", ["-c", "cat \(mount.folder.path("state"))/*/log* | wc -c"])
            return Use(
                runs: Int(runs.output.filter(\.isNumber)) ?? -1, written: Int(io?.filter(\.isNumber) ?? "") ?? -1,
                log: Int(log.output.filter(\.isNumber)) ?? -1)
        }

        /// On a file system of its own: root's daemon hears of all that others change on the store's.
        private func withStoreOfItsOwn(_ account: Account, _ body: (Mount) throws -> Void) throws {
            let mount = try Mount(account)
            defer {
                mount.end()
                _ = try? mount.attempt("umount \"$S\" || umount -l \"$S\"", in: "/", as: 0)
            }
            try mount.shell("mount -t tmpfs store \"$S\"; chmod 1777 \"$S\"", in: "/", as: 0)
            try mount.mount()
            try body(mount)
        }

        /// Waits until the daemon does nothing for `seconds`.
        private func expectIdle(
            _ mount: Mount, for seconds: UInt32, within limit: Duration = .seconds(120), sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let end = ContinuousClock.now + limit
            var (before, after) = (try use(mount), try use(mount))
            repeat {
                before = try use(mount)
                sleep(seconds)
                after = try use(mount)
            } while before != after && ContinuousClock.now < end
            #expect(before == after, "it is never idle", sourceLocation: sourceLocation)
        }

        /// What the daemon's descriptors lead to.
        private func descriptors(_ mount: Mount) throws -> [String] {
            let pid = try #require(mount.daemon)
            return try runProgram("find", ["/proc/\(pid)/fd", "-type", "l", "-printf", "%l\\n"]).output.split(separator: "\n").map(String.init)
        }

        /// Waits until the daemon has nothing open that is gone, but SQLite's and memory's files, which have no name by intent.
        private func expectNothingHeld(_ mount: Mount, sourceLocation: SourceLocation = #_sourceLocation) throws {
            try eventually(within: .seconds(180), sourceLocation: sourceLocation) {
                try !descriptors(mount).contains { $0.hasPrefix(mount.store) && $0.hasSuffix("(deleted)") }
            }
        }

        private func residentKilobytes(_ mount: Mount) throws -> Int {
            let status = try readFile("/proc/\(try #require(mount.daemon))/status")
            return Int(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }?.filter(\.isNumber) ?? "") ?? 0
        }

        @Test(arguments: Account.allCases)
        func foldersThatWereMadeAndRemovedAreNotScannedForEver(account: Account) throws {
            try withStoreOfItsOwn(account) { mount in
                try mount.scanned()
                try mount.python("import os\nfor _ in range(1000): os.mkdir('d'); os.rmdir('d')")
                try mount.python("import os\nfor n in range(1000): os.mkdir('d%d' % n); os.rmdir('d%d' % n)", in: mount.store)
                try expectIdle(mount, for: 3)
                #expect(try use(mount).log < 10_000)
            }
        }

        @Test(arguments: Account.allCases)
        func removedFoldersAreLetGo(account: Account) throws {
            try withMount(account) { mount in
                for _ in 1...3 {
                    try mount.shell("mkdir -p many/d{1..500}/inner; find many >/dev/null; touch many/d{1..500}/inner/doc; rm -r many")
                }
                try expectNothingHeld(mount)
                #expect(try descriptors(mount).count < 100)
            }
        }

        /// Everyday use: saves, clones, builds, removals, tags, pictures, claims.
        private static let round = """
            git init -q work; cd work; git config user.name a; git config user.email a@b
            for n in $(seq 20); do printf 'int f%d(void) { return %d; }\\n' $n $n >f$n.c; done
            printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\\n' >Makefile
            git add .; git commit -qm one; make -s -j2; make -s clean 2>/dev/null || rm -f *.o
            for n in $(seq 20); do echo "int g(void);" >>f$n.c; cp f$n.c f$n.new; mv f$n.new f$n.c; echo "/* $n */" >f$n.c; done
            git commit -qam two; git log --stat >/dev/null; cd ..
            git clone -q work clone; grep -r return clone >/dev/null || true; find clone >/dev/null; rm -rf clone
            mkdir -p docs/a/b/c; for n in $(seq 50); do echo text $n >docs/a/b/c/note$n.txt; done
            setfattr -n user.xdg.tags -v round docs/a/b/c/note1*.txt; ls -l .tags/round .recents >/dev/null; rm -f .tags/round/*
            mkdir .tags/empty; rmdir .tags/empty
            cp "$T/picture.png" docs/a/picture.png; cat .thumbnails/large/docs/a/picture.png.png >/dev/null || true
            quire coordinate --read docs -- grep -r text docs >/dev/null
            quire coordinate --write docs/a/b/c -- bash -c 'echo more >docs/a/b/c/note1.txt; rm docs/a/b/c/note2.txt'
            (echo half; sleep 0.1; echo rest) >docs/late; mv docs/a moved; rm -r moved docs work
            """

        private func use(_ mount: Mount, rounds: Int) throws {
            for _ in 1...rounds { try mount.shell(Self.round, limit: .seconds(300)) }
        }

        private static let picture = """
            import os, struct, zlib
            chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
            rows = b''.join(b'\\0' + os.urandom(900) for _ in range(300))
            open(os.environ['T'] + '/picture.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 300, 300, 8, 2, 0, 0, 0))
                + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
            """

        /// With --long for half an hour, twice: the second may take hardly more memory than the first.
        @Test(arguments: Account.allCases)
        func afterEverydayUseTheDaemonIsIdleAndAsSmallAsBefore(account: Account) throws {
            try withStoreOfItsOwn(account) { mount in
                try mount.python(Self.picture)
                try use(mount, rounds: 2)
                try expectIdle(mount, for: 3)
                let before = try descriptors(mount).count
                var memory: [Int] = []
                for _ in 1...2 {
                    let end = ContinuousClock.now + .seconds(isLongRun ? 1_800 : 0)
                    repeat { try use(mount, rounds: 3) } while ContinuousClock.now < end
                    try expectNothingHeld(mount)
                    try expectIdle(mount, for: isLongRun ? 60 : 5, within: .seconds(600))
                    memory.append(try residentKilobytes(mount))
                }
                #expect(try descriptors(mount).count <= before + 20)
                #expect(memory[1] <= memory[0] + memory[0] / 10, "\(memory) KiB")
            }
        }
    }
}
