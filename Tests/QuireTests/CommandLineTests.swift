import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport
import Testing
import quire

/// What the command says without any mount.
struct CommandLineTests {
    @Test(arguments: [
        [], ["mount"], ["unmount"], ["status"], ["tag"], ["tag", "add"], ["tag", "remove"], ["tag", "list"],
        ["tag", "rename"], ["tag", "merge"], ["tag", "undo"], ["recents"], ["recents", "forget"], ["doctor"], ["recover"],
        ["favorite"], ["favorite", "add"], ["favorite", "remove"], ["favorite", "list"], ["favorite", "import"], ["bookmark"], ["bookmark", "create"],
        ["bookmark", "resolve"], ["search"], ["types"], ["types", "show"], ["types", "declare"], ["types", "forget"], ["types", "tree"], ["types", "apps"],
        ["types", "use"], ["recover", "list"], ["recover", "show"], ["recover", "restore"], ["recover", "drop"], ["help"],
    ])
    func helpStatesExamplesAndExitCodes(command: [String]) throws {
        let result = try runQuire(["help"] + command)
        #expect(result.status == 0)
        #expect(result.output.contains("Exit codes: 0 "))
        #expect(command.isEmpty || result.output.contains("Example"))
        #expect(!result.output.contains("ready-fd"))
    }

    @Test func helpListsItsTopicsAndShowsEach() throws {
        let list = try runQuire("help").output
        #expect(HelpTopic.all.count > 10)
        for topic in HelpTopic.all {
            #expect(list.contains("\n  \(topic.name)\n      "))
            #expect(topic.summary.hasSuffix("."))
            #expect(try runQuire("help", topic.name).output.hasSuffix(topic.text))
        }
        // A topic of a command's name comes after how the command is used.
        #expect(try runQuire("help", "recover").output.contains("SUBCOMMANDS"))
        #expect(try runQuire("help", "no-such-topic").status == 64)
    }

    @Test func aWrongCommandLineExitsWith64() throws {
        #expect(try runQuire("unmount").status == 64)
        #expect(try runQuire("recents", "--limit", "0").status == 64)
        #expect(try runQuire("mount", "/a", "/b", "/c").status == 64)
        for words in [["drop"], ["drop", "1", "--all"], ["drop", "x"], ["show"], ["show", "-1"], ["restore"], ["list", "/a", "--in", "/b"]] {
            #expect(try runQuire(["recover"] + words).status == 64)
        }
    }

    @Test func anUnknownMountOptionIsNamed() throws {
        try withFolder { folder in
            let result = try runQuire("mount", folder.path, "-o", "ro,alow_other")
            #expect(result.status == 1)
            #expect(result.errors == "quire: unknown mount option 'alow_other'; did you mean 'allow_other'?\n")
        }
    }

    @Test func aMountOptionOutOfItsDomainIsExplained() throws {
        try withFolder { folder in
            let result = try runQuire("mount", folder.path, "-o", "keep-size=lots")
            #expect(result.status == 1)
            #expect(result.errors == "quire: mount option 'keep-size' cannot be 'lots': it takes bytes, or K, M, G or T of them "
                + "such as 512M, or 0 to keep nothing\n")
        }
    }

    @Test func storesThatCannotBeAreRefused() throws {
        try withFolder { folder in
            mkdir(folder.path("mnt"), 0o700)
            folder.makeFile("file", "text")
            let missing = try runQuire("mount", folder.path("missing"), folder.path("mnt"))
            #expect(missing.status == 1)
            #expect(
                missing.errors == "quire: \(folder.path)/missing: there is no such folder to be the store; make it with mkdir\n")
            let file = try runQuire("mount", folder.path("file"), folder.path("mnt"))
            #expect(file.status == 1)
            #expect(file.errors == "quire: \(folder.path)/file: is not a folder, so it cannot be the store\n")
        }
    }

    @Test func mountPointsThatCannotBeAreRefused() throws {
        try withFolder { folder in
            mkdir(folder.path("store"), 0o700)
            mkdir(folder.path("store/deep"), 0o700)
            for (store, mountPoint, reason) in [
                ("/store", "/missing", "there is no such folder to be the mount point"),
                ("/store", "/store/deep", "the mount point lies inside the store"),
                ("/store", "/store/../store/deep/", "the mount point lies inside the store"),
                ("/store/deep", "/store", "the store lies inside the mount point"),
                ("/store/deep", "", "the store lies inside the mount point"),
            ] {
                let result = try runQuire("mount", folder.path + store, folder.path + mountPoint)
                #expect(result.status == 1)
                #expect(result.errors.contains(reason))
            }
            mkdir(folder.path("full"), 0o700)
            folder.makeFile("full/file", "text")
            // As mount(8) calls it: without a command name.
            let full = try runQuire(folder.path("store"), folder.path("full"), "-o", "rw,noauto,x-a=b")
            #expect(full.status == 1)
            #expect(full.errors.contains("the mount point is not empty"))
            #expect(full.errors.contains("-o nonempty"))
        }
    }

    @Test func aStateFolderInsideTheStoreIsRefused() throws {
        try withFolder { folder in
            let result = try runQuire("mount", folder.path, environment: ["QUIRE_STATE_HOME": "\(folder.path)/state/quire"])
            #expect(result.status == 1)
            #expect(result.errors.contains("lies in this store"))
            #expect(access(folder.path("state"), F_OK) != 0)
        }
    }

    @Test func unmountingWhatIsNoMountFails() throws {
        try withFolder { folder in
            let plain = try runQuire("unmount", folder.path)
            #expect(plain.status == 1)
            #expect(plain.errors.contains("\(folder.path): nothing is mounted here"))
            let other = try runQuire("unmount", "/proc")
            #expect(other.status == 1)
            #expect(other.errors.contains("is a mount of type proc, not Quire's; use umount"))
        }
    }

    @Test func aPathInNoMountHasNoStatus() throws {
        try withFolder { folder in
            let result = try runQuire("status", folder.path)
            #expect(result.status == 1)
            #expect(result.errors.contains("\(folder.path): is in no Quire mount"))
        }
    }

    @Test func thereIsNothingToRecoverOutsideOfMounts() throws {
        try withFolder { folder in
            for words in [["list", folder.path], ["list", "--in", folder.path], ["drop", "1", "--in", folder.path]] {
                let result = try runQuire(["recover"] + words)
                #expect(result.status == 1)
                #expect(result.errors == "quire: \(folder.path): is in no Quire mount; 'quire status' lists the mounts\n")
            }
        }
    }

    @Test func tagsAreKeptWithAFileOutsideOfMounts() throws {
        try withFolder { folder in
            let file = folder.makeFile("letter", "text")
            let added = try runQuire("tag", "add", "urgent", file)
            #expect(added.status == 0)
            #expect(added.errors == "quire: \(file): is in no Quire mount; the tag is kept with the file only\n")
            #expect(try runQuire("tag", "add", "home", file).status == 0)
            #expect(try runQuire("tag", "list", file).output == "urgent\nhome\n")
            #expect(try runQuire("tag", "remove", "urgent", file, folder.path("missing")).status == 1)
            #expect(try runQuire("tag", "list", file).output == "home\n")
            #expect(try runQuire("tag", "remove", "home", file).status == 0)
            #expect(try runQuire("tag", "list", file, "--json").output == "[\n\n]\n")
            let bad = try runQuire("tag", "add", "a,b", file)
            #expect(bad.status == 1)
            #expect(bad.errors.contains("'a,b' cannot be a tag"))
        }
    }

    @Test func theDoctorsFindingsAreJSON() throws {
        struct Check: Decodable {
            let name, result, finding: String
            let remedy: String?
        }
        let result = try runQuire("doctor", "/tmp", "--json")
        let checks = try JSONDecoder().decode([Check].self, from: Data(result.output.utf8))
        #expect(checks.map(\.name).contains("/dev/fuse"))
        #expect(checks.allSatisfy { $0.result == "ok" || $0.remedy != nil })
        #expect((result.status == 1) == checks.contains { $0.result == "missing" })
    }
}

struct NetworkExportsTests {
    @Test func exportedFoldersAreFound() {
        let text = """
            # /commented *(rw)
            /srv/docs\t192.168.1.0/24(rw,sync)
            "/home/a b" *(ro) \\
                host(rw)
            /media/with\\040space *
            /all *(rw,crossmnt)
            /none *(rw)
            """
        let exports = NetworkExports(parsing: [Array(text.utf8)])
        func reaching(_ path: String) -> String? { exports.reaching(Array(path.utf8)).map { String(decoding: $0, as: UTF8.self) } }
        #expect(reaching("/srv/docs") == "/srv/docs")
        #expect(reaching("/srv") == "/srv/docs", "a folder in the mount")
        #expect(reaching("/srv/docs/mnt") == nil, "another file system")
        #expect(reaching("/home/a b") == "/home/a b")
        #expect(reaching("/media/with space") == "/media/with space")
        #expect(reaching("/all/below") == "/all")
        #expect(reaching("/commented") == nil)
        #expect(reaching("/no") == nil)
    }
}

struct StoreLockTests {
    @Test func aSecondDaemonIsToldOfTheFirst() throws {
        try withFolder { folder in
            let first = try StoreLock(stateFolder: folder.path, mountPoint: Array("/docs".utf8))
            do throws(CommandFailure) {
                _ = try StoreLock(
                    stateFolder: folder.path, mountPoint: Array("/other".utf8), timeout: .milliseconds(100))
                Issue.record("the lock was given twice")
            } catch {
                #expect(error.message.hasPrefix("process \(getpid()), which had this store mounted at /docs, has not ended yet"))
            }
            withExtendedLifetime(first) {}
        }
    }

    @Test func aDaemonThatIsEndingIsWaitedFor() throws {
        try withFolder { folder in
            folder.makeFile("lock", "1\n/docs")
            let ending = "cd \"$0\"; flock -o lock sh -c 'touch held; sleep 0.3' & until [ -e \"$0/held\" ]; do sleep 0.01; done"
            try #require(try runProgram("sh", ["-c", ending, folder.path]).status == 0)
            _ = try StoreLock(stateFolder: folder.path, mountPoint: Array("/other".utf8))
        }
    }

    @Test func theLockEndsWithItsHolder() throws {
        try withFolder { folder in
            do { _ = try StoreLock(stateFolder: folder.path, mountPoint: [0x2f]) }
            _ = try StoreLock(stateFolder: folder.path, mountPoint: [0x2f])
        }
    }
}

struct ServiceUnitTests {
    /// What systemd-escape --path prints.
    @Test(arguments: [
        ("/", "-"), ("/srv/docs", "srv-docs"), ("//srv//docs/", "srv-docs"), ("/home/me/My Documents", #"home-me-My\x20Documents"#),
        ("/.a/.b-c", #"\x2ea-.b\x2dc"#), ("/é", #"\xc3\xa9"#), ("/a:b_c.d\u{1}", #"a:b_c.d\x01"#),
    ])
    func aPathIsEscapedInAUnitsName(path: String, name: String) { #expect(ServiceUnit.escaped(Array(path.utf8)) == name) }
}

struct CanonicalPathTests {
    @Test func linksDotsAndSlashesAreResolved() throws {
        try withFolder { folder in
            mkdir(folder.path("a"), 0o700)
            symlink("a", folder.path("link"))
            let expected = Array("\(folder.path)/a".utf8)
            for text in ["/a", "/a/", "/link", "/link//", "/./a/../link/."] {
                let path = Array((folder.path + text).utf8)
                let (resolved, mountPoint) = (try CanonicalPath.resolve(path), try CanonicalPath.mountPoint(path))
                #expect(resolved == expected && mountPoint == expected)
            }
            #expect(throws: Errno.noSuchFileOrDirectory) { try CanonicalPath.mountPoint(Array("\(folder.path)/b".utf8)) }
            let future = try CanonicalPath.future(Array("\(folder.path)/link/b/c".utf8))
            #expect(future == Array("\(folder.path)/a/b/c".utf8))
        }
    }

    @Test func oneFolderIsWithinAnotherByWholeNames() {
        func within(_ path: String, _ folder: String) -> Bool {
            CanonicalPath.isWithin(Array(path.utf8), Array(folder.utf8))
        }
        #expect(within("/a", "/a") && within("/a/b", "/a") && within("/a", "/"))
        #expect(!within("/ab", "/a") && !within("/a", "/a/b"))
    }
}
