import SystemCalls

/// An inotify watch on one path.
private struct Watch {
    let fd: Int32

    init(_ path: String, _ mask: Int32) throws {
        fd = Int32(try call(SYS_inotify_init1, IN_NONBLOCK | O_CLOEXEC, name: "inotify_init1"))
        let fd = fd
        try withMemory(path) { (path) throws(Errno) in
            _ = try call(SYS_inotify_add_watch, fd, path, mask, name: "inotify_add_watch")
        }
    }

    /// The events so far: kind and name. Waits for at least one, at most a second.
    func events() throws -> [String] {
        var events: [String] = []
        guard try readable(fd, within: 1000) else { return events }
        // struct inotify_event: wd 4, mask 4, cookie 4, length 4, name.
        let bytes = try read(fd, 65536)
        var position = 0
        func word(_ offset: Int) -> Int32 {
            bytes[(position + offset)...].prefix(4).reversed().reduce(0) { $0 << 8 | Int32($1) }
        }
        while position < bytes.count {
            let mask = word(4)
            let length = Int(word(12))
            let name = String(decoding: bytes[(position + 16)..<(position + 16 + length)].prefix { $0 != 0 }, as: UTF8.self)
            for (kind, text) in Self.kinds where mask & kind != 0 { events.append(name.isEmpty ? text : "\(text) \(name)") }
            position += 16 + length
        }
        return events
    }
    static let kinds = [
        (IN_CREATE, "create"), (IN_DELETE, "delete"), (IN_MOVED_FROM, "from"), (IN_MOVED_TO, "to"), (IN_MODIFY, "modify"),
        (IN_ATTRIB, "attributes"), (IN_CLOSE_WRITE, "written"), (IN_OPEN, "open"), (IN_ACCESS, "access"),
        (IN_CLOSE_NOWRITE, "closed"), (IN_DELETE_SELF, "deleted"), (IN_MOVE_SELF, "moved"),
    ]
}

extension Table {
    func addWatchChecks() {
        family("inotify") {
            check("making files, folders, links and nodes is told") {
                let watch = try Watch(".", IN_CREATE)
                try makeFile("f")
                try mkdir("d")
                try symlink("x", "l")
                try mkfifo("p")
                try link("f", "g")
                try expectEqual(try watch.events(), ["create f", "create d", "create l", "create p", "create g"])
            }
            check("removing is told") {
                try makeFile("f")
                try mkdir("d")
                let watch = try Watch(".", IN_DELETE)
                try unlink("f")
                try rmdir("d")
                try expectEqual(try watch.events(), ["delete f", "delete d"])
            }
            check("renaming is told with both names") {
                try makeFile("f")
                let watch = try Watch(".", IN_MOVED_FROM | IN_MOVED_TO)
                try rename("f", "g")
                try expectEqual(try watch.events(), ["from f", "to g"])
            }
            check("moving between folders is told in both") {
                try mkdir("a")
                try mkdir("b")
                try makeFile("a/f")
                let (one, two) = (try Watch("a", IN_MOVED_FROM | IN_MOVED_TO), try Watch("b", IN_MOVED_FROM | IN_MOVED_TO))
                try rename("a/f", "b/g")
                try expectEqual(try one.events(), ["from f"])
                try expectEqual(try two.events(), ["to g"])
            }
            check("an exchange is told as two moves") {
                try makeFile("f")
                try makeFile("g")
                let watch = try Watch(".", IN_MOVED_FROM | IN_MOVED_TO)
                try rename("f", "g", flags: RENAME_EXCHANGE)
                try expectEqual(try watch.events(), ["from f", "to g", "from g", "to f"])
            }
            check("writing is told: opened, modified, written") {
                try makeFile("f", "abc")
                let watch = try Watch(".", IN_OPEN | IN_MODIFY | IN_CLOSE_WRITE)
                try withFile("f", O_WRONLY) { fd in try write(fd, "x") }
                try expectEqual(try watch.events(), ["open f", "modify f", "written f"])
            }
            check("writing is told to a watch on the file itself") {
                try makeFile("f", "abc")
                let watch = try Watch("f", IN_MODIFY | IN_CLOSE_WRITE)
                try withFile("f", O_WRONLY) { fd in try write(fd, "x") }
                try expectEqual(try watch.events(), ["modify", "written"])
            }
            check("truncating is told as a modification") {
                try makeFile("f", "abc")
                let watch = try Watch("f", IN_MODIFY)
                try truncate("f", 1)
                try expectEqual(try watch.events(), ["modify"])
            }
            check("opening with O_TRUNC is told as a modification") {
                try makeFile("f", "abc")
                let watch = try Watch("f", IN_MODIFY)
                try withFile("f", O_WRONLY | O_TRUNC) { _ in }
                try expectEqual(try watch.events(), ["modify"])
            }
            check("reading is told") {
                try makeFile("f", "abc")
                let watch = try Watch("f", IN_ACCESS | IN_CLOSE_NOWRITE)
                try withFile("f", O_RDONLY) { fd in _ = try read(fd, 3) }
                try expectEqual(try watch.events(), ["access", "closed"])
            }
            check("mode, times, attributes and link counts are told") {
                try makeFile("f")
                let watch = try Watch("f", IN_ATTRIB)
                for change in [
                    { try chmod("f", 0o600) }, { try touch("f") }, { try setxattr("f", "user.x", "v") },
                    { try link("f", "g") },
                    { try unlink("g") },
                ] {
                    try change()
                    try expectTrue(try watch.events().contains("attributes"), "an event")
                }
            }
            check("a watched file that is moved and deleted is told") {
                try makeFile("f")
                let watch = try Watch("f", IN_MOVE_SELF | IN_DELETE_SELF)
                try rename("f", "g")
                try expectEqual(try watch.events(), ["moved"])
                try unlink("g")
                try expectEqual(try watch.events(), ["deleted"])
            }
            check("a watched file that is replaced is told as deleted") {
                try makeFile("f")
                try makeFile("g")
                let watch = try Watch("f", IN_DELETE_SELF)
                try rename("g", "f")
                try expectEqual(try watch.events(), ["deleted"])
            }
            check("what another process does is told") {
                let watch = try Watch(".", IN_CREATE | IN_CLOSE_WRITE)
                try Child { _ in try makeFile("f", "abc") }.finish()
                try expectEqual(try watch.events(), ["create f", "written f"])
            }
            check("a watch outlives what else is opened, listed and looked up") {
                try mkdir("d")
                let watch = try Watch("d", IN_CREATE)
                for number in 0..<500 { try makeFile("f\(number)") }
                _ = try names(in: ".")
                try makeFile("d/new")
                try expectEqual(try watch.events(), ["create new"])
            }
        }
    }
}
