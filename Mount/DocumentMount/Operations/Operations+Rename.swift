import CLinux
import FuseKernel
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func rename(
        _ caller: Caller, from parent: NodeID, name: BorrowedName, to newParent: NodeID, newName: BorrowedName, flags: UInt32
    ) throws(Errno) {
        let (parent, newParent) = (table.node(parent), table.node(newParent))
        if parent.item != nil || newParent.item != nil {
            return try renameVirtual(caller, from: parent, name, to: newParent, newName, flags: flags)
        }
        if parent.isRoot, virtualFolders?.folder(named: name) != nil { throw .notPermitted }
        if newParent.isRoot, virtualFolders?.isReserved(newName) == true { throw .notPermitted }
        let (folder, newFolder) = (try locator.folder(parent), try locator.folder(newParent))
        let exchanges = flags & CL_RENAME_EXCHANGE != 0

        let move = try locator.names.changing { () throws(Errno) -> Move in
            var source = cl_status()
            _ = try check(cl_statx(folder.number, name, AT_SYMLINK_NOFOLLOW, &source))
            var target = cl_status()
            let hasTarget = cl_statx(newFolder.number, newName, AT_SYMLINK_NOFOLLOW, &target) == 0
            let sourceNode = table.known(FileIdentity(source))
            let replaced = hasTarget && !exchanges ? doomed(newName, in: newFolder, target) : nil
            let isSameFile = hasTarget && FileIdentity(source) == FileIdentity(target)
            var takesOver = Tunnel.Takeover.none
            if let sourceNode, !exchanges, !isSameFile, sourceNode.isRegular {
                let replacesDocument = hasTarget && target.st.st_mode & S_IFMT == S_IFREG
                takesOver = tunnel.beforeRename(
                    of: sourceNode, at: Tunnel.Place(folder: folder, name: name, status: source),
                    over: replacesDocument ? Tunnel.Place(folder: newFolder, name: newName, status: target) : nil,
                    in: newParent, newName, by: caller)
            }
            let rename = { () throws(Errno) in
                _ = try check(cl_renameat2(folder.number, name, newFolder.number, newName, flags))
            }
            if flags & CL_RENAME_WHITEOUT != 0 {
                // The whiteout left behind is made as the caller.
                try privileges.acting(as: caller, mode: 0, rename)
            } else if exchanges || isSameFile {
                try rename()
            } else {
                try expectingRemoval(of: name, in: parent, rename)
            }
            if isSameFile { return Move(isFolder: false, takesOver: .none, isNothing: !exchanges) }
            replaced?.wentAway(in: newParent, name: newName, table)
            sourceNode?.moved(from: parent, name: name, to: newParent, newName: newName)
            if exchanges {
                table.known(FileIdentity(target))?.moved(from: newParent, name: newName, to: parent, newName: name)
            } else if let sourceNode, sourceNode.isRegular {
                tunnel.movedAside(sourceNode, from: parent, name, owner: source.st.st_uid, by: caller)
            }
            return Move(isFolder: source.st.st_mode & S_IFMT == S_IFDIR, takesOver: takesOver, isNothing: false)
        }
        guard !move.isNothing else { return }
        if exchanges {
            journal.exchanged((parent, name), (newParent, newName))
        } else {
            journal.moved(
                from: (parent, name), to: (newParent, newName), isFolder: move.isFolder, takesOver: move.takesOver,
                by: caller)
        }
    }

    private struct Move {
        let isFolder: Bool
        let takesOver: Tunnel.Takeover
        /// Two names of one file: rename(2) does nothing.
        let isNothing: Bool
    }
}
