import CLinux
import DocumentIndex
import DocumentRendering
import DocumentStore
import FuseServer
import Glibc
public import Logging
public import StorePrimitives
import Synchronization
public import SystemPackage

/// One mounted store: the parts put together, served, and taken apart.
public final class MountedStore: Sendable {
    let configuration: MountConfiguration
    /// How much each user has of the bounded resources; their table is `BoundedResource`.
    public let shares: UserShares
    /// The store's files.
    let fileSystem: MountedFileSystem
    let virtualTree: VirtualTree
    let indexer: Indexer
    let events: EventHub
    private let kernelNames: KernelNames
    let tagFolders: TagFolders
    let recents: RecentsFolder
    let favorites: FavoritesFolder
    let search: StoreSearch
    let liveSearches: LiveSearches
    let grants: Grants
    let grantAnnouncer: GrantAnnouncer
    /// Nil until it is needed. Held while it is read or made, once.
    let bookmarkKey = Mutex<BookmarkKey?>(nil)
    let versions: VersionStore
    /// Whether the mount is going away: long work gives up.
    let isEnding = Atomic(false)
    let session: FuseSession
    private let watcher = Mutex<StoreWatcher?>(nil)
    let log: Logger

    /// Opens store and index and mounts; requests wait in the kernel until `serve`. The store is opened before the mount can
    /// cover it. Throws a failure that names the path and the remedy; nothing is then mounted.
    public init(configuration: MountConfiguration, log: Logger) throws(MountFailure) {
        self.log = log
        let store = SharedStore(try Self.openStore(configuration))
        guard let status = try? FileStatus(of: store.root) else {
            throw MountFailure("\(configuration.storeText): cannot be read")
        }
        self.configuration = Self.readOnlyIfStoreIs(configuration, store.root, log)
        let hasAttributes = (try? XattrSupport.probe(store.root)) ?? false
        if !hasAttributes {
            log.warning("\(configuration.storeText): this file system keeps no extended attributes; tags live in the index alone")
        }
        let isPrivileged = geteuid() == 0 && cl_has_capability(Int32(truncatingIfNeeded: CL_CAP_SYS_ADMIN)) == 1
        let privileges = Privileges(
            actsForCallers: geteuid() == 0, passthrough: isPrivileged && configuration.options.passthrough == .auto)

        shares = Self.shares(configuration)
        let index = try Self.openIndex(configuration, shares.accounts, log)
        let kernelNames = KernelNames(store: store.root, log: log)
        self.kernelNames = kernelNames
        events = EventHub(
            accounts: shares.accounts, isForOne: !configuration.options.allowOther,
            document: { path in index.isTemporary ? nil : (try? index.document(at: path))?.id.rawValue },
            folder: { path in (try? store.held(path.parent)).flatMap { FileIdentity(of: $0) } },
            kernelNames: kernelNames)
        let journal = ChangeJournal(events: events)
        let packages = Packages(configuration.options.packages, isForOneUser: !configuration.options.allowOther)
        let reader = StoreReader(store: store, hasAttributes: hasAttributes, packages: packages)
        indexer = Indexer(index: index, reader: reader, journal: journal, log: log)
        let access = AccessChecker(store: store, actsForCallers: privileges.actsForCallers, isForOneUser: !configuration.options.allowOther)
        let tags = TagStore(indexer: indexer, access: access)
        let targets = LinkTargets(access: access, packages: packages, prefixes: [configuration.mountPoint, configuration.store])
        tagFolders = TagFolders(tags: tags, indexer: indexer, access: access, shares: shares, targets: targets)
        recents = RecentsFolder(indexer: indexer, access: access, shares: shares)
        favorites = FavoritesFolder(indexer: indexer, targets: targets, shares: shares)
        search = StoreSearch(indexer: indexer, access: access)
        let liveSearches = LiveSearches(accounts: shares.accounts)
        (journal.onChange, indexer.onChange) = ({ liveSearches.noteChange() }, { liveSearches.noteChange() })
        self.liveSearches = liveSearches
        grants = Grants(shares: shares)
        let virtualFolders: VirtualFolders.Parts? =
            configuration.options.virtualFolders == .off
            ? nil
            : VirtualFolders.Parts(
                recents: recents, favorites: favorites, tags: TagFolder(tagFolders, tags: [], place: []),
                search: SearchFolder(search: search, indexer: indexer, shares: shares), scopes: ScopesFolder(grants),
                thumbnailer: Thumbnailer(
                    folder: configuration.thumbnailFolder, providers: ProviderTable(),
                    workerProgram: configuration.workerProgram, threads: sysconf(Int32(truncatingIfNeeded: _SC_NPROCESSORS_ONLN)), log: log,
                    servesSeveral: privileges.actsForCallers, shares: configuration.isSystem ? shares : nil,
                    isStoreInUse: { [journal] in journal.isInUse }),
                mountPoint: configuration.mountPoint, access: access, isListed: configuration.options.virtualFolders == .listed)

        let isRemote = store.root.mountKind != .local
        if isRemote {
            log.notice("\(configuration.storeText) is on a network file system: changes by other machines show after a second")
        }
        versions = try Self.openVersions(self.configuration, store, journal, shares, log)
        do throws(Errno) {
            fileSystem = try MountedFileSystem(
                store: store, storeName: Self.lastName(of: configuration.mountPoint), rootStatus: status, privileges: privileges,
                journal: journal, tags: tags, mountAttributes: MountAttributes(socketPath: configuration.socketPath),
                cacheTime: isRemote ? MountedFileSystem.remoteCacheTime : .untilNotified, folderCapacity: Self.folderCapacity,
                versions: versions, options: configuration.options, shares: shares, session: SessionReference(), log: log)
        } catch {
            throw MountFailure("\(configuration.storeText): /proc is not to be read: \(error); Quire needs it to tell who saves")
        }

        virtualTree = VirtualTree(before: fileSystem, virtualFolders)
        grantAnnouncer = GrantAnnouncer(grants, files: fileSystem, events: events, accounts: shares.accounts, log: log)
        grants.onEnd = { [fileSystem] in fileSystem.remove($0.files.take()) }
        fileSystem.grantedFiles = { [grants] in grants.takeFiles(in: $0) }
        if let thumbnails = virtualTree.thumbnails { indexer.index.follow { thumbnails.follow($0) } }
        search.texts = Self.textIndexer(configuration, indexer, virtualTree.thumbnails, log)
        var tuning = FuseSession.Tuning()
        tuning.passthrough = privileges.passthrough
        tuning.sharesByUser = privileges.actsForCallers
        do throws(Errno) {
            session = try FuseSession(
                fileSystem: ScopedTree(before: ReplayRequests(before: virtualTree), grants, grantAnnouncer), options: self.configuration.fuseOptions, tuning: tuning, limits: shares)
            fileSystem.session.set(session)
        } catch {
            throw Self.refused(configuration, error)
        }
        try configuration.willMount?()
        let folder = try Self.open(configuration.mountPoint, configuration.mountPointIdentity)
        do throws(Errno) {
            try session.mount(at: configuration.mountPoint, on: folder)
        } catch {
            throw Self.refused(configuration, error)
        }
    }

    private static func refused(_ configuration: MountConfiguration, _ error: Errno) -> MountFailure {
        MountFailure("\(configuration.mountPointText): the mount was refused: \(error); `quire doctor` tells what is missing")
    }

    /// Another descriptor of the device that the kernel's requests come by, for a process that sees this one die
    /// (`AbandonedConnection`).
    public func duplicateDevice() throws(Errno) -> Descriptor { try session.duplicateDevice() }

    /// Serves until the mount is gone. `onReady` is called, on another thread, once the mount answers; `lettingGo` when apps are
    /// answered no more, and to have all descriptors of `duplicateDevice` closed: apps wait for that.
    public func serve(onReady: @escaping @Sendable () -> Void, lettingGo: () -> Void) throws(MountFailure) {
        fileSystem.forgetter.start(at: session.place, configuration.startReplay)
        kernelNames.start(at: session.place, configuration.startReplay)
        let changes = OutsideChangeHandler(fileSystem: fileSystem, indexer: indexer)
        do throws(Errno) {
            let started = try StoreWatcher(fileSystem.store, log: log) { changes.handle($0) }
            if started.method == .inotify { fileSystem.ownRemovals.begin() }
            watcher.withLock { $0 = started }
        } catch {
            log.error("changes made beneath the mount are not seen: \(error)")
        }
        search.texts?.start()
        liveSearches.start()
        indexer.start()
        events.start()
        fileSystem.replayer.start(at: session.place, configuration.startReplay)
        fileSystem.saves.start()
        virtualTree.thumbnails?.start(at: session.place, configuration.startReplay)
        // On a read-only mount the kernel lets nobody do what is to be replayed.
        if !isReadOnly {
            fileSystem.replay.start()
            grantAnnouncer.start(at: session.place, configuration.startReplay)
        }
        fileSystem.coordinator.start({ [fileSystem] in fileSystem.prepareThread() }) { [fileSystem] in fileSystem.openAgain($0) }
        let starter = NamedThread("quire-start") { onReady() }
        let sweeper = isReadOnly ? nil : NamedThread("quire-sweep") { self.sweepLeftovers() }
        session.serve(lettingGo: lettingGo)
        isEnding.store(true, ordering: .relaxed)
        starter.join()
        sweeper?.join()
        watcher.withLock { $0.take() }?.stop()
        grants.removeAll()
        grantAnnouncer.stop()
        search.texts?.stop()
        liveSearches.stop()
        virtualTree.thumbnails?.stop()
        fileSystem.forgetter.stop()
        kernelNames.stop()
        fileSystem.replayer.stop()
        fileSystem.replay.stop()
        fileSystem.coordinator.stop()
        fileSystem.transactions.stop()
        fileSystem.locks.stop()
        fileSystem.saves.stop()
        fileSystem.replayer.collect()
        fileSystem.forgetter.collect()
        fileSystem.noteOpenWriters()
        events.stop()
        kernelNames.collect()
        indexer.stop()
    }

    /// Takes the mount away; `serve` returns. Files still open fail from then on. From any thread.
    public func requestUnmount() { session.unmount() }

    /// Has the calling thread act for the users who call from here on, with the capabilities that this takes.
    public func prepareThread() { fileSystem.prepareThread() }

    /// Has it act for nobody again.
    public func resetThread() { fileSystem.privileges.resetThread() }

    var isReadOnly: Bool { configuration.options.readOnly }

    var passthroughGranted: Bool { session.passthroughGranted }

    // MARK: Opening

    private static func openStore(_ configuration: MountConfiguration) throws(MountFailure) -> Descriptor {
        let text = configuration.storeText
        let store = try open(configuration.store, configuration.storeIdentity)
        try refuse(SnapshotsFolder.name, in: store, text, "that is Quire's own: rename it")
        guard configuration.options.virtualFolders != .off else { return store }
        for name in VirtualFolders.names {
            try refuse(
                name, in: store, text,
                "of a virtual folder, which the mount would hide. Rename it, or mount with -o virtual=off")
        }
        return store
    }

    /// A folder by its canonical path, which is to be the one that it led to before.
    private static func open(_ path: [UInt8], _ identity: FileIdentity) throws(MountFailure) -> Descriptor {
        let text = String(decoding: path, as: UTF8.self)
        let folder: Descriptor
        do throws(Errno) {
            folder = try Descriptor(openingCanonical: path)
        } catch {
            throw MountFailure("\(text): cannot be opened: \(error)")
        }
        guard FileIdentity(of: folder) == identity else {
            throw MountFailure("\(text): is another folder by now, and nothing is mounted; 'quire mount' mounts there")
        }
        return folder
    }

    /// What the store has under a name of the mount's own is never hidden silently.
    private static func refuse(
        _ name: EntryName, in store: Descriptor, _ text: String, _ explanation: String
    ) throws(MountFailure) {
        if (try? FileStatus(of: name, in: store)) != nil { throw MountFailure("\(text)/\(name): the store has an entry with the name \(explanation)") }
    }

    private static func lastName(of path: [UInt8]) -> EntryName {
        path.split(separator: UInt8(ascii: "/")).last.flatMap { EntryName(Array($0)) } ?? EntryName("store")
    }

    /// A store that cannot be written is mounted read-only, so that apps see it at once and not at their first write.
    private static func readOnlyIfStoreIs(
        _ configuration: MountConfiguration, _ store: Descriptor, _ log: Logger
    ) -> MountConfiguration {
        var statistics = statvfs()
        guard !configuration.options.readOnly, cl_fstatvfs(store.number, &statistics) == 0,
            statistics.f_flag & UInt(truncatingIfNeeded: ST_RDONLY) != 0
        else { return configuration }
        log.notice("\(configuration.storeText) is on a read-only file system: the mount is read-only too")
        var result = configuration
        result.options.readOnly = true
        result.options.kernelOptions.append("ro")
        return result
    }

    /// Also completes what a crash cut short, before anybody sees documents in parts.
    private static func openVersions(
        _ configuration: MountConfiguration, _ store: SharedStore, _ journal: ChangeJournal, _ shares: UserShares, _ log: Logger
    ) throws(MountFailure) -> VersionStore {
        do throws(Errno) {
            let versions = try VersionStore(
                store, stateFolder: configuration.stateFolder, limits: configuration.keptLimits, shares: shares,
                told: { journal.versionKept($0, $1) })
            if !configuration.options.readOnly { report(versions.completeIntents(), to: log) }
            return versions
        } catch {
            throw MountFailure("\(configuration.stateFolder): what is kept of saves cannot be opened: \(error)")
        }
    }

    /// The bounds of this mount. A desktop's cache is its user's own and has none.
    private static func shares(_ configuration: MountConfiguration) -> UserShares {
        var bounds = HandleShares.bounds(isForOne: !configuration.options.allowOther)
        let names = BoundedResource.keptNames.bound.forAll
        if !configuration.options.allowOther { bounds.updateValue(.init(forUser: names, forAll: names), forKey: .keptNames) }
        let kept = configuration.keptLimits
        bounds[.keptBytes] = .init(forUser: Int(clamping: kept.bytesOfUser), forAll: Int(clamping: kept.bytes))
        let hasPictures = configuration.isSystem && configuration.options.virtualFolders != .off
        if hasPictures { bounds[.thumbnailBytes] = ThumbnailCache.bound(for: configuration.thumbnailFolder) }
        return UserShares(bounds: bounds, unbounded: hasPictures ? [] : [.thumbnailBytes], accounts: configuration.options.allowOther ? .ofSystem() : Accounts())
    }

    /// Nil if the option is off or there are no workers. If the file cannot be opened, a warning is logged and texts are not searched.
    private static func textIndexer(
        _ configuration: MountConfiguration, _ indexer: Indexer, _ thumbnails: DocumentThumbnails?, _ log: Logger
    ) -> TextIndexer? {
        let chosen = configuration.options.textSearching
        let searching = chosen ?? (configuration.options.allowOther ? .off : .on)
        guard searching != .off else { return nil }
        guard let thumbnails, !indexer.index.isTemporary else {
            if chosen != nil {
                log.warning("texts of documents are not searched: \(thumbnails == nil ? "the mount has no virtual folders" : "the state folder has no room")")
            }
            return nil
        }
        if searching == .pictures, !TextReader.canReadPictures {
            log.warning("text in pictures is not searched: tesseract is not installed, or none of its languages is (Debian: tesseract-ocr, tesseract-ocr-eng)")
        }
        do throws(IndexError) {
            return try TextIndexer(
                folder: configuration.stateFolder, isNew: indexer.index.outcome != .opened, bounds: textBounds(configuration), indexer: indexer,
                reader: TextReader(thumbnails.thumbnailer, readsPictures: searching == .pictures), subject: { thumbnails.subject($0, isFolder: false) },
                readsPackages: !configuration.options.allowOther, isStoreInUse: { indexer.isStoreInUse }, log: log)
        } catch {
            log.warning("texts of documents are not searched: \(error)")
            return nil
        }
    }

    /// Nobody but root and the user who mounted uses a mount for one.
    private static func textBounds(_ configuration: MountConfiguration) -> BoundedResource.Bound {
        var bounds = BoundedResource.textBytes.bound
        if !configuration.options.allowOther { bounds.forUser = bounds.forAll }
        return bounds
    }

    private static func openIndex(
        _ configuration: MountConfiguration, _ accounts: Accounts, _ log: Logger
    ) throws(MountFailure) -> DocumentIndex {
        var bounds = IndexBounds()
        bounds.accounts = accounts
        // Nobody but root and the user who mounted uses the mount.
        if !configuration.options.allowOther { bounds.bytes.forUser = bounds.bytes.forAll }
        DocumentIndex.removeTemporary(configuration.spareIndex)
        do throws(IndexError) {
            let index = try DocumentIndex(folder: configuration.stateFolder, bounds: bounds)
            if case .rebuilt(let reason, let aside) = index.outcome {
                log.warning("the index was damaged (\(reason)) and is built anew; the old one is kept as \(aside)")
            }
            return index
        } catch .newerVersion(let found, let supported) {
            throw MountFailure(
                "\(configuration.stateFolder): the index is of version \(found), made by a newer Quire; this one knows up to "
                    + "version \(supported). Use the newer Quire, or move the index away: tags are in the documents, but "
                    + "recents would be lost")
        } catch .diskFull {
            // A store whose index has no room is served all the same: whoever fills the disk would keep everybody from it.
            log.warning("""
                \(configuration.stateFolder): no room left for the index; until the mount ends it is in \(configuration.spareIndex), \
                and does not know what was used recently
                """)
            do throws(IndexError) { return try DocumentIndex(temporaryIn: configuration.spareIndex, bounds: bounds) } catch {
                throw MountFailure("\(configuration.stateFolder): no room left for the index, and none in its place: \(error)")
            }
        } catch {
            throw MountFailure("\(configuration.stateFolder): \(error)")
        }
    }

    /// An eighth of the descriptors, so that handles have the rest; some 500 under the usual limit of 4,096.
    private static var folderCapacity: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(clamping: RLIMIT_NOFILE.rawValue), &limit)
        return max(32, min(4_096, Int(clamping: limit.rlim_cur) / 8))
    }
}

extension MountConfiguration {
    var storeText: String { String(decoding: store, as: UTF8.self) }
    var mountPointText: String { String(decoding: mountPoint, as: UTF8.self) }

    /// Where the index is while the state folder has no room: in memory, as a rule.
    var spareIndex: String { socketPath + ".index" }

    /// Where others use the mount, half of what is kept of lost saves may be one user's.
    var keptLimits: KeptVersions.Limits {
        var limits = options.keptLimits
        if options.allowOther { limits.bytesOfUser = limits.bytes / 2 }
        return limits
    }

    /// Options in libfuse's words. A comma or backslash in the store's name would start another option: they are escaped.
    var fuseOptions: [[UInt8]] {
        let special = [UInt8(ascii: "\\"), UInt8(ascii: ",")]
        let name = store.flatMap { special.contains($0) ? [special[0], $0] : [$0] }
        let words = ["subtype=quire", "default_permissions"] + (options.allowOther ? ["allow_other"] : []) + options.kernelOptions
        return [Array("fsname=".utf8) + name] + words.map { Array($0.utf8) }
    }
}
