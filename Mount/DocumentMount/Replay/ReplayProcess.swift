import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

/// A process that replays on the mount what was done elsewhere, so that the kernel tells its watches: a thread of the daemon
/// must not touch the mount. Its requests are answered as done and never carried out: see `Replayer`.
final class ReplayProcess {
    /// Paths are below the mount's root.
    enum Operation {
        /// Looks a path up, and again, when nothing is there any more; and the path by which others know the file. IN_DELETE_SELF if the
        /// kernel knows the file without links; else the outcome is `differs`.
        case loseName([UInt8], [UInt8])
        /// Sets the time of modification, which raises IN_MODIFY; opened for writing around that, IN_CLOSE_WRITE.
        case write([UInt8], isModified: Bool, isClosed: Bool)
        /// IN_ATTRIB.
        case changeAttributes([UInt8])
        /// IN_CREATE. `type` is that of st_mode.
        case make([UInt8], type: mode_t)
        /// IN_DELETE.
        case remove([UInt8], type: mode_t)
        /// IN_MOVED_FROM and IN_MOVED_TO.
        case move([UInt8], to: [UInt8])
        /// Has the kernel ask for a name of which it may know something.
        case revalidate([UInt8])
        /// Opens a regular file for reading.
        case open([UInt8])
        /// Compares the inodes that the kernel has cached at paths with those given; 0: nothing. CL_REPLAY_MOST bytes of them at most.
        case compare([(path: [UInt8], inode: UInt64)])

        /// As `cl_replay` takes it; nil if it is too long for a path.
        fileprivate func request(at place: MountPlace) -> [UInt8]? {
            let (letter, argument, paths): (Int, Int32, [[UInt8]]) =
                switch self {
                case .loseName(let path, let place): (Int(CL_REPLAY_LOSE_NAME), 0, [path, place])
                case .write(let path, let isModified, let isClosed):
                    (
                        Int(CL_REPLAY_WRITE),
                        (isModified ? Int32(truncatingIfNeeded: CL_REPLAY_MODIFIED) : 0) | (isClosed ? Int32(truncatingIfNeeded: CL_REPLAY_CLOSED) : 0), [path]
                    )
                case .changeAttributes(let path): (Int(CL_REPLAY_ATTRIBUTES), 0, [path])
                case .make(let path, let type): (Int(CL_REPLAY_MAKE), Int32(clamping: type >> 12), [path])
                case .remove(let path, let type): (Int(CL_REPLAY_REMOVE), Int32(clamping: type >> 12), [path])
                case .move(let path, let newPath): (Int(CL_REPLAY_MOVE), 0, [path, newPath])
                case .revalidate(let path): (Int(CL_REPLAY_REVALIDATE), 0, [path])
                case .open(let path): (Int(CL_REPLAY_OPEN), 0, [path])
                case .compare(let names): (Int(CL_REPLAY_COMPARE), 0, names.flatMap { [$0.path, Array("\($0.inode)".utf8)] })
                }
            guard paths.allSatisfy({ $0.count < Int(PATH_MAX) }), place.path.count < Int(PATH_MAX) else { return nil }
            let connection = withUnsafeBytes(of: place.connection) { Array($0) }
            return [UInt8(clamping: letter), UInt8(clamping: argument)] + connection + ([place.path] + paths).joined(separator: [0])
        }
    }

    let pid: pid_t
    private let channel: Descriptor

    init(_ start: MountConfiguration.StartReplay) throws(Errno) {
        var ends: (Int32, Int32) = (-1, -1)
        _ = try check(withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) { cl_message_channel($0) }
        })
        channel = Descriptor(owning: ends.0)
        pid = try start(Descriptor(owning: ends.1))
    }

    /// Asks for it: `isDone` is to be asked next. Throws if the process is of no use any more, and then nothing was done.
    func begin(_ operation: Operation, at place: MountPlace) throws(Errno) {
        guard let request = operation.request(at: place) else { throw .fileNameTooLong }
        _ = try check(request.withUnsafeBytes { cl_replay(channel.number, $0.baseAddress, $0.count) })
    }

    /// The result of an operation.
    enum Outcome: Equatable {
        case done
        case failed
        /// The kernel has something else at the path with this index, the first of those compared; or links of a file that lost its name.
        case differs(Int)
    }

    /// Nil if it is not known in time. Throws if the process is of no use any more.
    func outcome(within milliseconds: Int32) throws(Errno) -> Outcome? {
        do throws(Errno) {
            let first = Int(CL_REPLAY_DIFFERS)
            return switch Int(try check(cl_replayed(channel.number, milliseconds))) {
            case 1: .done
            case let answer where answer >= first: .differs(answer - first)
            default: .failed
            }
        } catch .timedOut {
            return nil
        }
    }

    /// Whether it has ended, and so has no request under way. It keeps its number until `collect`.
    var hasEnded: Bool { cl_has_ended(pid) == 1 }

    func collect() { waitpid(pid, nil, WNOHANG) }
}
