import Glibc
import Synchronization

/// The room on the disk that saves which were not published take yet, until the kernel has told of the end of their handles (RELEASE) and what
/// they have written is kept; and versions that were replaced, until the kernel forgets them: until the last descriptor of their files is
/// closed. On a plain folder the next open(2) with O_TRUNC would have that room.
final class FreedRoom: Sendable {
    private let count = Atomic<Int>(0)
    /// On the monotonic clock, in nanoseconds.
    private let lastBegun = Atomic<UInt64>(0)
    private let lastEnded = Atomic<UInt64>(0)

    /// Held by all descriptors of a file that is to go (`Descriptor.keepUntilClosed`), and by its version.
    final class Share: Sendable {
        private let room: FreedRoom

        init(of room: FreedRoom) {
            self.room = room
            room.lastBegun.store(SaveService.now, ordering: .relaxed)
            room.count.add(1, ordering: .relaxed)
        }

        /// The program that held the file until now has closed it.
        func renew() { room.lastBegun.store(SaveService.now, ordering: .relaxed) }

        deinit {
            room.lastEnded.store(SaveService.now, ordering: .relaxed)
            room.count.subtract(1, ordering: .releasing)
        }
    }

    private var isAwaited: Bool {
        let now = SaveService.now
        // One that lasts is held by a program, as by a descriptor with O_PATH: its room is not about to be free.
        if count.load(ordering: .acquiring) > 0, now &- lastBegun.load(ordering: .relaxed) < Self.timeout { return true }
        return now &- lastEnded.load(ordering: .relaxed) < Self.closing
    }

    /// Whether some is still to be free: a busy machine may take long.
    var isOwed: Bool { count.load(ordering: .acquiring) > 0 && SaveService.now &- lastBegun.load(ordering: .relaxed) < Self.longest }

    /// Runs `body` again as long as it fails for want of room and some is about to be free, for three seconds at most. With no lock held.
    func await<Result, Failure: Error>(
        after lacksRoom: (Failure) -> Bool, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let deadline = SaveService.now + Self.timeout
        while true {
            // Before: what is freed meanwhile may be what was missing.
            let isAwaited = isAwaited
            do throws(Failure) {
                return try body()
            } catch {
                guard lacksRoom(error), isAwaited, SaveService.now < deadline else { throw error }
                usleep(Self.pause)
            }
        }
    }

    /// The file system may take a moment to free what was closed.
    private static let closing: UInt64 = 100_000_000
    private static let timeout: UInt64 = 3_000_000_000
    private static let longest: UInt64 = 20_000_000_000
    private static let pause: UInt32 = 1_000
}
