import SystemCalls

/// A path of raw bytes for the calls.
private func raw(_ bytes: [UInt8]) -> [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }

extension Table {
    func addNameChecks() {
        family("names") {
            check("every byte but slash and NUL is a name of its own") {
                var expected: Set<[UInt8]> = []
                for byte in UInt8(1)...255 where byte != UInt8(ascii: "/") {
                    let name = byte == UInt8(ascii: ".") ? [byte, byte, byte] : [byte]
                    expected.insert(name)
                    try close(try open(raw(name), O_WRONLY | O_CREAT | O_EXCL))
                }
                try expectEqual(Set(try entries(of: ".").map(\.name)), expected)
                for name in expected { try unlink(raw(name)) }
            }
            check("every byte can end a longer name") {
                for byte in UInt8(1)...255 where byte != UInt8(ascii: "/") {
                    let name = Array("file-".utf8) + [byte]
                    try close(try open(raw(name), O_WRONLY | O_CREAT | O_EXCL))
                    _ = try stat(raw(name))
                    try unlink(raw(name))
                    try expect(.noSuchFileOrDirectory) { try stat(raw(name)) }
                }
            }
            check("a name that is not UTF-8 is kept byte for byte") {
                let name: [UInt8] = [0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80]
                try mkdir(raw(name))
                try expectEqual(try entries(of: ".").map(\.name), [name])
                try rmdir(raw(name))
            }
            check("the two Unicode forms of é are two names") {
                try makeFile("caf\u{e9}", "composed")
                try makeFile("cafe\u{301}", "decomposed")
                try expectContent("caf\u{e9}", "composed")
                try expectContent("cafe\u{301}", "decomposed")
                try expectEqual(try entries(of: ".").count, 2, "entries")
            }
            check("names that differ in case are two names") {
                try makeFile("name", "small")
                try makeFile("NAME", "capital")
                try expectContent("name", "small")
                try expectContent("NAME", "capital")
            }
            for byte in [UInt8(ascii: "n"), 0xff, 0x01] {
                check("255 bytes 0x\(String(byte, radix: 16)) are a name") {
                    let name = [UInt8](repeating: byte, count: 255)
                    try close(try open(raw(name), O_WRONLY | O_CREAT | O_EXCL))
                    try expectEqual(try entries(of: ".").map(\.name), [name])
                    try rename(raw(name), raw([byte]))
                    try unlink(raw([byte]))
                }
            }
            check("every length from 1 to 255 works for files, folders, links and symbolic links") {
                for length in 1...255 {
                    let name = [UInt8](repeating: UInt8(ascii: "x"), count: length)
                    try mkdir(raw(name))
                    try rmdir(raw(name))
                    try symlink("target", raw(name))
                    try unlink(raw(name))
                    try close(try open(raw(name), O_WRONLY | O_CREAT | O_EXCL))
                    try link(raw(name), "other")
                    try unlink("other")
                    try unlink(raw(name))
                }
                try expectEqual(try names(in: "."), [])
            }
            check("names that start with a dot are listed") {
                for name in [".hidden", "...", "..x", ". "] { try makeFile(name) }
                try expectEqual(try names(in: "."), [". ", "...", "..x", ".hidden"])
            }
            check("names that other systems reserve are ordinary") {
                for name in [
                    "CON", "a:b", "a\\b", "a*b?", "trailing ", "trailing.", "-rf", "~", "#x#", "new\nline", "tab\t",
                ] {
                    try makeFile(name, name)
                    try expectContent(name, name)
                }
                try expectEqual(try entries(of: ".").count, 11, "entries")
            }
            check("names that FUSE file systems use for themselves are ordinary") {
                for name in [".fuse_hidden0000000000000001", ".xdg-volume-info", ".Trash", ".nfs0001"] {
                    try makeFile(name, name)
                    try expectContent(name, name)
                    try unlink(name)
                }
            }
            check("a symbolic link's target is any bytes") {
                let target: [UInt8] = (1...255).map { $0 }
                try symlink(raw(target), "l")
                let got = try filled(512) { (buffer) throws(Errno) in
                    try withMemory("l") { (path) throws(Errno) in
                        try call(SYS_readlinkat, AT_FDCWD, path, buffer, 512)
                    }
                }
                try expectEqual(got, target)
            }
            check("an attribute's name is any text") {
                try makeFile("f")
                try setxattr("f", "user.\u{e9}\u{1f4c4} x", "v")
                try expectEqual(try listxattr("f"), ["user.\u{e9}\u{1f4c4} x"])
            }
        }
    }
}
