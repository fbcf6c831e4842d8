import Glibc

/// A peer that says what it likes: a blocking Unix socket whose reads give up after five seconds.
final class RawPeer {
    private let descriptor: Int32

    init(_ path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        precondition(result == 0, "cannot connect to \(path): errno \(errno)")
    }

    deinit { close(descriptor) }

    /// Whether everything was taken; false when the other side closed first.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 { return false }
            sent += count
        }
        return true
    }

    /// Sends a message with its NUL.
    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8) + [0]) }

    func shutDownSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The next message; nil when the other side closed, or was silent for five seconds.
    func receive() -> String? {
        var message: [UInt8] = []
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) == 1 {
            if byte == 0 { return String(decoding: message, as: UTF8.self) }
            message.append(byte)
        }
        return nil
    }

    /// Whether the other side closed within the read's time limit, having sent nothing more.
    func isClosed() -> Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        return count == 0 || (count < 0 && errno == ECONNRESET)
    }
}
