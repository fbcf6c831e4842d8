internal import CFuse
internal import CLinux
internal import Glibc
internal import StorePrimitives
internal import Synchronization
import SystemPackage

/// The bytes between the kernel and libfuse. Two things are done here that libfuse 3.14 has no call for, most of them by
/// changing what passes through; later versions of libfuse pass through the same channel, so one way serves all.
///
/// - The INIT answer is given the flags that libfuse does not know: kernel passthrough, and HANDLE_KILLPRIV_V2, which spares
///   a GETXATTR of security.capability before each write (the kernel then trusts the daemon to strip setuid, setgid and
///   capabilities on write, truncate and chown, as every Linux file system does). And PARALLEL_DIROPS, which libfuse before
///   3.17 knows but does not pass on (libfuse #861): without it one lookup in a folder waits for the other.
/// - TMPFILE is handed to libfuse as a CREATE of the name "/", which no CREATE can have.
final class KernelChannel: Sendable {
    /// The bits to add to the INIT answer, once the request is known; zero before and after.
    private struct Negotiation {
        var request: UInt64?
        var offeredFlags: UInt32 = 0
        var offeredFlags2: UInt32 = 0
        var passthroughGranted = false
        var directMapsGranted = false
    }
    private let negotiation = Mutex(Negotiation())
    private let wantsPassthrough: Bool
    /// The INIT answer was sent, or none will be.
    let agreed = Signal()
    /// Whether the INIT exchange is over; afterwards nothing is looked at but the opcode of a request.
    private let isNegotiated = Atomic<Bool>(false)

    init(wantsPassthrough: Bool) { self.wantsPassthrough = wantsPassthrough }

    var passthroughGranted: Bool { negotiation.withLock { $0.passthroughGranted } }
    var directMapsGranted: Bool { negotiation.withLock { $0.directMapsGranted } }

    func received(_ bytes: UnsafeMutableRawPointer, count: Int) {
        guard count >= MemoryLayout<quire_in_header>.size else { return }
        // Safe: the kernel writes whole requests, each headed by this struct, into an aligned buffer.
        let header = bytes.assumingMemoryBound(to: quire_in_header.self)
        switch header.pointee.opcode {
        case Opcode.temporaryFile: header.pointee.opcode = Opcode.create
        case Opcode.initialize: noteOffer(header.pointee.unique, bytes + MemoryLayout<quire_in_header>.size, count)
        default: break
        }
    }

    private func noteOffer(_ unique: UInt64, _ body: UnsafeMutableRawPointer, _ count: Int) {
        guard count >= MemoryLayout<quire_in_header>.size + MemoryLayout<quire_init_in>.size else { return }
        let offer = body.loadUnaligned(as: quire_init_in.self)
        negotiation.withLock {
            $0.request = unique
            $0.offeredFlags = offer.flags
            $0.offeredFlags2 = offer.flags & QUIRE_FUSE_INIT_EXT != 0 ? offer.flags2 : 0
        }
    }

    /// Sends an answer or a notification, as writev(2).
    func send(_ device: Int32, _ vector: UnsafeMutablePointer<iovec>, count: Int32) -> Int {
        if isNegotiated.load(ordering: .relaxed) { return writev(device, vector, count) }
        let isAgreement = completeAgreement(vector, count: count)
        let sent = writev(device, vector, count)
        if isAgreement {
            isNegotiated.store(true, ordering: .relaxed)
            agreed.signal()
        }
        return sent
    }

    /// Answers a request that libfuse is not told of.
    func fail(_ request: fuse_buf, _ error: Errno, _ device: Int32) {
        guard let start = request.mem else { return }
        var answer = quire_out_header()
        answer.len = UInt32(clamping: MemoryLayout<quire_out_header>.size)
        answer.error = -error.answer
        answer.unique = start.assumingMemoryBound(to: quire_in_header.self).pointee.unique
        withUnsafeMutableBytes(of: &answer) { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            _ = send(device, &vector, count: 1)
        }
    }

    /// Adds to the INIT answer what libfuse does not know. False if this is none.
    private func completeAgreement(_ vector: UnsafeMutablePointer<iovec>, count: Int32) -> Bool {
        guard count > 1 else { return false }
        let header = vector[0].iov_base.loadUnaligned(as: quire_out_header.self)
        return negotiation.withLock { state -> Bool in
            guard state.request == header.unique, header.error == 0,
                vector[1].iov_len >= MemoryLayout<quire_init_out>.size
            else { return false }
            let answer = vector[1].iov_base.assumingMemoryBound(to: quire_init_out.self)
            answer.pointee.flags |= state.offeredFlags & (QUIRE_FUSE_HANDLE_KILLPRIV_V2 | QUIRE_FUSE_PARALLEL_DIROPS)
            if wantsPassthrough, state.offeredFlags2 & QUIRE_FUSE_PASSTHROUGH != 0 {
                answer.pointee.flags |= QUIRE_FUSE_INIT_EXT
                answer.pointee.flags2 |= QUIRE_FUSE_PASSTHROUGH
                answer.pointee.max_stack_depth = 1
                state.passthroughGranted = true
            }
            // Handles whose reads and writes come to the daemon can be mapped all the same.
            if state.offeredFlags2 & QUIRE_FUSE_DIRECT_IO_ALLOW_MMAP != 0 {
                answer.pointee.flags |= QUIRE_FUSE_INIT_EXT
                answer.pointee.flags2 |= QUIRE_FUSE_DIRECT_IO_ALLOW_MMAP
                state.directMapsGranted = true
            }
            return true
        }
    }

    private enum Opcode {
        static let initialize = UInt32(truncatingIfNeeded: QUIRE_FUSE_OPCODE_INIT)
        static let create: UInt32 = 35
        static let temporaryFile: UInt32 = 51
        /// FSYNC, FSYNCDIR, FALLOCATE, COPY_FILE_RANGE, SYNCFS.
        static let slow: [UInt32] = [20, 30, 43, 47, 50]
    }

    /// Whether a request is known to wait for the disk.
    static func mayWait(_ request: fuse_buf) -> Bool {
        guard let start = request.mem else { return false }
        let opcode = start.assumingMemoryBound(to: quire_in_header.self).pointee.opcode
        return Opcode.slow.contains(opcode)
    }

    /// The calls libfuse makes instead of read(2) and writev(2). It splices nothing then: that takes two calls where read(2) takes one, and a
    /// pipe of 2 MiB for each thread, and data of 1 MiB comes as fast without.
    static func callbacks() -> fuse_custom_io {
        fuse_custom_io(
            writev: { device, vector, count, userData in
                channel(userData) { $0.send(device, vector!, count: count) }
            },
            read: { device, buffer, size, userData in
                let received = read(device, buffer, size)
                if received > 0 { channel(userData) { $0.received(buffer!, count: received) } }
                return received
            },
            splice_receive: nil, splice_send: nil)
    }
}

private func channel<Result>(_ userData: UnsafeMutableRawPointer?, _ body: (KernelChannel) -> Result) -> Result {
    // Safe: the session, which is the user data, outlives libfuse's use of it.
    Unmanaged<FuseSession>.fromOpaque(userData!)._withUnsafeGuaranteedRef { body($0.channel) }
}
