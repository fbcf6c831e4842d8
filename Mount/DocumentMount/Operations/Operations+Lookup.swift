import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) -> Entry {
        let parent = table.node(parent)
        if let item = parent.item {
            let caller = credentials(of: caller)
            return try entry(for: try item.child(EntryName(copying: name), caller), caller)
        }
        if parent.isRoot, name[0] == CChar(UInt8(ascii: ".")), let item = topItem(named: name) {
            return try entry(for: item, credentials(of: caller))
        }
        if parent.isRoot, saves.watches.areAskedFor(name, by: caller) { return try supersededEntry() }
        if isHidden(name) { return .absent(validity: cacheTime) }
        let folder = try locator.folder(parent)
        let isRepeated = repeats.isCaller(caller)
        if isRepeated, let entry = repeatedEntry(name, in: parent, folder) { return entry }
        do throws(Errno) {
            let isStaged = parent.staged.load()?.isUsed == true
            let entry = try isStaged ? lookUpStaged(name, in: parent, folder, caller) : lookUp(name, in: parent, folder, caller)
            return isRepeated ? onTheWay(entry) : entry
        } catch .noSuchFileOrDirectory {
            return .absent(validity: cacheTime)
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
        let descriptor = node.item == nil ? try locator.pathDescriptor(of: node) : store
        var statistics = statvfs()
        _ = try check(cl_fstatvfs(descriptor.number, &statistics))
        return statistics
    }
}
