import StorePrimitives
import Synchronization

/// Who made the files that the kernel forgot moments ago: it may do so between the making and the rename of a save.
final class ForgottenMakers: Sendable {
    private static let kept = 256
    /// Leaf.
    private let makers = Guarded<[FileIdentity: Tunnel.Maker]>([:])
    private let count = Atomic<Int>(0)

    func note(_ maker: Tunnel.Maker, of file: FileIdentity) {
        guard maker.isRecent else { return }
        makers.withLock { makers in
            if makers.count == Self.kept {
                makers = makers.filter { $0.value.isRecent }
                let oldest = makers.count == Self.kept ? makers.min { $0.value.lastClose < $1.value.lastClose } : nil
                if let oldest { makers[oldest.key] = nil }
            }
            makers[file] = maker
            count.store(makers.count, ordering: .relaxed)
        }
    }

    /// The maker of a file that the kernel is told of again; one atomic look if there is none.
    func take(_ file: FileIdentity) -> Tunnel.Maker? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        return makers.withLock { makers in
            defer { count.store(makers.count, ordering: .relaxed) }
            return makers.removeValue(forKey: file)
        }
    }
}
