import CLinux
import Coordination
import DocumentStore
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func attributes(_ caller: Caller, of node: NodeID, handle: HandleID?) throws(Errno) -> Attributes {
        try attributes(shownTo: caller, of: table.node(node)).0
    }

    /// Those of another version where the node's handles lead there.
    func attributes(shownTo caller: Caller, of node: Node) throws(Errno) -> (Attributes, birth: Int64) {
        node.noteReading()
        let shown = saves.shown(node, to: caller)
        var status = try locator.status(of: shown)
        var (birth, isPassing) = (status.birth_ns, false)
        if shown !== node {
            status.st.st_ino = ino_t(node.identity.inode)
            (birth, isPassing) = (node.identity.birth, true)
            // Others that have the inode open read to the size that the kernel has of it, which it takes from no answer that is older than
            // such a notice. Programs other than relays need it there: for lseek(2) from the end.
            if saves.processes.isRelay(caller.thread) { session.current?.notifier.attributesChangedNow(of: table.id(of: node)) }
        } else if status.st.st_nlink == 0 {
            saves.foundWithoutName(node)
            if isShownWithName(node, to: caller) {
                status.st.st_nlink = 1
                isPassing = true
            }
        }
        var attributes = attributes(of: node, status)
        if isPassing { attributes.validity = .none }
        if isPassing, attributes.status.st_nlink == 0 {
            // The kernel keeps no links for this inode (`Node.isToldAsGone`), but relays and savers that work with the document by it see a
            // named file. A saver's answer also sets the size in the kernel, and so its link count: a watch that is added after that gets no event.
            let isRelay = saves.processes.isRelay(caller.thread)
            if isRelay { session.current?.notifier.attributesChangedNow(of: table.id(of: node)) }
            if isRelay || shown !== node { attributes.status.st_nlink = 1 }
        }
        return (attributes, birth)
    }

    /// A program that has just found a version by its name, which another one has taken since, would take the document for removed: file
    /// servers do.
    private func isShownWithName(_ node: Node, to caller: Caller) -> Bool {
        (node.wasJustSuperseded || isBeingReplaced(node)) && !replay.isCaller(caller)
            && (!node.isOpenAsItself || saves.processes.isRelay(caller.thread))
    }

    /// Another version has its name already, and the node is about to tell so.
    private func isBeingReplaced(_ node: Node) -> Bool {
        guard let document = node.saved.load(), document.wasJustReplaced else { return false }
        return node.state.withLock { !$0.isSuperseded && !$0.isRemoved }
    }

    func attributesWithBirth(_ caller: Caller, of node: NodeID) throws(Errno) -> (Attributes, birth: Int64) {
        try attributes(shownTo: caller, of: table.node(node))
    }

    func change(_ caller: Caller, node: NodeID, handle: HandleID?, to changes: AttributeRequest) throws(Errno) -> Attributes {
        let node = table.node(node)
        var target = node
        if changes.size != nil, handle == nil {
            target = try saves.resized(node, by: caller)
            try transactions.openForWriting(target, flags: O_WRONLY, isOpen: false, caller)
            if isKeptOut(caller, from: target) { throw .resourceBusy }
        }
        let handle = handle.map { FileHandle.of($0) }
        var status: cl_status
        var isOther = target !== node
        if changes.size == nil {
            status = try changingAttributes(of: node, by: caller) { (node, isSame) throws(Errno) in
                isOther = !isSame
                let status = try changed(node, isSame ? handle : nil, to: changes, caller)
                noteTimes(of: node, changes, status)
                return status
            }
            // The kernel takes the size from each of these answers: programs that have the other version open read to that.
            if isOther, let own = try? locator.status(of: node) { (status.st.st_size, status.st.st_ino) = (own.st.st_size, own.st.st_ino) }
        } else {
            let result = try changed(target, handle, to: changes, caller)
            if handle.map({ !$0.isElsewhere }) ?? true { noteTimes(of: target, changes, result) }
            if target !== node { session.current?.notifier.contentsChanged(ofFile: target, table) }
            // The kernel cuts its pages of the node off at the size that it is told.
            status = target === node ? result : try locator.status(of: node)
        }
        if !node.isRegular { saves.store.leftNames.removeAgain() }
        if changes.isMoreThanAccess { tellOfChange(of: saves.named(target), changes, handle, caller) }
        var attributes = attributes(of: node, status)
        if isOther { attributes.validity = .none }
        return attributes
    }

    /// Runs what changes a file's attributes, with the node of the version to change, while no other version takes the document's
    /// name: else the change would be lost with the version that it was made to. `isSame`: it is the one that was asked for. One that
    /// was replaced a moment ago, while the request was on its way, redirects to its successor.
    func changingAttributes<Result>(
        of node: Node, by caller: Caller, _ change: (_ target: Node, _ isSame: Bool) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard node.isRegular else { return try change(node, true) }
        for _ in 0..<Self.maximumAttempts {
            let target = saves.changed(node, by: caller)
            let result = try namesStanding(of: target, isSame: { true }) { () throws(Errno) -> Result? in
                target === saves.changed(target, by: caller) ? try change(target, target === node) : nil
            }
            guard case .some(.some(let result)) = result else { continue }
            // What the kernel knows of that version, its access list too, it has from before.
            if target !== node { session.current?.notifier.attributesChangedNow(of: table.id(of: target)) }
            return result
        }
        throw .resourceBusy
    }

    private func noteTimes(of node: Node, _ changes: AttributeRequest, _ status: cl_status) {
        guard changes.accessed != nil || changes.modified != nil else { return }
        saves.timesSet(on: node, SetTimes(status, accessed: changes.accessed != nil, modified: changes.modified.map { _ in SaveService.now }))
    }

    private func changed(
        _ node: Node, _ handle: FileHandle?, to changes: AttributeRequest, _ caller: Caller
    ) throws(Errno) -> cl_status {
        var descriptor: Descriptor
        if let handle { descriptor = handle.descriptor } else { descriptor = try locator.pathDescriptor(of: node) }
        if let mode = changes.mode { try changeMode(descriptor, mode) }
        // chown(2) that names no owner changes set-ID bits and the time of the change all the same.
        if changes.uid != nil || changes.gid != nil || changes.isEmpty {
            try privileges.writingSetID(as: caller) { () throws(Errno) in
                _ = try check(
                    cl_fchownat(
                        descriptor.number, "", changes.uid ?? uid_t.max, changes.gid ?? gid_t.max,
                        CL_AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
            }
        }
        if let size = changes.size {
            try changeSize(node, handle, size, caller)
            // A save may have begun with that, or another version taken the document's place.
            if let handle { descriptor = handle.descriptor }
        }
        if changes.accessed != nil || changes.modified != nil { try changeTimes(descriptor, changes) }
        // The kernel cuts off its pages of the node by this: those of who reads it, where the handle writes another file.
        if handle?.isElsewhere ?? false { return try locator.status(of: node) }
        let status = try FileStatus(of: descriptor)
        return status
    }

    /// truncate(2) opens nothing, and cannot wait as an open does.
    private func isKeptOut(_ caller: Caller, from node: Node) -> Bool {
        guard coordinator.gate.isGuarded.load(ordering: .relaxed), node.saved.load()?.working(node) == nil,
            let path = saves.path(of: node)
        else { return false }
        return coordinator.excludes(caller, writing: path)
    }

    private func tellOfChange(of node: Node, _ changes: AttributeRequest, _ handle: FileHandle?, _ caller: Caller) {
        let isIndexed = (changes.size != nil || changes.modified != nil) && node.isRegular
        // What is open for writing is told of when it is closed.
        let event: StoreEvent.Kind? = changes.size == nil ? .attributesChanged : handle?.isWritable == true ? nil : .changed
        journal.touched(node, by: caller, event, isIndexed: isIndexed)
    }

    private func changeMode(_ descriptor: Descriptor, _ mode: mode_t) throws(Errno) {
        // The kernel has checked that the caller may set the group bit; the daemon is in none of the caller's groups.
        try privileges.keepingGroupBit(mode) { () throws(Errno) in
            try withProcPath(of: descriptor) { (path) throws(Errno) in
                _ = try check(cl_fchmodat(AT_FDCWD, path, mode & 0o7777))
            }
        }
    }

    private func changeSize(_ node: Node, _ handle: FileHandle?, _ size: off_t, _ caller: Caller) throws(Errno) {
        let truncate = { [privileges] (file: Descriptor) throws(Errno) in
            try privileges.writingSetID(as: caller) { () throws(Errno) in _ = try check(cl_ftruncate(file.number, size)) }
        }
        if let handle, handle.isWritable {
            if size == 0 { try saves.beginOnHandle(handle, caller) } else { try saves.extending(handle, to: Int64(size)) }
            try saves.changing(handle, truncate)
            if size == 0 { saves.truncated(handle) }
        } else {
            try saves.changing(node) { () throws(Errno) in
                let writable = try locator.opened(node, flags: O_WRONLY)
                saves.pins.willWrite(writable, by: privileges.user(caller))
                try truncate(writable)
            }
        }
    }

    private func changeTimes(_ descriptor: Descriptor, _ changes: AttributeRequest) throws(Errno) {
        func value(_ time: AttributeRequest.Time?) -> timespec {
            switch time {
            case nil: timespec(tv_sec: 0, tv_nsec: Int(CL_UTIME_OMIT))
            case .now: timespec(tv_sec: 0, tv_nsec: Int(CL_UTIME_NOW))
            case .exactly(let time): time
            }
        }
        var times = (value(changes.accessed), value(changes.modified))
        let result = withUnsafePointer(to: &times) {
            $0.withMemoryRebound(to: timespec.self, capacity: 2) {
                cl_utimensat(descriptor.number, "", $0, CL_AT_EMPTY_PATH)
            }
        }
        _ = try check(result)
    }
}

extension AttributeRequest {
    /// Anything but when it was read.
    fileprivate var isMoreThanAccess: Bool { accessed == nil || mode != nil || uid != nil || gid != nil || size != nil || modified != nil }
    /// Asked for by chown(2) with neither owner nor group (-1) alone.
    fileprivate var isEmpty: Bool { accessed == nil && mode == nil && uid == nil && gid == nil && size == nil && modified == nil }
}
