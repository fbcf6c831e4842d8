import Glibc

/// The work of all rows, in their order, in a folder of its own that is gone afterwards. Prints one line a row.
struct Workload {
    let contender: String
    let count: Int
    private let block: UnsafeMutableRawBufferPointer
    private let mebibyte: UnsafeMutableRawBufferPointer
    private static let blockSize = 4096
    private static let mebibyteSize = 1 << 20
    /// The large file, in MiB.
    private static let largeSize = 512
    private static let randomOperations = 50_000

    init(contender: String, count: Int) {
        self.contender = contender
        self.count = count
        block = .allocate(byteCount: Self.blockSize, alignment: Self.blockSize)
        mebibyte = .allocate(byteCount: Self.mebibyteSize, alignment: Self.blockSize)
        block.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "q"))
        mebibyte.initializeMemory(as: UInt8.self, repeating: 7)
    }

    func run(in folder: String) {
        require(chdir(folder), folder)
        require(mkdir("work", 0o755), "work")
        require(chdir("work"), "work")
        smallFiles()
        largeFile()
        require(chdir(".."), "..")
        require(rmdir("work"), "work")
    }

    private func measure(_ row: Row, operations: Int, _ body: () -> Void) {
        let start = monotonicSeconds()
        body()
        let rate = Double(operations) / (monotonicSeconds() - start)
        print("\(contender)\t\(row.rawValue)\t\(rate)")
    }

    private func smallFiles() {
        let files = Names("file", count: count).pointers
        let drafts = Names("draft", count: count).pointers
        let renamed = Names("renamed", count: count).pointers
        measure(.create, operations: count) { for name in files { write(name, O_CREAT | O_WRONLY) } }
        measure(.firstStat, operations: count) { for name in files { status(name) } }
        measure(.hotStat, operations: 20 * count) { for _ in 0..<20 { for name in files { status(name) } } }
        measure(.openRead, operations: 2 * count) { for _ in 0..<2 { for name in files { read(name) } } }
        measure(.overwrite, operations: count) { for name in files { write(name, O_WRONLY | O_TRUNC) } }
        measure(.saveByRename, operations: count) {
            for (draft, name) in zip(drafts, files) {
                write(draft, O_CREAT | O_EXCL | O_WRONLY)
                require(rename(draft, name), "rename")
            }
        }
        measure(.readFolder, operations: 10 * (count + 2)) { for _ in 0..<10 { forEachEntry(of: ".") { _, _ in } } }
        listLong()
        measure(.longListing, operations: 3 * (count + 2)) { for _ in 0..<3 { listLong() } }
        measure(.rename, operations: count) {
            for (name, new) in zip(files, renamed) { require(rename(name, new), "rename") }
        }
        measure(.unlink, operations: count) { for name in renamed { require(unlink(name), "unlink") } }
    }

    private func largeFile() {
        let (size, blocks) = (Self.largeSize, Self.largeSize << 20 / Self.blockSize)
        measure(.sequentialWrite, operations: size) {
            let file = opened("large", O_CREAT | O_RDWR)
            for _ in 0..<size {
                if Glibc.write(file, mebibyte.baseAddress, mebibyte.count) != mebibyte.count { stop("write") }
            }
            close(file)
        }
        measure(.sequentialRead, operations: 2 * size) {
            for _ in 0..<2 {
                let file = opened("large", O_RDONLY)
                while Glibc.read(file, mebibyte.baseAddress, mebibyte.count) > 0 {}
                close(file)
            }
        }
        var place: UInt32 = 1
        func randomOffset() -> off_t {
            place = place &* 1_103_515_245 &+ 12345
            return off_t(Int(place >> 8) % blocks * Self.blockSize)
        }
        measure(.randomRead, operations: Self.randomOperations) {
            let file = opened("large", O_RDONLY)
            for _ in 0..<Self.randomOperations {
                if pread(file, block.baseAddress, block.count, randomOffset()) != block.count { stop("pread") }
            }
            close(file)
        }
        measure(.randomWrite, operations: Self.randomOperations) {
            let file = opened("large", O_RDWR)
            for _ in 0..<Self.randomOperations {
                if pwrite(file, block.baseAddress, block.count, randomOffset()) != block.count { stop("pwrite") }
            }
            close(file)
        }
        measure(.mappedRead, operations: size) { readMapped(size << 20) }
        require(unlink("large"), "unlink")
        for isCounted in [false, true] {
            let overwrite = {
                let file = opened("half", O_CREAT | O_WRONLY | O_TRUNC)
                for _ in 0..<(size / 2) {
                    if Glibc.write(file, mebibyte.baseAddress, mebibyte.count) != mebibyte.count { stop("write") }
                }
                close(file)
            }
            if isCounted { measure(.largeOverwrite, operations: size / 2, overwrite) } else { overwrite() }
        }
        require(unlink("half"), "unlink")
    }

    private func opened(_ name: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
        require(open(name, flags, 0o644), String(cString: name))
    }

    private func write(_ name: UnsafePointer<CChar>, _ flags: Int32) {
        let file = opened(name, flags)
        if Glibc.write(file, block.baseAddress, block.count) != block.count { stop("write") }
        close(file)
    }

    private func read(_ name: UnsafePointer<CChar>) {
        let file = opened(name, O_RDONLY)
        if Glibc.read(file, block.baseAddress, block.count) != block.count { stop("read") }
        close(file)
    }

    private func status(_ name: UnsafePointer<CChar>) {
        var status = stat()
        require(stat(name, &status), "stat")
    }

    private func listLong() {
        forEachEntry(of: ".") { folder, name in
            var status = stat()
            require(fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW), "fstatat")
        }
    }

    private func readMapped(_ size: Int) {
        let file = opened("large", O_RDONLY)
        let mapping = mmap(nil, size, PROT_READ, MAP_SHARED, file, 0)
        guard let start = mapping, start != MAP_FAILED else { stop("mmap") }
        var sum = 0
        // Safe: the mapping is `size` bytes long and the file does not shrink meanwhile.
        for offset in stride(from: 0, to: size, by: Self.blockSize) {
            sum &+= Int(start.load(fromByteOffset: offset, as: UInt8.self))
        }
        // The sum is looked at so that the loop is not optimised away; random writes have changed some of the bytes.
        if sum < 7 * (size / Self.blockSize) { stop("the mapping shows other content than was written") }
        munmap(start, size)
        close(file)
    }
}
