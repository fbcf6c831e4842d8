internal import CFuse
internal import CLinux
internal import Glibc

/// The connection of a daemon that has died, in the hands of another process that has the device open.
///
/// The kernel ends a connection when the last descriptor of the device is closed. A dead process keeps its own for as long as one of its
/// threads waits in the kernel, which one that tells of a name does until an app's request is answered: the app and the
/// dead process would wait for each other for ever, and nobody could kill either. So all requests are answered with an error here.
///
/// Not thread-safe. Nobody else may read the device any more.
public final class AbandonedConnection {
    /// Readable when requests wait.
    public let device: Int32
    /// As large as the kernel asks for the largest write request.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 << 20, alignment: 4096)

    /// Reads of the device wait no more from now on, in the dying process either.
    public init(_ device: Int32) {
        self.device = device
        _ = cl_never_wait(device)
    }

    /// The kernel ends the connection if this is the last descriptor. Nothing else may be called then.
    public func close() { _ = cl_close(device) }

    deinit { buffer.deallocate() }

    /// Has the kernel hand out again what was read and not answered. False if it cannot: before Linux 6.9.
    public func takeBack() -> Bool {
        var notice = quire_out_header()
        notice.len = UInt32(truncatingIfNeeded: MemoryLayout<quire_out_header>.size)
        notice.error = QUIRE_FUSE_NOTIFY_RESEND
        return cl_write(device, &notice, MemoryLayout<quire_out_header>.size) > 0
    }

    /// Answers what waits as the kernel does when a connection ends, with ECONNABORTED. Waits for nothing. False if the
    /// connection has ended.
    public func refuseAll() -> Bool {
        while true {
            let count = cl_read(device, buffer.baseAddress, buffer.count)
            // ENOENT: an app gave the request up.
            if count == -Int(ENOENT) { continue }
            if count <= 0 { return count == -Int(EAGAIN) }
            guard count >= MemoryLayout<quire_in_header>.size else { continue }
            let request = buffer.load(as: quire_in_header.self)
            guard !Self.unanswered.contains(request.opcode) else { continue }
            var answer = quire_out_header()
            answer.len = UInt32(truncatingIfNeeded: MemoryLayout<quire_out_header>.size)
            answer.error = -ECONNABORTED
            answer.unique = request.unique
            // ENOENT if nobody waits for it any more.
            _ = cl_write(device, &answer, MemoryLayout<quire_out_header>.size)
        }
    }

    /// FORGET, INTERRUPT, BATCH_FORGET.
    private static let unanswered: [UInt32] = [2, 36, 42]
}
