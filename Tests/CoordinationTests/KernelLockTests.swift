import Coordination
import Glibc
import TestSupport
import Testing

/// The table against the kernel's own locks on a plain file: the same random requests, the same answers.
///
/// OFD locks stand for record locks, as they let one process be several owners. Each open file description is an owner
/// with a handle of its own.
struct KernelLockTests {
    /// A plain file, open several times.
    final class PlainFile {
        // <fcntl.h> gives these only with _GNU_SOURCE, so Glibc's module has no names for them.
        private static let getOFDLock: Int32 = 36
        private static let setOFDLock: Int32 = 37

        private let folder: TemporaryFolder
        private var path: String { folder.path("file") }
        private(set) var descriptors: [Int32] = []

        init(descriptors count: Int) throws {
            folder = try TemporaryFolder()
            folder.makeFile("file")
            for _ in 0..<count { descriptors.append(Glibc.open(path, O_RDWR | O_CLOEXEC)) }
            try #require(!descriptors.contains { $0 < 0 })
        }

        deinit { for descriptor in descriptors { close(descriptor) } }

        /// Closes a descriptor, and with it ends its locks, and opens it anew.
        func reopen(_ index: Int, isOfWholeLocks: Bool = false) throws {
            // A process that another test starts at this moment has the file open too, until it runs its program, and its locks end
            // when nobody has. A lock of the kind that the test does not use tells when that is.
            func mark(_ mode: LockMode?) throws -> Bool {
                isOfWholeLocks ? try set(mode, .all, by: index) : try setWhole(mode, by: index)
            }
            try #require(try mark(.exclusive))
            close(descriptors[index])
            descriptors[index] = Glibc.open(path, O_RDWR | O_CLOEXEC)
            try #require(descriptors[index] >= 0)
            try eventually { try mark(.exclusive) }
            try #require(try mark(nil))
        }

        /// F_OFD_SETLK; nil for the mode unlocks. Returns whether it was granted.
        func set(_ mode: LockMode?, _ range: LockRange, by index: Int) throws -> Bool {
            var request = Self.request(mode, range)
            if fcntl(descriptors[index], Self.setOFDLock, &request) == 0 { return true }
            try #require(errno == EAGAIN)
            return false
        }

        /// F_OFD_GETLK: the mode and range of the first conflicting lock.
        func firstConflict(_ mode: LockMode, _ range: LockRange, by index: Int) throws -> Conflict? {
            var request = Self.request(mode, range)
            let result = fcntl(descriptors[index], Self.getOFDLock, &request)
            try #require(result == 0)
            if request.l_type == F_UNLCK { return nil }
            let range = try #require(LockRange(start: Int64(request.l_start), length: Int64(request.l_len)))
            return Conflict(mode: request.l_type == F_RDLCK ? .shared : .exclusive, range: range)
        }

        /// flock(2) with LOCK_NB; nil for the mode unlocks. Returns whether it was granted.
        func setWhole(_ mode: LockMode?, by index: Int) throws -> Bool {
            let operation = mode == nil ? LOCK_UN : mode == .shared ? LOCK_SH : LOCK_EX
            if flock(descriptors[index], operation | LOCK_NB) == 0 { return true }
            try #require(errno == EWOULDBLOCK)
            return false
        }

        private static func request(_ mode: LockMode?, _ range: LockRange) -> Glibc.flock {
            var request = Glibc.flock()
            request.l_type = Int16(mode == nil ? F_UNLCK : mode == .shared ? F_RDLCK : F_WRLCK)
            request.l_whence = Int16(SEEK_SET)
            request.l_start = off_t(range.start)
            request.l_len = off_t(range.length)
            return request
        }
    }

    struct Conflict: Equatable {
        let mode: LockMode
        let range: LockRange
    }

    static let owners = 5
    static let bytes: Int64 = 24
    /// Asks only, and is never given a lock.
    static let observer = owners

    /// A range in the first bytes, now and then to the end of the file or the last byte there can be.
    static func randomRange(_ numbers: inout SeededNumbers) -> LockRange {
        let start = Int64.random(in: 0..<bytes, using: &numbers)
        switch Int.random(in: 0..<20, using: &numbers) {
        case 0: return Locking.range(start, .max)
        case 1: return Locking.range(start, .max - 1)
        case 2: return Locking.range(.max, .max)
        case 3: return .all
        default: return Locking.range(start, Int64.random(in: start..<bytes, using: &numbers))
        }
    }

    static func record(_ mode: LockMode, _ range: LockRange, by index: Int) -> AdvisoryLock {
        .record(
            mode, range, of: Locking.document, owner: LockOwner(UInt64(index)), handle: LockHandle(UInt64(index)),
            pid: 1)
    }

    static func randomMode(_ numbers: inout SeededNumbers) -> LockMode {
        Bool.random(using: &numbers) ? .shared : .exclusive
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func recordLocksAnswerAsTheKernelDoes(seed: UInt64) throws {
        let file = try PlainFile(descriptors: Self.owners + 1)
        let table = TestTable()
        var numbers = SeededNumbers(seed: seed)
        func conflict(_ mode: LockMode, _ range: LockRange, by index: Int) -> Conflict? {
            table.state.firstConflict(with: Self.record(mode, range, by: index))
                .map { Conflict(mode: $0.mode, range: $0.range) }
        }
        for step in 0..<5_000 {
            let index = Int.random(in: 0..<Self.owners, using: &numbers)
            let range = Self.randomRange(&numbers)
            let mode = Self.randomMode(&numbers)
            switch Int.random(in: 0..<100, using: &numbers) {
            case 0..<50:
                let granted = try file.set(mode, range, by: index)
                let decision = table.tryTake(Self.record(mode, range, by: index))
                try #require(decision == .init(granted ? .granted : .refused), "step \(step)")
            case 50..<75:
                try #require(try file.set(nil, range, by: index))
                #expect(table.unlock(range, of: LockOwner(UInt64(index)), .record, on: Locking.document) == [])
            case 75..<98:
                let expected = try file.firstConflict(mode, range, by: index)
                try #require(conflict(mode, range, by: index) == expected, "step \(step)")
            default:
                try file.reopen(index)
                #expect(table.release(LockHandle(UInt64(index))) == [])
            }
            guard step % 25 == 0 else { continue }
            for byte in Array(0..<Self.bytes) + [.max - 1, .max] {
                let range = Locking.range(byte, byte)
                let expected = try file.firstConflict(.exclusive, range, by: Self.observer)
                try #require(conflict(.exclusive, range, by: Self.observer) == expected, "step \(step) byte \(byte)")
            }
        }
        for index in 0..<Self.owners { #expect(table.release(LockHandle(UInt64(index))) == []) }
        #expect(table.state.isEmpty)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func wholeLocksAnswerAsTheKernelDoes(seed: UInt64) throws {
        let file = try PlainFile(descriptors: 4)
        let table = TestTable()
        var numbers = SeededNumbers(seed: seed)
        for step in 0..<5_000 {
            let index = Int.random(in: 0..<4, using: &numbers)
            switch Int.random(in: 0..<10, using: &numbers) {
            case 0..<7:
                let mode = Self.randomMode(&numbers)
                let granted = try file.setWhole(mode, by: index)
                let decision = table.tryTake(Locking.whole(mode, by: UInt64(index)))
                try #require(decision == .init(granted ? .granted : .refused), "step \(step)")
            case 7..<9:
                try #require(try file.setWhole(nil, by: index))
                #expect(table.unlockWhole(of: UInt64(index)) == [])
            default:
                try file.reopen(index, isOfWholeLocks: true)
                #expect(table.release(LockHandle(UInt64(index))) == [])
            }
        }
        for index in 0..<4 { #expect(table.release(LockHandle(UInt64(index))) == []) }
        #expect(table.state.isEmpty)
    }
}
