internal import CFuse
internal import Glibc
internal import Synchronization
import SystemPackage

/// What a request may hold up besides its caller.
public struct RequestShare: Hashable, Sendable {
    /// The document, or whatever else the request is about.
    public var item: UInt64
    /// The file system that the item is on; 0 for the store's own.
    public var device: UInt64

    public init(item: UInt64, device: UInt64) { (self.item, self.device) = (item, device) }
}

/// A share of the serving threads for everybody: no user, no document and no file system mounted inside the store holds more than a
/// quarter of them, whatever its requests wait for.
///
/// Only requests that take longer than a beat of the pulse count, so requests that are quick meet one atomic look. When a quarter of the
/// threads are held by one of these, further requests of it are put aside as they came, unread by libfuse, and handed on as others end.
/// One that has waited too long is answered EBUSY; one whose caller is being killed, EINTR. RELEASE, FORGET and INTERRUPT never wait: for
/// what is under way may wait for them.
final class RequestShares: @unchecked Sendable {
    /// What one request holds: its user, its item, its inner file system. 0: does not count.
    struct Claim: Hashable, Sendable {
        var user: UInt64 = 0
        var item: UInt64 = 0
        var device: UInt64 = 0
    }

    /// A request that was put aside.
    final class Waiting: @unchecked Sendable {
        let claim: Claim
        let since: Int64
        let unique: UInt64
        let opcode: UInt32
        let thread: pid_t
        /// Owned.
        let bytes: UnsafeMutableRawPointer
        let count: Int

        fileprivate init(_ request: fuse_buf, _ header: quire_in_header, _ claim: Claim, at time: Int64) {
            (self.claim, since, unique, opcode, thread) = (claim, time, header.unique, header.opcode, pid_t(bitPattern: header.pid))
            count = request.size
            bytes = .allocate(byteCount: request.size, alignment: 16)
            bytes.copyMemory(from: request.mem, byteCount: request.size)
        }

        deinit { bytes.deallocate() }
    }

    private struct State {
        var isFull: Set<Key> = []
        var waiting: [Waiting] = []
        var ready: [Waiting] = []
    }

    private enum Key: Hashable {
        case user(UInt64)
        case item(UInt64)
        case device(UInt64)
    }

    /// Leaf.
    private let state = Mutex(State())
    private let share: Int
    private let isLimiting = Atomic<Bool>(false)
    private let areReady = Atomic<Bool>(false)
    /// The kernel's side bounds how many requests there are; this is for who finds a way around it.
    private static let capacity = 20_000
    /// Nanoseconds. A publication in place of a large document takes so long.
    private static let patience: Int64 = 30_000_000_000
    /// A close(2) is the last to tell the app of an error.
    private static let patienceOfClose: Int64 = 300_000_000_000
    private static let flush: UInt32 = 25

    init(threads: Int) { share = max(1, threads / 4) }

    /// Whether something has its whole share. One atomic look.
    var areSomeFull: Bool { isLimiting.load(ordering: .relaxed) }
    var hasReady: Bool { areReady.load(ordering: .relaxed) }
    var isEmpty: Bool { state.withLock { $0.waiting.isEmpty && $0.ready.isEmpty } }

    /// Puts a request aside if something that it is about has its whole share. The bytes are copied.
    func putsAside(_ request: fuse_buf, _ header: quire_in_header, _ claim: Claim, at time: Int64) -> Bool {
        guard !Self.neverWait.contains(header.opcode) else { return false }
        return state.withLock { state in
            guard state.waiting.count < Self.capacity, Self.keys(of: claim).contains(where: state.isFull.contains) else { return false }
            state.waiting.append(Waiting(request, header, claim, at: time))
            return true
        }
    }

    /// A request that was put aside and whose turn has come.
    func takeReady() -> Waiting? {
        guard hasReady else { return nil }
        return state.withLock { state in
            guard !state.ready.isEmpty else { return nil }
            let first = state.ready.removeFirst()
            areReady.store(!state.ready.isEmpty, ordering: .relaxed)
            return first
        }
    }

    /// At each beat: `held` is what requests are about that have taken longer than a beat. Returns how many are ready, and which have
    /// waited too long.
    func beat(held: [Claim], at time: Int64) -> (ready: Int, late: [Waiting]) {
        guard held.count >= share || isLimiting.load(ordering: .relaxed) else { return (0, []) }
        var counts: [Key: Int] = [:]
        for claim in held { for key in Self.keys(of: claim) { counts[key, default: 0] += 1 } }
        return state.withLock { state in
            for request in state.ready { for key in Self.keys(of: request.claim) { counts[key, default: 0] += 1 } }
            var (waiting, late): ([Waiting], [Waiting]) = ([], [])
            for request in state.waiting {
                let keys = Self.keys(of: request.claim)
                if keys.allSatisfy({ counts[$0, default: 0] < share }) {
                    for key in keys { counts[key, default: 0] += 1 }
                    state.ready.append(request)
                } else if time - request.since > (request.opcode == Self.flush ? Self.patienceOfClose : Self.patience) {
                    late.append(request)
                } else {
                    waiting.append(request)
                }
            }
            state.waiting = waiting
            state.isFull = Set(counts.filter { $0.value >= share }.keys)
            isLimiting.store(!state.isFull.isEmpty || !waiting.isEmpty, ordering: .relaxed)
            areReady.store(!state.ready.isEmpty, ordering: .relaxed)
            return (state.ready.count, late)
        }
    }

    /// Takes a request out, for whoever answers it: its caller got a signal.
    func take(_ unique: UInt64, if isToBe: (Waiting) -> Bool) -> Waiting? {
        let found = state.withLock { $0.waiting.first { $0.unique == unique } }
        guard let found, isToBe(found) else { return nil }
        return state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === found }) else { return nil }
            return state.waiting.remove(at: index)
        }
    }

    private static func keys(of claim: Claim) -> [Key] {
        var keys: [Key] = []
        if claim.user != 0 { keys.append(.user(claim.user)) }
        if claim.item != 0 { keys.append(.item(claim.item)) }
        if claim.device != 0 { keys.append(.device(claim.device)) }
        return keys
    }

    /// FORGET, RELEASE, INIT, RELEASEDIR, INTERRUPT, DESTROY, NOTIFY_REPLY, BATCH_FORGET.
    private static let neverWait: Set<UInt32> = [2, 18, 26, 29, 36, 38, 41, 42]
    static let interrupt: UInt32 = 36
    private static let lookup: UInt32 = 1
    /// Without a node, or the last that the kernel says of it.
    private static let nodeless: Set<UInt32> = [2, 26, 36, 38, 41, 42]

    /// What a request that was just read is about; nil for data that was spliced past us.
    static func claim(
        of request: fuse_buf, countsUsers: Bool, _ fileSystem: any FileSystemOperations
    ) -> (quire_in_header, Claim)? {
        guard request.flags.rawValue & FUSE_BUF_IS_FD.rawValue == 0, let start = request.mem,
            request.size >= MemoryLayout<quire_in_header>.size
        else { return nil }
        // Safe: the kernel writes whole requests, each headed by this struct, into an aligned buffer.
        let header = start.assumingMemoryBound(to: quire_in_header.self).pointee
        guard !nodeless.contains(header.opcode), header.nodeid != 0 else { return (header, Claim()) }
        let share = fileSystem.share(of: NodeID(header.nodeid))
        // What hangs in a folder with one name, as where a file system is mounted, is not to hold up those for others.
        var item = share.item
        if header.opcode == lookup {
            let name = UnsafeRawBufferPointer(start: start, count: request.size).dropFirst(MemoryLayout<quire_in_header>.size)
            for byte in name { item = (item ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        return (header, Claim(user: countsUsers ? UInt64(header.uid) &+ 1 : 0, item: item, device: share.device))
    }
}
