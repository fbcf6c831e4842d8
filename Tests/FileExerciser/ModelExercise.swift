import SystemCalls

/// Random operations on one file, each followed by a comparison with an array in memory: whatever way a byte went in
/// (write, mapping, copy) and out (read, mapping), it must be the same byte, and everything never written must be zero.
struct ModelExercise {
    private let path: String
    private let operations: Int
    private let largest: Int
    private let seed: UInt64
    private var random: SeededGenerator
    /// What the file holds.
    private var model: [UInt8] = []
    private var fd: Int32
    /// The whole of the largest size, mapped: stays across operations so that a stale page would be seen.
    private var mapping: Mapping?
    /// Opened with O_PATH.
    private var place: Int32?
    /// The file was opened by its path. Else others see stores through a mapping when it is synchronized, and the kernel ends a copy by the size that
    /// it knows (quire help saves, "Limits").
    private var canBeMapped = true
    private var number = 0
    private var log: [String] = []
    private let punches: Bool
    private let zeroes: Bool
    private let allocates: Bool
    /// The process may open files by their handles: root's may.
    private let opensHandles: Bool

    /// Makes the file anew. Throws the errno of a call that should have worked.
    init(path: String, options: Options) throws {
        (self.path, operations, largest, seed) = (path, options.operations, options.size, options.seed)
        random = SeededGenerator(seed: options.seed)
        fd = try open(path, O_RDWR | O_CREAT | O_TRUNC)
        let file = fd
        func offers(_ mode: Int32) throws -> Bool {
            do { try fallocate(file, mode, 0, 4096) } catch {
                if error == .notSupportedOnSocket || error == .noFunction { return false }
                throw error
            }
            return true
        }
        allocates = try offers(0)
        punches = try offers(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)
        zeroes = try offers(FALLOC_FL_ZERO_RANGE)
        opensHandles = try Self.opensHandles(file)
        try ftruncate(fd, 0)
    }

    /// Throws a `Failure` with the last operations at the first difference.
    mutating func run() throws {
        do {
            for _ in 0..<operations {
                number += 1
                try operate()
                try compareSize()
                if number % 50 == 0 { try compareAll() }
            }
            try compareAll()
            try unmap()
            try close(fd)
            if let place { try close(place) }
            fd = try open(path, O_RDONLY)
            try compareAll()
            try unlink(path)
        } catch let error as Errno {
            throw failure("\(error.symbol) from \(lastFailure)")
        }
        say("model: \(operations) operations with seed \(seed), no difference")
    }

    private mutating func operate() throws {
        switch random.upTo(99) {
        case ..<18: try readRange()
        case ..<36: try writeRange()
        case ..<44: try resize()
        case ..<48: try allocate()
        case ..<56: try clear()
        case ..<62: try copyRange()
        case ..<72: try readMapping()
        case ..<82: try writeMapping()
        case ..<86: try synchronize()
        case ..<92: try reopen()
        case ..<94: try reopenEmptied()
        case ..<95: try reopenByPlace()
        case ..<96: try reopenByHandle()
        case ..<97: try emptyLate()
        case ..<98: try readByAnother()
        default: try appendByAnother()
        }
    }

    // MARK: Operations

    private mutating func readRange() throws {
        let range = aRange(within: largest)
        note("read \(range)")
        try compare(try pread(fd, range.count, at: range.lowerBound), model(range), at: range.lowerBound, "read")
    }

    private mutating func writeRange() throws {
        let range = aRange(within: largest)
        let bytes = someBytes(range.count)
        note("write \(range)")
        try expect(try pwrite(fd, bytes, at: range.lowerBound) == range.count, "a whole write")
        store(bytes, at: range.lowerBound)
    }

    private mutating func resize() throws {
        let size = random.chance(1, in: 2) ? random.upTo(largest) : random.upTo(model.count)
        let byPath = random.chance(1, in: 2)
        note("\(byPath ? "truncate" : "ftruncate") to \(size)")
        try byPath ? truncate(path, size) : ftruncate(fd, size)
        setSize(size)
    }

    private mutating func allocate() throws {
        guard allocates else { return }
        let range = aRange(within: largest)
        guard !range.isEmpty else { return }
        let keepsSize = random.chance(1, in: 3)
        note("allocate \(range)\(keepsSize ? " keeping the size" : "")")
        try fallocate(fd, keepsSize ? FALLOC_FL_KEEP_SIZE : 0, range.lowerBound, range.count)
        if !keepsSize && range.upperBound > model.count { setSize(range.upperBound) }
    }

    private mutating func clear() throws {
        let range = aRange(within: largest)
        guard !range.isEmpty else { return }
        let zero = FALLOC_FL_ZERO_RANGE
        let modes =
            (punches ? [FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE] : [])
            + (zeroes ? [zero, zero | FALLOC_FL_KEEP_SIZE] : [])
        guard let mode = modes.randomElement(using: &random) else { return }
        note("\(mode & zero != 0 ? "zero" : "punch") \(range)\(mode == zero ? "" : " keeping the size")")
        try fallocate(fd, mode, range.lowerBound, range.count)
        if mode == zero && range.upperBound > model.count { setSize(range.upperBound) }
        for position in range.clamped(to: 0..<model.count) { model[position] = 0 }
    }

    private mutating func copyRange() throws {
        let from = aRange(within: model.count)
        guard !from.isEmpty, canBeMapped else { return }
        let target = random.upTo(largest - from.count)
        guard !from.overlaps(target..<(target + from.count)) else { return }
        note("copy \(from) to \(target)")
        let bytes = model(from)
        var copied = 0
        while copied < from.count {
            let more = try copyFileRange(fd, from.lowerBound + copied, fd, target + copied, from.count - copied)
            try expect(more > 0, "progress of copy_file_range")
            copied += more
        }
        store(bytes, at: target)
    }

    private mutating func readMapping() throws {
        let range = aRange(within: model.count)
        guard !range.isEmpty, canBeMapped else { return }
        note("mapped read \(range)")
        try compare(try mapped().bytes(range), model(range), at: range.lowerBound, "mapped")
    }

    private mutating func writeMapping() throws {
        let range = aRange(within: model.count)
        guard !range.isEmpty, canBeMapped else { return }
        let bytes = someBytes(range.count)
        note("mapped write \(range)")
        try mapped().store(bytes, at: range.lowerBound)
        store(bytes, at: range.lowerBound)
        if random.chance(1, in: 4) {
            note("msync")
            try mapped().sync(MS_SYNC)
        }
    }

    private mutating func synchronize() throws {
        switch random.upTo(3) {
        case 0:
            note("fsync")
            try fsync(fd)
        case 1:
            note("fdatasync")
            try fdatasync(fd)
        case 2:
            note("msync")
            try mapping?.sync(random.chance(1, in: 2) ? MS_SYNC : MS_ASYNC)
        default:
            note("drop the cache")
            try fadvise(fd, POSIX_FADV_DONTNEED)
        }
    }

    private mutating func reopen() throws {
        let keepsMapping = random.chance(1, in: 2)
        note("close and open\(keepsMapping ? ", keeping the mapping" : "")")
        if !keepsMapping { try unmap() }
        try close(fd)
        fd = try open(path, O_RDWR)
        canBeMapped = true
    }

    private mutating func reopenEmptied() throws {
        note("close and open with O_TRUNC")
        try unmap()
        try close(fd)
        fd = try open(path, O_RDWR | O_TRUNC)
        model = []
        canBeMapped = true
    }

    /// Through /proc/self/fd, by a descriptor that says where the file is and no more; it may have been opened long ago.
    private mutating func reopenByPlace() throws {
        let isEmptied = random.chance(1, in: 2)
        if place == nil || random.chance(1, in: 2) {
            note("open with O_PATH")
            if let place { try close(place) }
            place = try open(path, O_PATH)
        }
        guard let place else { return }
        note("close and open through /proc/self/fd\(isEmptied ? " with O_TRUNC" : "")")
        try unmap()
        try close(fd)
        fd = try open("/proc/self/fd/\(place)", O_RDWR | (isEmptied ? O_TRUNC : 0))
        if isEmptied { model = [] }
        canBeMapped = false
    }

    private static func opensHandles(_ file: Int32) throws -> Bool {
        do { try close(openByHandle(file, O_RDONLY)) } catch {
            if error == .notPermitted { return false }
            throw error
        }
        return true
    }

    /// By name_to_handle_at(2) and open_by_handle_at(2).
    private mutating func reopenByHandle() throws {
        guard opensHandles else { return }
        let isEmptied = random.chance(1, in: 2)
        note("open by handle\(isEmptied ? " with O_TRUNC" : ""), and close")
        try unmap()
        let before = fd
        fd = try openByHandle(before, O_RDWR | (isEmptied ? O_TRUNC : 0))
        try close(before)
        if isEmptied { model = [] }
        canBeMapped = false
    }

    /// By ftruncate(2) on a descriptor that was opened for that; another one may read meanwhile.
    private mutating func emptyLate() throws {
        let isRead = random.chance(1, in: 2)
        note("close, open and ftruncate to 0\(isRead ? " while another handle is open" : "")")
        try unmap()
        try close(fd)
        let reader = isRead ? try open(path, O_RDONLY) : nil
        fd = try open(path, O_RDWR)
        try ftruncate(fd, 0)
        model = []
        let bytes = someBytes(1 + random.upTo(9000))
        try expect(try pwrite(fd, bytes, at: 0) == bytes.count, "a whole write")
        store(bytes, at: 0)
        if let reader { try close(reader) }
        canBeMapped = !isRead
    }

    private mutating func readByAnother() throws {
        note("read all through another handle")
        let other = try open(path, O_RDONLY)
        try compare(try pread(other, largest + 1, at: 0), model, at: 0, "read by another handle")
        try close(other)
    }

    private mutating func appendByAnother() throws {
        let bytes = someBytes(min(random.upTo(5000), largest - model.count))
        guard !bytes.isEmpty else { return }
        note("append \(bytes.count) bytes through another handle")
        let other = try open(path, O_WRONLY | O_APPEND)
        try expect(try write(other, bytes) == bytes.count, "a whole write")
        try close(other)
        store(bytes, at: model.count)
    }

    // MARK: The model

    private func model(_ range: Range<Int>) -> [UInt8] { Array(model[range.clamped(to: 0..<model.count)]) }

    private mutating func setSize(_ size: Int) {
        if size < model.count {
            model.removeLast(model.count - size)
        } else {
            model += [UInt8](repeating: 0, count: size - model.count)
        }
    }
    private mutating func store(_ bytes: [UInt8], at offset: Int) {
        // Writing nothing beyond the end does not extend.
        guard !bytes.isEmpty else { return }
        if offset + bytes.count > model.count { setSize(offset + bytes.count) }
        model.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
    }

    /// A range, small as often as large, on page borders as often as off them.
    private mutating func aRange(within bound: Int) -> Range<Int> {
        var start = random.upTo(bound)
        var length = random.upTo(random.chance(1, in: 2) ? 300 : 65536)
        if random.chance(1, in: 4) {
            start &= ~4095
            length = (length + 4095) & ~4095
        }
        return start..<min(bound, start + length)
    }
    private mutating func someBytes(_ count: Int) -> [UInt8] {
        // Never zero, so that a hole is told from what was written.
        let start = random.upTo(250)
        return (0..<count).map { UInt8(1 + (start + $0 + $0 >> 8) % 251) }
    }
    private mutating func mapped() throws -> Mapping {
        if let mapping { return mapping }
        let new = try Mapping(fd, length: largest, PROT_READ | PROT_WRITE, MAP_SHARED)
        mapping = new
        return new
    }
    private mutating func unmap() throws {
        try mapping?.unmap()
        mapping = nil
    }

    // MARK: Comparison

    private func compareSize() throws {
        let size = Int(try fstat(fd).size)
        try expect(size == model.count, "a size of \(model.count), got \(size)")
    }
    private func compareAll() throws {
        try compareSize()
        try compare(try pread(fd, largest + 1, at: 0), model, at: 0, "read")
        if let mapping { try compare(mapping.bytes(0..<model.count), model, at: 0, "mapped") }
        let size = Int(try stat(path).size)
        try expect(size == model.count, "a size of \(model.count) by path, got \(size)")
    }
    private func compare(_ got: [UInt8], _ expected: [UInt8], at offset: Int, _ how: String) throws {
        guard got != expected else { return }
        try expect(got.count == expected.count, "\(expected.count) bytes at \(offset) (\(how)), got \(got.count)")
        let differing = got.indices.filter { got[$0] != expected[$0] }
        let first = differing[0]
        throw failure(
            "byte \(offset + first) is \(got[first]), not \(expected[first]) (\(how)); "
                + "\(differing.count) bytes differ, up to \(offset + differing.last!)")
    }
    private func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
        if !condition { throw failure("expected \(what())") }
    }
    private func failure(_ text: String) -> Failure {
        Failure(text: log.joined(separator: "\n") + "\nmodel: operation \(number) with seed \(seed): \(text)")
    }
    private mutating func note(_ text: String) {
        log.append("\(number): \(text) (size \(model.count))")
        if log.count > 60 { log.removeFirst(30) }
    }
}
