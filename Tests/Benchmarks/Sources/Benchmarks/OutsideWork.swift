import Glibc

/// The work of the rows about what is heard of changes.
enum OutsideWork {
    /// How long after a document was written beneath the mount a stat of it there tells the new size.
    static func showing(store: String, folder: String, count: Int) {
        let (beneath, shown) = (store + "/outside", folder + "/outside")
        let times = (1...count).map { number in
            let file = require(open(beneath, O_WRONLY | O_CREAT | O_APPEND, 0o644), beneath)
            require(Int32(write(file, "x", 1)), "write")
            close(file)
            let written = monotonicSeconds()
            var status = stat()
            repeat { status.st_size = 0 } while stat(shown, &status) != 0 || status.st_size != number
            let time = (monotonicSeconds() - written) * 1000
            usleep(5_000)
            return time
        }.sorted()
        require(unlink(shown), shown)
        print("quire\toutside-99th\t\(times[times.count * 99 / 100])")
    }

    /// How long after the close(2) of a save a watch (inotify) on the document is told: the median.
    static func watching(folder: String, count: Int) {
        let path = folder + "/watched"
        save(path)
        let queue = require(inotify_init1(Int32(IN_CLOEXEC)), "inotify")
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let times = (0..<count).map { _ in
            // A save replaces the file.
            require(inotify_add_watch(queue, path, UInt32(IN_DELETE_SELF | IN_CLOSE_WRITE)), path)
            save(path)
            let closed = monotonicSeconds()
            require(Int32(read(queue, &buffer, buffer.count)), "inotify")
            let time = (monotonicSeconds() - closed) * 1000
            usleep(10_000)
            var left = pollfd(fd: queue, events: Int16(POLLIN), revents: 0)
            while poll(&left, 1, 0) > 0 { _ = read(queue, &buffer, buffer.count) }
            return time
        }.sorted()
        require(unlink(path), path)
        print("quire\twatched-median\t\(times[times.count / 2])")
    }

    private static func save(_ path: String) {
        let file = require(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644), path)
        require(Int32(write(file, "content", 7)), "write")
        close(file)
    }
}
