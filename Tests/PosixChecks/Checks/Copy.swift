import SystemCalls

extension Table {
    func addCopyChecks() {
        family("copy_file_range") {
            check("bytes go from file to file and both positions move") {
                try makePatternFile("f", 10000)
                try makeFile("g")
                try withFile("f", O_RDONLY) { input in
                    try withFile("g", O_RDWR) { output in
                        try expectEqual(try copyFileRange(input, nil, output, nil, 6000), 6000, "copied")
                        try expectEqual(try copyFileRange(input, nil, output, nil, 6000), 4000, "copied")
                        try expectEqual(try copyFileRange(input, nil, output, nil, 6000), 0, "copied at the end")
                        try expectEqual(try lseek(output, 0, SEEK_CUR), 10000, "position")
                    }
                }
                try expectTrue(try content("g") == pattern(10000), "the same bytes")
            }
            check("offsets leave the positions") {
                try makePatternFile("f", 10000)
                try makeFile("g", "abc")
                try withFile("f", O_RDONLY) { input in
                    try withFile("g", O_RDWR) { output in
                        try expectEqual(try copyFileRange(input, 100, output, 3, 500), 500, "copied")
                        try expectEqual(try lseek(input, 0, SEEK_CUR), 0, "position")
                    }
                }
                try expectTrue(try content("g") == Array("abc".utf8) + pattern(500, from: 100), "the bytes in place")
            }
            check("within one file, apart, works") {
                try makePatternFile("f", 10000)
                try withFile("f", O_RDWR) { fd in
                    try expectEqual(try copyFileRange(fd, 0, fd, 10000, 10000), 10000, "copied")
                }
                try expectTrue(try content("f") == pattern(10000) + pattern(10000), "the bytes twice")
            }
            check("within one file, overlapping, is EINVAL") {
                try makePatternFile("f", 10000)
                try withFile("f", O_RDWR) { fd in try expect(.invalidArgument) { try copyFileRange(fd, 0, fd, 100, 500) } }
            }
            check("what was just written and not yet synced is copied") {
                try makeFile("f")
                try makeFile("g")
                try withFile("f", O_RDWR) { input in
                    try withFile("g", O_RDWR) { output in
                        try write(input, pattern(100_000))
                        var copied = 0
                        while copied < 100_000 {
                            let more = try copyFileRange(input, copied, output, copied, 100_000 - copied)
                            try expectTrue(more > 0, "progress")
                            copied += more
                        }
                    }
                }
                try expectTrue(try content("g") == pattern(100_000), "the same bytes")
            }
            check("the copy is seen by who had the target cached and mapped") {
                try makePatternFile("f", 8192)
                try makeFile("g", String(repeating: "-", count: 8192))
                try withFile("g", O_RDWR) { output in
                    let mapping = try Mapping(output, length: 8192, PROT_READ, MAP_SHARED)
                    try expectEqual(mapping[5000], UInt8(ascii: "-"), "byte before")
                    try withFile("f", O_RDONLY) { input in try copyFileRange(input, 0, output, 0, 8192) }
                    try expectEqual(mapping[5000], pattern(8192)[5000], "mapped byte")
                    try expectTrue(try pread(output, 8192, at: 0) == pattern(8192), "the same bytes")
                }
            }
            check("the target's size and modification time are seen at once") {
                try makePatternFile("f", 5000)
                try makeFile("g")
                let before = try stat("g")
                pauseForClock()
                try withFile("f", O_RDONLY) { input in
                    try withFile("g", O_WRONLY) { output in
                        try copyFileRange(input, 0, output, 0, 5000)
                        try expectEqual(try fstat(output).size, 5000, "size")
                        try expectEqual(try stat("g").size, 5000, "size by path")
                        try expectTrue(try stat("g").modify_ns > before.modify_ns, "a later modification time")
                    }
                }
            }
            check("a read-only target and a write-only source are EBADF") {
                try makeFile("f", "abc")
                try makeFile("g", "abc")
                try withFile("f", O_RDONLY) { input in
                    try withFile("g", O_RDONLY) { output in
                        try expect(.badFileDescriptor) { try copyFileRange(input, 0, output, 0, 1) }
                    }
                    try withFile("g", O_WRONLY) { output in
                        try expect(.badFileDescriptor) { try copyFileRange(output, 0, output, 100, 1) }
                    }
                }
            }
            check("an appending target is EBADF") {
                try makeFile("f", "abc")
                try makeFile("g")
                try withFile("f", O_RDONLY) { input in
                    try withFile("g", O_WRONLY | O_APPEND) { output in
                        try expect(.badFileDescriptor) { try copyFileRange(input, nil, output, nil, 1) }
                    }
                }
            }
            check("a folder is EISDIR, a fifo EINVAL, flags EINVAL") {
                try makeFile("f", "abc")
                try mkfifo("p")
                try withFile("f", O_RDWR) { fd in
                    try withFile(".", O_RDONLY) { folder in
                        try expect(oneOf: [.isDirectory, .badFileDescriptor]) { try copyFileRange(folder, 0, fd, 0, 1) }
                    }
                    try withFile("p", O_RDONLY | O_NONBLOCK) { fifo in
                        try expect(.invalidArgument) { try copyFileRange(fifo, nil, fd, nil, 1) }
                    }
                    try expect(.invalidArgument) { try copyFileRange(fd, 0, fd, 100, 1, flags: 1) }
                }
            }
            check("beyond the file size limit is EFBIG") {
                try makePatternFile("f", 5000)
                try makeFile("g")
                try done(sc_set_handler(SIGXFSZ, 1))
                try done(sc_prlimit(RLIMIT_FSIZE, 4096, 4096))
                try withFile("f", O_RDONLY) { input in
                    try withFile("g", O_WRONLY) { output in
                        try expect(.fileTooLarge) { try copyFileRange(input, 0, output, 4096, 100) }
                    }
                }
            }
        }
        family("sendfile and splice") {
            check("sendfile copies from file to file") {
                try makePatternFile("f", 50000)
                try makeFile("g")
                try withFile("f", O_RDONLY) { input in
                    try withFile("g", O_WRONLY) { output in
                        var sent = 0
                        while case let more = try sendfile(output, input, 50000), more > 0 { sent += more }
                        try expectEqual(sent, 50000, "sent")
                    }
                }
                try expectTrue(try content("g") == pattern(50000), "the same bytes")
            }
            check("sendfile with an offset leaves the position") {
                try makePatternFile("f", 5000)
                try makeFile("g")
                try withFile("f", O_RDONLY) { input in
                    try withFile("g", O_WRONLY) { output in try sendfile(output, input, at: 100, 200) }
                    try expectEqual(try lseek(input, 0, SEEK_CUR), 0, "position")
                }
                try expectTrue(try content("g") == pattern(200, from: 100), "the same bytes")
            }
            check("sendfile goes to a pipe") {
                try makePatternFile("f", 3000)
                let (output, input) = try pipe()
                try withFile("f", O_RDONLY) { fd in try sendfile(input, fd, 3000) }
                try expectTrue(try read(output, 9000) == pattern(3000), "the same bytes")
            }
            check("splice goes from file to pipe to file") {
                try makePatternFile("f", 60000)
                try makeFile("g")
                let (output, input) = try pipe()
                try withFile("f", O_RDONLY) { from in
                    try withFile("g", O_WRONLY) { to in
                        var total = 0
                        while case let more = try splice(from, input, 16384), more > 0 {
                            var left = more
                            while left > 0 { left -= try splice(output, to, left) }
                            total += more
                        }
                        try expectEqual(total, 60000, "spliced")
                    }
                }
                try expectTrue(try content("g") == pattern(60000), "the same bytes")
            }
        }
    }
}
