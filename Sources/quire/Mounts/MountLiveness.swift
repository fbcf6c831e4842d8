import CLinux
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
        do throws(Errno) {
            return .answers(device: try MountProbe.device(mountPoint))
        } catch .socketNotConnected, .connectionAbort {
            return .dead
        } catch .timedOut {
            return .silent
        } catch {
            return .refused(error)
        }
    }
}

/// Questions to the server of a mount, which may never answer. Each costs the start of a process, and 5 s at most.
enum MountProbe {
    private static let timeout: Int32 = 5_000

    /// The st_dev of the mount's root, whatever the kernel has cached: a dead mount answers from the cache otherwise.
    static func device(_ mountPoint: [UInt8]) throws(Errno) -> UInt64 {
        var device: UInt64 = 0
        let result = withCString(mountPoint) { cl_ask_mount($0, nil, timeout, &device, nil, 0) }
        if result < 0 { throw Errno(rawValue: -result) }
        return device
    }

    /// An extended attribute of the mount's root, of 2 KiB at most. Throws .noData when it has none.
    static func attribute(_ name: String, of mountPoint: [UInt8]) throws(Errno) -> [UInt8] {
        var value = [UInt8](repeating: 0, count: 2048)
        var device: UInt64 = 0
        let length = withCString(mountPoint) { cl_ask_mount($0, name, timeout, &device, &value, value.count) }
        if length < 0 { throw Errno(rawValue: -length) }
        return Array(value.prefix(Int(length)))
    }
}
