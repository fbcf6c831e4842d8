import Glibc

/// The tree that memory is measured with: folders of a thousand small files.
enum Tree {
    static func fill(_ folder: String, count: Int) {
        require(chdir(folder), folder)
        let content = Array("a document\n".utf8)
        for index in 0..<count {
            if index % 1000 == 0 { require(mkdir("folder\(index / 1000)", 0o755), "mkdir") }
            let file = require(open("folder\(index / 1000)/file\(index)", O_CREAT | O_WRONLY, 0o644), "file\(index)")
            if write(file, content, content.count) != content.count { stop("write") }
            close(file)
        }
    }

    /// Looks at every entry below a folder, which must have `count` files. Virtual folders are not entered.
    static func walk(_ folder: String, count: Int) {
        require(chdir(folder), folder)
        var folders: [String] = []
        forEachEntry(of: ".") { _, name in
            let name = String(cString: name)
            if name.hasPrefix("folder") { folders.append(name) }
        }
        var files = 0
        for folder in folders {
            forEachEntry(of: folder) { descriptor, name in
                var status = stat()
                require(fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW), folder)
                if status.st_mode & S_IFMT == S_IFREG { files += 1 }
            }
        }
        guard files == count else { exit(saying: "benchmarks: \(files) files found instead of \(count)", code: 1) }
    }
}
