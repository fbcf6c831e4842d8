import Glibc
import StorePrimitives
import Testing
import quire

struct MountHoldersTests {
    /// The mount that `folder` is in, as if `folder` were its mount point.
    private func mount(at folder: String) throws -> MountTable.Entry {
        let real = try #require(MountTable.current().holding(Array(folder.utf8)))
        let line = "\(real.id) 1 \(real.major):\(real.minor) / \(folder) rw - fuse.quire store rw"
        return try #require(MountTable(parsing: Array(line.utf8)).entries.first)
    }

    /// Starts a shell that works in `folder` with `file` open as descriptor 7, and calls `body` while it lives.
    private func withHolder(folder: String, file: String, _ body: (pid_t) throws -> Void) throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { for end in ends { close(end) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        let arguments = ["sh", "-ec", "cd '\(folder)'; exec 7<'\(file)'; echo up; exec sleep 60"]
        let words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        try #require(posix_spawnp(&pid, "sh", &actions, nil, words, environ) == 0)
        defer {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        var up: UInt8 = 0
        try #require(read(ends[0], &up, 1) == 1)
        usleep(50_000)  // until sleep runs in the shell's place
        try body(pid)
    }

    @Test func aProcessIsNamedWithEachThingItHolds() throws {
        try withFolder { folder in
            folder.makeFile("a b", "text")
            try withHolder(folder: folder.path, file: folder.path("a b")) { pid in
                let holders = MountHolders.of(try mount(at: folder.path))
                #expect(
                    holders == [
                        MountHolder(
                            pid: pid, command: "sleep", uses: ["working directory \(folder.path)", "open file \(folder.path)/a b"])
                    ])
            }
        }
    }

    @Test func aMappedFileIsHeldWithoutADescriptor() throws {
        try withFolder { folder in
            let copy = folder.path("sleep")
            try #require(system("cp /bin/sleep '\(copy)'") == 0)
            var pid: pid_t = 0
            let arguments = [copy, "60"]
            let words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
            defer { for word in words { free(word) } }
            try #require(posix_spawn(&pid, copy, nil, nil, words, environ) == 0)
            defer {
                kill(pid, SIGKILL)
                waitpid(pid, nil, 0)
            }
            usleep(50_000)  // until the dynamic linker is done
            let holder = try #require(MountHolders.of(try mount(at: folder.path)).first)
            #expect(holder.pid == pid)
            #expect(holder.uses == ["running program \(copy)", "mapped file \(copy)"])
        }
    }

    @Test func whoIsBeneathAnotherMountOfTheSamePathIsNoHolder() throws {
        try withFolder { folder in
            folder.makeFile("a", "text")
            try withHolder(folder: folder.path, file: folder.path("a")) { _ in
                let line = "999999 1 0:4095 / \(folder.path) rw - fuse.quire store rw"
                let other = try #require(MountTable(parsing: Array(line.utf8)).entries.first)
                #expect(MountHolders.of(other) == [])
            }
        }
    }
}
