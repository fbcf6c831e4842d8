import Glibc
import TestSupport
import Testing

extension MountTests {
    /// How much the daemon takes, and how much it can take.
    struct LimitTests {
        private static func residentMegabytes(_ mount: Mount) throws -> Int {
            let status = try readFile("/proc/\(try #require(mount.daemon))/status")
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
            return (Int(line.filter(\.isNumber)) ?? 0) / 1024
        }

        @Test(arguments: Account.allCases)
        func aDaemonIsSmallAfterItsStart(account: Account) throws {
            try withMount(account, prepare: "echo text >doc") { mount in
                try mount.scanned()
                try mount.shell("ls -la . .tags .recents; cat doc")
                #expect(try Self.residentMegabytes(mount) <= 40)
            }
        }

        /// 100,000 entries in one folder: listed, looked up, and changed.
        @Test(arguments: Account.allCases)
        func aHundredThousandEntriesInOneFolder(account: Account) throws {
            let prepare = "mkdir many; python3 -c 'for n in range(100000): open(\"many/entry%d\" % n, \"w\").close()'"
            // In memory: making and removing so many takes a disk longer than the test.
            try withMount(account, in: "/dev/shm", prepare: prepare) { mount in
                #expect(try mount.python("""
                    import os
                    names = os.listdir("many")
                    print(len(names), len(set(names)))
                    print(sum(entry.stat().st_size == 0 for entry in os.scandir("many")))
                    for n in range(0, 100000, 50): os.unlink("many/entry%d" % n)
                    for n in range(1000): os.rename("many/entry%d" % (n * 50 + 1), "many/renamed%d" % n)
                    listed = os.listdir("many")
                    print(len(listed), sum(name[0] == "r" for name in listed))
                    """, limit: .seconds(300)) == "100000 100000\n100000\n98000 1000")
                #expect(try Self.residentMegabytes(mount) <= 150)
                try mount.scanned()
                #expect(try Self.residentMegabytes(mount) <= 150)
                #expect(try mount.shell("ls many | wc -l", in: mount.store) == "98000")
            }
        }

        @Test(arguments: Account.allCases)
        func fewDescriptorsAreEnoughForManyFiles(account: Account) throws {
            let count = isLongRun ? 100_000 : 20_000
            let mount = try Mount(account)
            defer { mount.end() }
            try mount.python("""
                import os
                for n in range(\(count)):
                    folder = "d%d" % (n % 500)
                    if n < 500: os.makedirs(folder + "/inner")
                    open("%s/inner/f%d" % (folder, n), "w").write("%d" % n)
                """, in: mount.store, limit: .seconds(300))
            let options = account.options.map { "-o \($0)" }.joined(separator: " ")
            try mount.shell("ulimit -n 1024; quire mount \"$S\" \"$M\" \(options)", in: "/")
            try mount.noteDaemon()
            #expect(try mount.python("""
                import os
                wrong = 0
                kept = [os.open("d%d/inner" % n, os.O_RDONLY) for n in range(100)]
                found = [(folder, name) for folder, _, names in os.walk(".") if not folder.startswith("./.") for name in names]
                for folder, name in found: os.lstat(folder + "/" + name)
                for n in range(0, len(found), 7):
                    folder, name = found[n]
                    if open(folder + "/" + name).read() != name[1:]: wrong += 1
                for n in range(500): os.rename("d%d" % n, "e%d" % n)
                for n in range(0, \(count), 11):
                    if open("e%d/inner/f%d" % (n % 500, n)).read() != "%d" % n: wrong += 1
                print(len(found), wrong, len(os.listdir(kept[7])))
                """, limit: .seconds(300)) == "\(count) 0 \(count / 500)")
            let limits = try readFile("/proc/\(try #require(mount.daemon))/limits")
            let files = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }?.split(separator: " ")
            #expect(files?[4] == "1024")
        }

        @Test func moreOpenFilesThanTheLimitFailOneByOneWithoutHarm() throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            try mount.shell("ulimit -n 256; quire mount \"$S\" \"$M\"", in: "/")
            try mount.noteDaemon()
            #expect(try mount.python("""
                import errno, os
                open("doc", "w").write("x" * 100)
                files, failure = [], None
                try:
                    for n in range(400): files.append(open("doc"))
                except OSError as error: failure = error.errno
                print(failure in (None, errno.EMFILE, errno.ENFILE), len(files) > 100)
                for file in files: assert file.read() == "x" * 100; file.close()
                print(len(open("doc").read()), [name for name in os.listdir(".") if name[0] != "."])
                """) == "True True\n100 ['doc']")
        }

        @Test func deepFoldersAndLongNamesAreServed() throws {
            try withMount { mount in
                #expect(try mount.python("""
                    import os
                    name = b"n" * 255
                    for depth in range(300):
                        os.mkdir(name); os.chdir(name)
                    open(b"\\xff" * 255, "w").write("deep")
                    print(open(b"\\xff" * 255).read())
                    try: open(b"x" * 256, "w")
                    except OSError as error: print(error.strerror)
                    os.chdir(os.environ["M"]); os.rename(name, b"top"); os.chdir(b"top")
                    for depth in range(299): os.chdir(name)
                    print(open(b"\\xff" * 255).read())
                    """) == "deep\nFile name too long\ndeep")
                try mount.shell("rm -r top")
            }
        }
    }
}
