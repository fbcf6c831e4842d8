import CLinux
import Glibc
import StorePrimitives

/// How a daemon tells the command that started it how it went: one message, then the end of the pipe.
enum ReadyMessage {
    static let ready = "ready"
}

/// The daemon's end.
struct ReadyPipe: Sendable {
    private let end: Descriptor

    /// Takes over the descriptor that the starting command passed.
    init(descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        end = Descriptor(owning: descriptor)
    }

    /// Sends the message. The command may be gone; that is no matter.
    func report(_ message: String) {
        let bytes = Array((message + "\n").utf8)
        _ = cl_write(end.number, bytes, bytes.count)
    }
}
