import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName, reply: consuming Reply<Entry>) {
        if let item = table.node(parent).item {
            if let folder = item as? ThumbnailFolder, let picture = unrendered(name, in: folder, caller) {
                return wait(for: picture, caller, in: parent, EntryName(copying: name), reply)
            }
            if let folder = item as? any PreviewTreeItem {
                let name = EntryName(copying: name)
                return wait(for: { folder.needed(for: name) }, of: folder, caller, reply) { [unowned self] reply in
                    answerLookup(caller, in: parent, name, reply)
                }
            }
        }
        answer(reply) { () throws(Errno) in try lookup(caller, in: parent, name: name) }
    }

    /// Answers a LOOKUP that has waited.
    func answerLookup(_ caller: Caller, in parent: NodeID, _ name: EntryName, _ reply: consuming Reply<Entry>) {
        answer(reply) { () throws(Errno) in
            try name.withCString { (name) throws(Errno) in try lookup(caller, in: parent, name: name) }
        }
    }

    /// Answers with an entry that was looked up.
    @inline(__always)
    func answer(_ reply: consuming Reply<Entry>, _ lookUp: () throws(Errno) -> Entry) {
        let entry: Entry
        do throws(Errno) {
            entry = try lookUp()
        } catch {
            return reply.fail(error)
        }
        if !reply.succeed(entry), entry.node != .none { forget(entry.node, count: 1) }
    }

    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) -> Entry {
        let parent = table.node(parent)
        if forgetter.isForgetting(name, in: parent, table, caller) { return .absent(validity: .none) }
        let isFileManagerLookup = noteFileManager(name, in: parent, caller)
        if let item = parent.item {
            let credentials = credentials(of: caller)
            if let shared = sharedThumbnails(name, in: parent) { return try entry(for: shared, credentials) }
            // A picture that is announced: only what is not there can be made.
            if item is ThumbnailFolder, isAnnouncing(caller), let entry = announcedEntry(name, in: item, credentials) { return entry }
            return try entry(for: try item.found(EntryName(copying: name), credentials), credentials)
        }
        if parent.isRoot, name[0] == CChar(UInt8(ascii: ".")), let item = topItem(named: name) {
            return try entry(for: item, credentials(of: caller))
        }
        if parent.isRoot, saves.saveNotifier.areAskedFor(name, by: caller) { return try supersededEntry() }
        if isHidden(name) { return .absent(validity: cacheTime) }
        let folder = try locator.folder(parent)
        let isReplayed = replay.isCaller(caller)
        if isReplayed, let entry = replayedEntry(name, in: parent, folder) { return entry }
        do throws(Errno) {
            let isStaged = parent.staged.load()?.isUsed == true
            var entry = try isStaged ? lookUpStaged(name, in: parent, folder, caller) : lookUp(name, in: parent, folder, caller)
            if isReplayed { return onTheWay(entry) }
            if saves.renameRetries.isKnown(caller.thread, name, in: parent) { entry.validity = .none }
            return entry
        } catch .noSuchFileOrDirectory {
            if let shared = sharedThumbnails(name, in: parent) { return try entry(for: shared, credentials(of: caller)) }
            saves.nameGone(name, in: parent, for: caller)
            // The next lookup is to be heard of, too.
            return .absent(validity: isFileManagerLookup ? .none : cacheTime(of: parent))
        }
    }

    /// What of the mount's own stands at its root.
    private func topItem(named name: BorrowedName) -> (any VirtualItem)? {
        SnapshotsFolder.name.matches(name) ? snapshots.folder : virtualFolders?.folder(named: name)
    }

    func forget(_ node: NodeID, count: UInt64) { table.forget(table.node(node), count: count) }

    func readLink(_ caller: Caller, node: NodeID, _ body: (UnsafePointer<CChar>) -> Void) throws(Errno) {
        let node = table.node(node)
        if let item = node.item {
            return try item.linkTarget().withUnsafeBytes { body($0.assumingMemoryBound(to: CChar.self).baseAddress!) }
        }
        let descriptor = try locator.pathDescriptor(of: node)
        try withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { (buffer) throws(Errno) in
            let length = try check(cl_readlinkat(descriptor.number, "", buffer.baseAddress, Int(PATH_MAX)))
            buffer[length] = 0
            body(UnsafePointer(buffer.baseAddress!))
        }
    }

    func statistics(_ caller: Caller, node: NodeID) throws(Errno) -> statvfs {
        let node = table.node(node)
        let descriptor = node.item == nil ? try locator.pathDescriptor(of: node) : store.root
        var statistics = statvfs()
        _ = try check(cl_fstatvfs(descriptor.number, &statistics))
        return statistics
    }
}
