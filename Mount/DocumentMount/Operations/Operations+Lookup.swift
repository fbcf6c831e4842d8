import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName, reply: consuming Reply<Entry>) {
        let parent = table.node(parent)
        answer(reply) { () throws(Errno) in try lookup(caller, in: parent, name: name) }
    }

    func lookup(_ caller: Caller, in parent: Node, name: BorrowedName) throws(Errno) -> Entry {
        if isHidden(name) { return .absent(validity: cacheTime) }
        let folder = try locator.folder(parent)
        do throws(Errno) {
            let isStaged = parent.staged.load()?.isUsed == true
            var entry = try isStaged ? lookUpStaged(name, in: parent, folder, caller) : lookUp(name, in: parent, folder, caller)
            if saves.renameRetries.isKnown(caller.thread, name, in: parent) { entry.validity = .none }
            return entry
        } catch .noSuchFileOrDirectory {
            saves.nameGone(name, in: parent, for: caller)
            return .absent(validity: cacheTime(of: parent))
        }
    }

    func forget(_ node: NodeID, count: UInt64) { table.forget(table.node(node), count: count) }

    func readLink(_ caller: Caller, node: NodeID, _ body: (UnsafePointer<CChar>) -> Void) throws(Errno) {
        let descriptor = try locator.pathDescriptor(of: table.node(node))
        try withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { (buffer) throws(Errno) in
            let length = try check(cl_readlinkat(descriptor.number, "", buffer.baseAddress, Int(PATH_MAX)))
            buffer[length] = 0
            body(UnsafePointer(buffer.baseAddress!))
        }
    }

    func statistics(_ caller: Caller, node: NodeID) throws(Errno) -> statvfs {
        let descriptor = try locator.pathDescriptor(of: table.node(node))
        var statistics = statvfs()
        _ = try check(cl_fstatvfs(descriptor.number, &statistics))
        return statistics
    }
}
