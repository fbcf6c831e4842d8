import Coordination
import DocumentIndex
import Glibc
public import MountProtocol
import StorePrimitives

/// What `quire status` shows, to each user of the documents accessible to them.
extension MountedStore: MountService {
    public func status(for peer: Peer) throws(ServiceFailure) -> MountStatus {
        let caller = Credentials(peer)
        return MountStatus(
            pid: getpid(), version: configuration.version, mode: configuration.isInPlace ? .inPlace : .beside,
            system: configuration.isSystem, readOnly: isReadOnly,
            store: DocumentPath(configuration.store), mountpoint: DocumentPath(configuration.mountPoint),
            passthrough: passthroughGranted, passthroughReason: passthroughReason, gather: scanProgress, openSaves: openSaves(for: caller),
            openWriters: openWriters(for: caller), coordination: coordination(for: caller), shares: shares(for: caller), relays: relays,
            thumbnailTrouble: virtualTree.thumbnails?.thumbnailer.status.trouble, deaths: configuration.deaths(), counters: counters)
    }

    /// While the scan runs, what it has met; then what is known.
    private var scanProgress: MountStatus.Gather {
        let progress = indexer.scanner.progress
        let known = progress.state == "done" ? try? indexer.index.count() : nil
        return .init(state: progress.state, documents: known ?? progress.documents, folders: progress.folders)
    }

    /// The names of the programs that count as relays, and of those that are running and were recognised by what they do.
    private var relays: [String] {
        let recognised = fileSystem.saves.processes.recognisedRelays.compactMap { ProcessFacts.name(of: $0.id) }
        return recognised.reduce(into: configuration.options.relays) { names, name in
            // The kernel knows the first 15 bytes.
            if !names.contains(where: { $0.utf8.prefix(15).elementsEqual(name.utf8) }) { names.append(name) }
        }
    }

    /// Why there is no passthrough; nil when there is.
    private var passthroughReason: String? {
        if passthroughGranted { return nil }
        if configuration.options.passthrough == .off { return "switched off by -o passthrough=off" }
        if geteuid() != 0 { return "the daemon does not run as root" }
        return "the kernel offers none (Linux 6.9 and CAP_SYS_ADMIN are needed)"
    }

    /// The handles that write documents in place, by path.
    private func openWriters(for caller: Credentials) -> [MountStatus.OpenWriter] {
        let handles = fileSystem.writers.current.compactMap { handle -> (handle: FileHandle, path: StorePath, LiveReason)? in
            guard let reason = fileSystem.saves.reason(of: handle), let path = fileSystem.saves.path(of: handle.node)
            else { return nil }
            return (handle, path, reason)
        }.sorted { $0.path.bytes.lexicographicallyPrecedes($1.path.bytes) }
        let isAccessible = recents.access.filter(handles.map(\.path), caller)
        return zip(handles, isAccessible).filter(\.1).map { entry, _ in
            let thread = entry.handle.caller.thread
            let process = ProcessStatus(of: thread)?.group ?? thread
            return MountStatus.OpenWriter(
                path: place(entry.path), pid: process, process: ProcessFacts.name(of: process) ?? "", reason: entry.2.rawValue,
                explanation: entry.2.sentence)
        }
    }

    /// The saves under way, by path, the older first.
    private func openSaves(for caller: Credentials) -> [MountStatus.OpenSave] {
        let saves = fileSystem.saves.openSaves.sorted { ($0.path.description, $0.save.began) < ($1.path.description, $1.save.began) }
        let isAccessible = recents.access.filter(saves.map(\.path), caller)
        let now = SaveService.now
        func seconds(since time: UInt64) -> Double { now > time ? Double(now - time) / 1e9 : 0 }
        return zip(saves, isAccessible).filter(\.1).map { entry, _ in
            MountStatus.OpenSave(
                path: place(entry.path), pid: entry.save.process.id, process: ProcessFacts.name(of: entry.save.process.id) ?? "",
                state: entry.save.phase.rawValue, age: seconds(since: entry.save.began),
                idle: seconds(since: entry.save.lastActivity), bytes: Int64(clamping: entry.save.bytes))
        }
    }

    /// The use of the shared resources. The index counts its own.
    private func shares(for caller: Credentials) -> [MountStatus.Share] {
        let seesAll = fileSystem.tags.access.isUnlimited(caller)
        return shares.resources.map { resource in
            let bound = bound(of: resource)
            return MountStatus.Share(
                resource: resource.name, used: use(of: resource, by: caller.uid), limit: bound.forUser,
                usedByAll: seesAll ? use(of: resource, by: nil) : nil, limitOfAll: bound.forAll, answer: resource.answer,
                reason: resource.reason)
        }
    }

    private func bound(of resource: BoundedResource) -> BoundedResource.Bound {
        switch resource {
        case .indexBytes: indexer.index.bounds.bytes
        case .textBytes: search.texts?.bounds ?? shares.bound(of: resource)
        case .tags: indexer.index.bounds.tags
        default: shares.bound(of: resource)
        }
    }

    /// With nil, of all users.
    private func use(of resource: BoundedResource, by user: UInt32?) -> Int {
        switch resource {
        case .indexBytes, .tags, .keptTags, .savedSearches, .favorites: (try? indexer.index.use(of: resource, by: user.map { UserID($0) })) ?? 0
        case .textBytes: (try? search.texts?.textIndex?.use(by: user.map { UserID($0) })) ?? 0
        default: user.map { shares.use(of: resource, by: $0) } ?? shares.use(of: resource)
        }
    }

    /// How many opens for writing were transactions, and how many live for which reason; what the kernel knows; what was made.
    private var counters: [String: Int] {
        let saves = fileSystem.saves.counters.withLock { $0 }
        var counters = [
            "transactional": saves.transactional, "knownFiles": fileSystem.table.count, "documentsLeftOut": indexer.index.documentsLeftOut,
            "listingsMade": tagFolders.cache.made.load(ordering: .relaxed) + recents.cache.made.load(ordering: .relaxed),
        ]
        for (reason, count) in saves.live { counters["live.\(reason.rawValue)"] = count }
        if let status = virtualTree.thumbnails?.thumbnailer.status {
            counters["thumbnailsDrawn"] = status.rendered
            counters["thumbnailsRefused"] = status.refused
            counters["thumbnailsWaiting"] = status.waiting
        }
        return counters
    }
}
