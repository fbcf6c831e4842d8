import CLinux
import Glibc
import StorePrimitives

/// Tells the service manager that started this process how it is doing: sd_notify(3)'s protocol, one datagram to the socket that
/// NOTIFY_SOCKET names. Does nothing where there is none.
enum ServiceManager {
    enum State {
        /// The mount answers.
        case ready(String)
        case stopping

        fileprivate var text: String {
            switch self {
            case .ready(let status): "READY=1\nSTATUS=\(status)"
            case .stopping: "STOPPING=1"
            }
        }
    }

    static func notify(_ state: State) {
        guard let path = getenv("NOTIFY_SOCKET").map({ String(cString: $0) }), path.hasPrefix("/") || path.hasPrefix("@") else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(clamping: AF_UNIX)
        // An abstract address begins with a NUL byte, and ends with its last byte.
        let bytes = path.hasPrefix("@") ? [0] + Array(path.utf8.dropFirst()) : Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        let length = socklen_t(clamping: start + bytes.count)
        let number = socket(AF_UNIX, Int32(truncatingIfNeeded: SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { return }
        let socket = Descriptor(owning: number)
        let text = Array(state.text.utf8)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(socket.number, text, text.count, Int32(truncatingIfNeeded: MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
