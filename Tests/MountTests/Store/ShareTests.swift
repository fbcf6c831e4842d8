import TestSupport
import Testing

extension MountTests {
    /// What one user may have the daemon keep leaves the others theirs.
    struct ShareTests {
        private static let opening = """
            import errno, os, resource
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            def fill(path, flags):
                opened = []
                try:
                    while len(opened) < 9000: opened.append(os.open(path, flags))
                except OSError as error: return len(opened), errno.errorcode[error.errno]
                return len(opened), None

            """

        /// With a limit of 8,192 descriptors for the daemon.
        private func withFewDescriptors(_ body: (Mount) throws -> Void) throws {
            let mount = try Mount(.root)
            defer { mount.end() }
            try mount.shell("echo text >doc; mkdir folder", in: mount.store)
            try mount.shell("ulimit -n 8192; quire mount \"$S\" \"$M\" -o allow_other", in: "/")
            try mount.noteDaemon()
            try body(mount)
        }

        @Test(arguments: [("doc", "os.O_RDONLY", 1_024), ("folder", "os.O_DIRECTORY", 256), (".tags", "os.O_DIRECTORY", 256)])
        func openFilesOfOneUserLeaveTheOthersTheirs(path: String, flags: String, share: Int) throws {
            try withFewDescriptors { mount in
                // Bob and root, while Alice has all she can get.
                let found = try mount.python(Self.opening + """
                    reading, writing = os.pipe()
                    hold, done = os.pipe()
                    alice = os.fork()
                    if alice == 0:
                        os.close(done); os.setgid(\(Account.alice)); os.setuid(\(Account.alice))
                        found = fill("\(path)", \(flags))
                        os.write(writing, str((found[0] <= \(share), found[1])).encode())
                        os.read(hold, 1)
                        os._exit(0)
                    print(os.read(reading, 100).decode(), flush=True)
                    for user in [\(Account.bob), 0]:
                        child = os.fork()
                        if child == 0:
                            if user: os.setgid(user); os.setuid(user)
                            print(open("doc").read().strip(), len(os.listdir("folder")), len(os.listdir(".")), flush=True)
                            os._exit(0)
                        os.waitpid(child, 0)
                    os.close(done)
                    os.waitpid(alice, 0)
                    """)
                #expect(found == "(True, 'EMFILE')\ntext 0 5\ntext 0 5")
                // All were given back.
                try eventually { try mount.python(Self.opening + "print(os.close(os.open('\(path)', \(flags))))", as: Account.alice) == "None" }
            }
        }

        @Test func emptyTagsOfAUserAreBounded() throws {
            try withMount { mount in
                let found = try mount.python("""
                    import errno, os
                    made = 0
                    try:
                        for n in range(10_050): os.mkdir(".tags/t%d" % n); made += 1
                    except OSError as error: print(made, errno.errorcode[error.errno])
                    os.rmdir(".tags/t5"); os.mkdir(".tags/again")
                    """, as: Account.alice, limit: .seconds(300))
                #expect(found == "10000 EDQUOT")
                #expect(try mount.shell("ls .tags | wc -l; mkdir .tags/own; ls .tags", as: Account.bob) == "0\nown")
            }
        }
    }
}
