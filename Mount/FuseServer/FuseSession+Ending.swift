internal import CFuse
internal import CLinux
internal import Glibc
internal import StorePrimitives
internal import Synchronization

extension FuseSession {
    /// How long files may still be open, and requests under way, once the mount point is gone.
    private static let grace = Duration.seconds(1)

    /// Takes the mount point away. Requests under way are answered; `serve` returns when the last file is closed, or a second
    /// later. From any thread; again: does nothing, as something else may be mounted there.
    ///
    /// Not by fuse_session_unmount, which closes the kernel's descriptor under the threads that answer through it.
    public func unmount() {
        guard !isDetached.exchange(true, ordering: .relaxed) else { return }
        detach()
        let ending = NamedThread("quire-end") { [self] in
            let deadline = ContinuousClock.now + Self.grace
            while running.load(ordering: .relaxed) > 0, isInUse, ContinuousClock.now < deadline { usleep(5_000) }
            // While requests are answered: the kernel may hold it up until one of them is.
            notifier.stop()
            fuse_session_exit(session)
            // Out of their reads; each has answered what it was at. Again for one that was just about to read.
            while running.load(ordering: .relaxed) > 0 {
                serving.withLock { for thread in $0 { thread.interrupt() } }
                usleep(50_000)
            }
        }
        ending.detach()
    }

    /// Whether files are open, or requests waiting or being worked on.
    private var isInUse: Bool {
        var requests = pollfd(fd: device, events: Int16(truncatingIfNeeded: POLLIN), revents: 0)
        return fileSystem.hasOpenFiles || dispatcher.isBusy
            || poll(&requests, 1, 0) == 1 && requests.revents & Int16(truncatingIfNeeded: POLLIN) != 0
    }

    func detach() {
        // The mount goes with its folder when somebody renames one on the path, which may lead to anybody's then.
        let mounts = MountTable.current().entries.filter { $0.major == 0 && $0.minor == place.connection }
        let mountPoint = (mounts.first { $0.mountPoint == place.path } ?? mounts.first)?.mountPoint ?? place.path
        let path = mountPoint.map { CChar(bitPattern: $0) } + [0]
        if geteuid() == 0 {
            _ = cl_unmount(path, place.connection, Int32(truncatingIfNeeded: MNT_DETACH))
            return
        }
        var child = pid_t()
        let words: [UnsafeMutablePointer<CChar>?] =
            [strdup("fusermount3"), strdup("-u"), strdup("-z"), strdup("--"), strdup(path), nil]
        defer { for word in words { free(word) } }
        if posix_spawnp(&child, "fusermount3", nil, nil, words, environ) == 0 { waitpid(child, nil, 0) }
    }

    /// Ends the connection, so that no app waits while the daemon puts its things away. Not by closing the descriptor: other
    /// threads may still answer parked requests, and its number must not become another file's.
    func disconnect() {
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        guard nothing >= 0 else { return }
        dup2(nothing, device)
        close(nothing)
    }
}
