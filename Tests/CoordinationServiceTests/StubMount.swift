import CoordinationService
import Synchronization

/// A mount service with fixed answers that keeps what it was asked.
final class StubMount: MountService {
    let asked = Mutex<[String]>([])
    let lastPeer = Mutex<Peer?>(nil)

    static let status = MountStatus(
        pid: 42, version: "1", mode: .beside, system: false, readOnly: false, store: DocumentPath("/store".utf8),
        mountpoint: DocumentPath([0x2f, 0xff]), passthrough: false, passthroughReason: "no privilege", uring: true,
        gather: .init(state: "done", documents: 3, folders: 2),
        openWriters: [.init(path: DocumentPath("/store/a".utf8), pid: 7, process: "vim")], counters: ["nodes": 5])

    private func note(_ call: String, _ peer: Peer) {
        asked.withLock { $0.append(call) }
        lastPeer.withLock { $0 = peer }
    }

    func status(for peer: Peer) throws(ServiceFailure) -> MountStatus {
        note("status", peer)
        return Self.status
    }
    func renameTag(_ old: String, to new: String, for peer: Peer) throws(ServiceFailure) {
        note("rename \(old) \(new)", peer)
        if old == "missing" { throw .notFound(old) }
        if old == "foreign" { throw .permissionDenied(old) }
    }
    func undoTagRemoval(for peer: Peer) throws(ServiceFailure) -> Int { 4 }
    func recents(limit: Int, for peer: Peer) throws(ServiceFailure) -> [RecentDocument] {
        note("recents \(limit)", peer)
        return [RecentDocument(path: DocumentPath("/store/é".utf8), used: 1.5)]
    }
    func forgetRecents(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) {
        note("forget \(paths.map(\.wire))", peer)
    }
    func tags(for peer: Peer) throws(ServiceFailure) -> [TagCount] {
        // Longer than any socket buffer, to meet a peer that does not read.
        (0..<20_000).map { TagCount(name: "tag number \($0)", count: $0) }
    }
}
