import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// A process that repeats on the mount what was done to a document, so that the kernel tells its watches: a thread of the daemon
/// must not touch the mount. Started when first needed; killed when it is not needed any more.
final class RepeatingProcess {
    enum Operation {
        /// Looks a path up, and once more if it is there.
        case lookUp
        /// Sets the time of modification: SETATTR, which raises IN_MODIFY.
        case write

        var letter: UInt8 {
            switch self {
            case .lookUp: UInt8(CL_REPEAT_LOOKUP)
            case .write: UInt8(CL_REPEAT_WRITE)
            }
        }
    }

    let pid: pid_t
    private let channel: Descriptor

    init(_ start: MountConfiguration.StartRepeating) throws(Errno) {
        var ends: (Int32, Int32) = (-1, -1)
        _ = try check(withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) { cl_repeat_channel($0) }
        })
        channel = Descriptor(owning: ends.0)
        pid = try start(Descriptor(owning: ends.1))
    }

    /// Whether it could be done. Throws if there is no answer, after which the process is of no use.
    func `repeat`(
        _ operation: Operation, _ path: [UInt8], below root: [UInt8], within milliseconds: Int32
    ) throws(Errno) -> Bool {
        let request = [operation.letter] + root + [0] + path
        return try check(request.withUnsafeBytes { cl_repeat(channel.number, $0.baseAddress, $0.count, milliseconds) }) == 1
    }

    deinit {
        kill(pid, SIGKILL)
        // It ends at once but where the mount is stuck: then whoever takes over the daemon's children waits for it.
        for _ in 0..<100 where waitpid(pid, nil, WNOHANG) == 0 { usleep(1_000) }
    }
}
