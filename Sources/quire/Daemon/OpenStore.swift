import CoordinationService
import DocumentMount
import Glibc
import Logging
import StorePrimitives
import SystemPackage

/// Mounts a store and gives the service its answers.
func openStore(_ configuration: MountConfiguration, _ log: Logger) throws -> any ServedStore {
    ServedMount(try MountedStore(configuration: configuration, log: log), configuration)
}

final class ServedMount: ServedStore, MountService {
    let store: MountedStore
    let configuration: MountConfiguration

    fileprivate init(_ store: MountedStore, _ configuration: MountConfiguration) {
        self.store = store
        self.configuration = configuration
    }

    var service: any MountService { self }

    var callThreads: CallThreads { CallThreads(prepare: { [store] in store.prepareThread() }, reset: { [store] in store.resetThread() }) }

    var shares: UserShares { store.shares }

    func serve(onReady: @escaping @Sendable () -> Void, lettingGo: () -> Void) throws {
        try store.serve(onReady: onReady, lettingGo: lettingGo)
    }

    func duplicateDevice() throws(Errno) -> Descriptor { try store.duplicateDevice() }

    func requestUnmount() { store.requestUnmount() }

    func status(for peer: Peer) throws(ServiceFailure) -> MountStatus {
        let gather = store.scanProgress
        return MountStatus(
            pid: getpid(), version: quireVersion, mode: configuration.isInPlace ? .inPlace : .beside,
            system: configuration.isSystem, readOnly: store.isReadOnly,
            store: DocumentPath(configuration.store), mountpoint: DocumentPath(configuration.mountPoint),
            passthrough: store.passthroughGranted, passthroughReason: store.passthroughReason,
            gather: .init(state: gather.state, documents: gather.documents, folders: gather.folders),
            openSaves: store.openSaves(for: Credentials(peer)).map {
                .init(
                    path: place($0.path), pid: $0.process, process: $0.name, state: $0.state, age: $0.age,
                    idle: $0.idle, bytes: $0.bytes)
            },
            openWriters: store.openWriters(for: Credentials(peer)).map {
                .init(
                    path: place($0.path), pid: $0.process, process: $0.name, reason: $0.reason,
                    explanation: $0.explanation)
            },
            coordination: coordination(for: Credentials(peer)), shares: shares(for: Credentials(peer)), relays: store.relays,
            thumbnailTrouble: store.thumbnailTrouble, deaths: DaemonDeaths(stateFolder: configuration.stateFolder).deaths,
            counters: store.opensForWriting
                .merging(["knownFiles": store.knownNodes, "listingsMade": store.listingsMade, "documentsLeftOut": store.documentsLeftOut]) { $1 }
                .merging(store.thumbnailCounters) { $1 })
    }

    private func shares(for caller: Credentials) -> [MountStatus.Share] {
        let seesAll = store.mayAccessAll(caller)
        return store.shares.resources.map { resource in
            let bound = store.bound(of: resource)
            return MountStatus.Share(
                resource: resource.name, used: store.use(of: resource, by: caller.uid), limit: bound.forUser,
                usedByAll: seesAll ? store.use(of: resource, by: nil) : nil, limitOfAll: bound.forAll, answer: resource.answer,
                reason: resource.reason)
        }
    }

    func renameTag(_ old: String, to new: String, for peer: Peer) throws(ServiceFailure) {
        do throws(Errno) {
            try store.renameTag(old, to: new, for: Credentials(peer))
        } catch .noSuchFileOrDirectory {
            throw .notFound("tag \(old)")
        } catch .directoryNotEmpty {
            throw .failed("the tag \(new) exists")
        } catch .invalidArgument {
            throw .invalidParameter("new")
        } catch .permissionDenied {
            throw .permissionDenied("not every document tagged \(old) is yours to change; none was")
        } catch {
            throw .failed("renaming \(old) failed: \(error)")
        }
    }

    func undoTagRemoval(for peer: Peer) throws(ServiceFailure) -> Int {
        let restored: Int?
        do throws(Errno) {
            restored = try store.undoTagRemoval(for: Credentials(peer))
        } catch {
            throw .failed("bringing the tags back failed: \(error)")
        }
        guard let restored else { throw .notFound("removal of tags to undo") }
        return restored
    }

    func recents(limit: Int, for peer: Peer) throws(ServiceFailure) -> [RecentDocument] {
        store.recentDocuments(limit: limit, for: Credentials(peer)).map {
            RecentDocument(path: place($0.path), used: $0.used)
        }
    }

    func forgetRecents(_ paths: [DocumentPath], for peer: Peer) throws(ServiceFailure) {
        for path in paths {
            guard let inside = path.inside(configuration) else { throw .notFound("\(path.wire) in this mount") }
            do throws(Errno) {
                try store.forgetRecent(inside, for: Credentials(peer))
            } catch {
                throw .failed("\(path.wire): could not be forgotten: \(error)")
            }
        }
    }

    func tags(for peer: Peer) throws(ServiceFailure) -> [TagCount] {
        store.tags(for: Credentials(peer)).map { TagCount(name: $0.name, count: $0.count) }
    }
}

extension Credentials {
    init(_ peer: Peer) { self.init(uid: peer.uid, gid: peer.gid, groups: peer.groups) }
}

extension DocumentPath {
    /// The path in the store of a path below the mount point or the store; nil for any other.
    func inside(_ configuration: MountConfiguration) -> StorePath? {
        for folder in [configuration.mountPoint, configuration.store] {
            let prefix = folder + [UInt8(ascii: "/")]
            if bytes.starts(with: prefix) { return StorePath(parsing: bytes.dropFirst(prefix.count)) }
        }
        return nil
    }
}
