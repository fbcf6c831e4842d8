import StorePrimitives
import Synchronization

/// The creators of files that the kernel forgot moments ago: it may do so between the making and the rename of a save.
final class RecentCreators: Sendable {
    private static let kept = 256
    /// Leaf.
    private let creators = Locked<[FileIdentity: FileNameTunnel.Creator]>([:])
    private let count = Atomic<Int>(0)

    func note(_ creator: FileNameTunnel.Creator, of file: FileIdentity) {
        guard creator.isRecent else { return }
        creators.withLock { creators in
            if creators.count == Self.kept {
                creators = creators.filter { $0.value.isRecent }
                let oldest = creators.count == Self.kept ? creators.min { $0.value.lastClose < $1.value.lastClose } : nil
                if let oldest { creators[oldest.key] = nil }
            }
            creators[file] = creator
            count.store(creators.count, ordering: .relaxed)
        }
    }

    /// The creator of a file that the kernel is told of again; one atomic load if there is none.
    func take(_ file: FileIdentity) -> FileNameTunnel.Creator? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        return creators.withLock { creators in
            defer { count.store(creators.count, ordering: .relaxed) }
            return creators.removeValue(forKey: file)
        }
    }
}
