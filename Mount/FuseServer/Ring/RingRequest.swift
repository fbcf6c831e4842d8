internal import CFuse
internal import CLinux
internal import Glibc
import SystemPackage

/// One place in a queue of the kernel's ring: where the kernel puts a request, and where it takes the answer from.
///
/// The kernel hands a request over in three parts (headers, the operation's struct, payload); libfuse wants one piece. So the
/// payload lies behind a page of its own, and the two small parts are copied to just before it.
///
/// `@unchecked Sendable`: with the kernel, or with the one thread that works on it.
final class RingRequest: @unchecked Sendable {
    private let queue: UInt16
    private let headers: UnsafeMutablePointer<quire_ring_headers>
    private let area: UnsafeMutableRawPointer
    private let buffers: UnsafeMutablePointer<iovec>
    let payload: UnsafeMutableRawPointer
    let capacity: Int

    private(set) var unique: UInt64 = 0
    private var commit: UInt64 = 0
    private var isAnswered = false

    private static let page = 4096

    /// - Parameter capacity: of the payload, in bytes: the largest write, or the largest read. Pages never touched cost nothing.
    /// Throws .noMemory.
    init(queue: UInt16, capacity: Int) throws(Errno) {
        let mapped = mmap(nil, Self.page + capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapped, mapped != MAP_FAILED else { throw .noMemory }
        self.queue = queue
        self.capacity = capacity
        headers = .allocate(capacity: 1)
        headers.initialize(to: quire_ring_headers())
        area = mapped
        payload = area + Self.page
        buffers = .allocate(capacity: 2)
        buffers[0] = iovec(iov_base: headers, iov_len: MemoryLayout<quire_ring_headers>.size)
        buffers[1] = iovec(iov_base: payload, iov_len: capacity)
    }

    deinit {
        munmap(area, Self.page + capacity)
        headers.deallocate()
        buffers.deallocate()
    }

    // MARK: What the ring's thread does

    /// Gives the place to the kernel for the first time.
    func register(_ ring: OpaquePointer, device: Int32, tag: UInt64) throws(Errno) {
        var command = quire_ring_command(flags: 0, commit_id: 0, queue: queue, padding: (0, 0, 0, 0, 0, 0))
        try queued(
            cl_ring_command(
                ring, device, UInt32(QUIRE_FUSE_RING_REGISTER), &command, MemoryLayout<quire_ring_command>.size, buffers, 2, tag))
    }

    /// Hands the answer over and the place back.
    func commit(_ ring: OpaquePointer, device: Int32, tag: UInt64) throws(Errno) {
        var command = quire_ring_command(flags: 0, commit_id: commit, queue: queue, padding: (0, 0, 0, 0, 0, 0))
        try queued(
            cl_ring_command(
                ring, device, UInt32(QUIRE_FUSE_RING_COMMIT_AND_FETCH), &command, MemoryLayout<quire_ring_command>.size, nil, 0,
                tag))
    }

    private func queued(_ result: Int32) throws(Errno) { if result < 0 { throw Errno(rawValue: -result) } }

    /// The request that just came, in the form that read(2) of the device gives.
    func received() -> fuse_buf {
        // Safe: the kernel has filled the headers; the operation's part is at most 128 bytes, far less than the page before.
        let header = UnsafeRawPointer(headers).load(as: quire_in_header.self)
        let size = Int(header.len)
        let headerSize = MemoryLayout<quire_in_header>.size
        let operationSize = min(max(size - headerSize - Int(headers.pointee.payload_size), 0), 128)
        let start = payload - operationSize - headerSize
        memcpy(start, headers, headerSize)
        memcpy(start + headerSize, UnsafeRawPointer(headers) + 128, operationSize)
        (unique, commit, isAnswered) = (header.unique, headers.pointee.commit_id, false)
        var buffer = fuse_buf()
        buffer.size = size
        buffer.mem = start
        return buffer
    }

    // MARK: What answers

    /// Takes an answer as it would be written to the device. Returns its length.
    func answer(_ vector: UnsafePointer<iovec>, count: Int) -> Int {
        let headerSize = MemoryLayout<quire_out_header>.size
        memcpy(headers, vector[0].iov_base, headerSize)
        var end = 0
        for part in UnsafeBufferPointer(start: vector, count: count).dropFirst() where part.iov_len > 0 {
            precondition(end + part.iov_len <= capacity, "an answer larger than the kernel asked for")
            // What was read straight into the payload is there already.
            if part.iov_base != payload + end { memmove(payload + end, part.iov_base, part.iov_len) }
            end += part.iov_len
        }
        headers.pointee.payload_size = UInt32(clamping: end)
        isAnswered = true
        return headerSize + end
    }

    /// A request that nobody answered fails.
    private func failUnlessAnswered() {
        guard !isAnswered else { return }
        var header = quire_out_header(len: UInt32(clamping: MemoryLayout<quire_out_header>.size), error: -EIO, unique: unique)
        memcpy(headers, &header, MemoryLayout<quire_out_header>.size)
        headers.pointee.payload_size = 0
    }

    /// The request that the calling thread works on; nil if it came by read(2).
    static var current: RingRequest? {
        // Safe: set and cleared around the work by the thread, which holds the request.
        cl_thread_context().map { Unmanaged<RingRequest>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Makes this the thread's current request while `body` runs.
    func working(_ body: () -> Void) {
        cl_set_thread_context(Unmanaged.passUnretained(self).toOpaque())
        body()
        cl_set_thread_context(nil)
        failUnlessAnswered()
    }
}
