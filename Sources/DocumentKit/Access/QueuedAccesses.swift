import Glibc
import Synchronization

/// Accesses for writing whose accessor runs on a queue and that have not ended: what they saved is published when they end, so a
/// program that exits as soon as its accessor is through waits for that.
final class QueuedAccesses: Sendable {
    static let shared = QueuedAccesses()

    /// By access, the thread on which its accessor runs, or 0 when that has returned. A leaf lock.
    private let threads = Mutex<[ObjectIdentifier: UInt]>([:])
    /// In microseconds; so long a mount's daemon may take to publish.
    private static let timeout: UInt32 = 5_000_000
    private static let pause: UInt32 = 2_000

    private init() { atexit { QueuedAccesses.shared.awaitEnds() } }

    /// The accessor runs here.
    func began(_ access: FileAccess) { if access.isWriting { note(access, UInt(pthread_self())) } }

    /// It has returned.
    func returned(_ access: FileAccess) { if access.isWriting { note(access, 0) } }

    func ended(_ access: FileAccess) { threads.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(access)) } }

    private func note(_ access: FileAccess, _ thread: UInt) { threads.withLock { $0[ObjectIdentifier(access)] = thread } }

    /// At the end of the process. Nobody waits for an accessor that ends it.
    private func awaitEnds() {
        let own = UInt(pthread_self())
        var waited: UInt32 = 0
        while waited < Self.timeout, threads.withLock({ $0.contains { $0.value != own } }) {
            usleep(Self.pause)
            waited += Self.pause
        }
    }
}
