import Glibc
import SystemPackage

/// Whether anyone answers at a mount point.
package enum MountLiveness: Equatable, Sendable {
    /// A file system answers; `device` is its st_dev.
    case answers(device: UInt64)
    /// The daemon is gone: "Transport endpoint is not connected".
    case dead
    /// No answer in time.
    case silent
    /// The question was refused, as it is to root on another user's mount. Someone did answer.
    case refused(Errno)

    package static func of(_ mountPoint: [UInt8]) -> MountLiveness {
        let answer = Bounded.run { () -> MountLiveness in
            do throws(Errno) {
                return .answers(device: UInt64(try FileSystem.status(mountPoint, asksServer: true).st_dev))
            } catch .socketNotConnected, .connectionAbort {
                return .dead
            } catch {
                return .refused(error)
            }
        }
        return answer ?? .silent
    }
}
