import SystemCalls

extension Table {
    func addReaddirChecks() {
        family("readdir") {
            check("an empty folder has dot and dot-dot") {
                try mkdir("d")
                try withFile("d", O_RDONLY) { fd in
                    try expectEqual(try allEntries(fd).map(\.text).sorted(), [".", ".."])
                }
            }
            check("dot is the folder's inode, dot-dot its parent's") {
                try mkdir("d")
                try withFile("d", O_RDONLY) { fd in
                    let entries = try allEntries(fd)
                    try expectEqual(entries.first { $0.text == "." }?.inode, try stat("d").inode, "inode of .")
                    try expectEqual(entries.first { $0.text == ".." }?.inode, try stat(".").inode, "inode of ..")
                }
            }
            check("each entry's inode is the one stat gives") {
                for number in 0..<20 { try makeFile("f\(number)") }
                try mkdir("d")
                try symlink("x", "l")
                try mkfifo("p")
                for entry in try entries(of: ".") { try expectEqual(entry.inode, try lstat(entry.text).inode, entry.text) }
            }
            check("each entry's type is right or unknown") {
                try makeFile("f")
                try mkdir("d")
                try symlink("x", "l")
                try mkfifo("p")
                try mknod("s", UInt32(S_IFSOCK) | 0o644)
                let expected = ["f": DT_REG, "d": DT_DIR, "l": DT_LNK, "p": DT_FIFO, "s": DT_SOCK]
                for entry in try entries(of: ".") where entry.type != DT_UNKNOWN {
                    try expectEqual(entry.type, expected[entry.text], "type of \(entry.text)")
                }
                probe("types are told") { try entries(of: ".").allSatisfy { $0.type != DT_UNKNOWN } }
            }
            check("3,000 entries are all listed, once each") {
                try mkdir("d")
                for number in 0..<3000 { try close(try open("d/entry-\(number)", O_WRONLY | O_CREAT)) }
                let names = try entries(of: "d").map(\.text)
                try expectEqual(names.count, 3000, "entries")
                try expectTrue(Set(names) == Set((0..<3000).map { "entry-\($0)" }), "every name")
                let again = try entries(of: "d").map(\.text)
                try expectTrue(Set(again) == Set(names), "every name the second time")
            }
            check("a small buffer lists all, once each") {
                for number in 0..<300 { try makeFile("f\(number)") }
                try withFile(".", O_RDONLY) { fd in
                    let names = try allEntries(fd, room: 64).map(\.text)
                    try expectEqual(Set(names).count, 302, "names")
                    try expectEqual(names.count, 302, "entries")
                }
            }
            check("too small a buffer is EINVAL") {
                try makeFile(String(repeating: "n", count: 200))
                try withFile(".", O_RDONLY) { fd in
                    try expect(.invalidArgument) { while !(try getdents(fd, room: 30).isEmpty) {} }
                }
            }
            check("deleting what was listed while listing misses nothing") {
                try mkdir("d")
                for number in 0..<1000 { try close(try open("d/\(number)", O_WRONLY | O_CREAT)) }
                var seen: Set<String> = []
                try withFile("d", O_RDONLY) { fd in
                    while case let some = try getdents(fd, room: 512), !some.isEmpty {
                        for entry in some where entry.text != "." && entry.text != ".." {
                            try expectTrue(seen.insert(entry.text).inserted, "\(entry.text) once")
                            try unlink("d/\(entry.text)")
                        }
                    }
                }
                try expectEqual(seen.count, 1000, "entries seen")
                try rmdir("d")
            }
            check("entries that stay are listed once while others come and go") {
                try mkdir("d")
                for number in 0..<500 { try close(try open("d/stays-\(number)", O_WRONLY | O_CREAT)) }
                var seen: [String: Int] = [:]
                try withFile("d", O_RDONLY) { fd in
                    var round = 0
                    while case let some = try getdents(fd, room: 600), !some.isEmpty {
                        for entry in some { seen[entry.text, default: 0] += 1 }
                        round += 1
                        try close(try open("d/comes-\(round)", O_WRONLY | O_CREAT))
                        if round % 2 == 0 { try unlink("d/comes-\(round - 1)") }
                    }
                }
                for number in 0..<500 { try expectEqual(seen["stays-\(number)"], 1, "times stays-\(number) was listed:") }
            }
            check("rewinding shows what was made since") {
                try makeFile("a")
                try withFile(".", O_RDONLY) { fd in
                    try expectEqual(try allEntries(fd).count, 3, "entries")
                    try makeFile("b")
                    try unlink("a")
                    try lseek(fd, 0, SEEK_SET)
                    try expectEqual(try allEntries(fd).map(\.text).sorted(), [".", "..", "b"])
                }
            }
            check("at the end there is nothing more, again and again") {
                try withFile(".", O_RDONLY) { fd in
                    _ = try allEntries(fd)
                    try expectEqual(try getdents(fd).count, 0, "entries")
                    try expectEqual(try getdents(fd).count, 0, "entries")
                }
            }
            check("seeking to a place told before goes on there") {
                for number in 0..<500 { try makeFile("f\(number)") }
                try withFile(".", O_RDONLY) { fd in
                    let all = try allEntries(fd)
                    for index in [0, 1, 2, 50, 250, 499, 500] {
                        try lseek(fd, all[index].next, SEEK_SET)
                        try expectTrue(
                            try allEntries(fd).map(\.name) == all[(index + 1)...].map(\.name),
                            "the entries after number \(index)")
                    }
                }
            }
            check("seeking while listing in small pieces goes on there") {
                for number in 0..<200 { try makeFile("f\(number)") }
                try withFile(".", O_RDONLY) { fd in
                    let all = try allEntries(fd)
                    try lseek(fd, 0, SEEK_SET)
                    let first = try getdents(fd, room: 1024)
                    try lseek(fd, all[100].next, SEEK_SET)
                    _ = try getdents(fd, room: 1024)
                    try lseek(fd, first.last!.next, SEEK_SET)
                    try expectTrue(try allEntries(fd).map(\.name) == all[first.count...].map(\.name), "the rest")
                }
            }
            check("two handles list apart") {
                for number in 0..<100 { try makeFile("f\(number)") }
                try withFile(".", O_RDONLY) { one in
                    try withFile(".", O_RDONLY) { two in
                        let part = try getdents(one, room: 512)
                        try expectEqual(try allEntries(two).count, 102, "entries")
                        try expectEqual(part.count + (try allEntries(one).count), 102, "entries")
                    }
                }
            }
            check("a duplicated descriptor shares the position") {
                for number in 0..<100 { try makeFile("f\(number)") }
                try withFile(".", O_RDONLY) { fd in
                    let copy = try dup(fd)
                    let part = try getdents(fd, room: 512)
                    try expectEqual(part.count + (try allEntries(copy).count), 102, "entries")
                }
            }
            check("a file renamed is listed under its new name") {
                try makeFile("f")
                _ = try names(in: ".")
                try rename("f", "g")
                try expectEqual(try names(in: "."), ["g"])
            }
            check("what another process makes and removes is listed so at once, 50 times") {
                for round in 0..<50 {
                    try Child { _ in try makeFile("f\(round)") }.finish()
                    try expectEqual(try names(in: "."), ["f\(round)"])
                    try Child { _ in try unlink("f\(round)") }.finish()
                    try expectEqual(try names(in: "."), [])
                }
            }
            check("listing and looking at each entry right away works in a changing folder") {
                try mkdir("d")
                let maker = try Child { _ in
                    for number in 0..<500 {
                        try close(try open("d/\(number)", O_WRONLY | O_CREAT))
                        if number >= 50 { try unlink("d/\(number - 50)") }
                    }
                    try makeFile("done")
                }
                while (try? stat("done")) == nil {
                    for entry in try entries(of: "d") {
                        do {
                            try expectEqual(try stat("d/\(entry.text)").type, S_IFREG, "type")
                        } catch let error as Errno where error == .noSuchFileOrDirectory {}
                    }
                }
                try maker.finish()
                try expectEqual(try entries(of: "d").count, 50, "entries")
            }
            check("a file is ENOTDIR") {
                try makeFile("f")
                try withFile("f", O_RDONLY) { fd in try expect(.notDirectory) { try getdents(fd) } }
            }
        }
    }
}
