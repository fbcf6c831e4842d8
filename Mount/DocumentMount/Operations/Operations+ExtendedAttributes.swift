import CLinux
import FuseServer
import Glibc
import StorePrimitives
import SystemPackage

extension MountedFileSystem {
    func extendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        try extendedAttribute(caller, of: table.node(node), name: name, into: buffer)
    }

    func extendedAttribute(
        _ caller: Caller, of node: Node, name: UnsafePointer<CChar>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        if node.hasNoCapabilities.load(ordering: .relaxed), Self.isCapability(name) { throw .noData }
        if let length = try mountsAttribute(name, into: buffer) { return length }
        let descriptor = try attributeSource(of: node, for: caller)
        if isTags(name), tags.liveInIndex { return try copy(try tags.indexedValue(of: descriptor, at: try document(node)), into: buffer) }
        return try attribute(name, of: descriptor, into: buffer)
    }

    /// The length of an attribute that the mount gives every file; nil if it gives none of this name.
    func mountsAttribute(_ name: UnsafePointer<CChar>, into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int? {
        guard let value = mountAttributes.value(of: name) else { return nil }
        return try copy(value, into: buffer)
    }

    func attribute(
        _ name: UnsafePointer<CChar>, of file: Descriptor, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        try withProcPath(of: file) { (path) throws(Errno) in
            let length = cl_getxattr(path, name, buffer.baseAddress, buffer.count)
            // Where the store keeps no access lists there are none. The kernel takes any other error for one of the permission check.
            if length == -Int(EOPNOTSUPP), Self.isAnyAccessList(name) { throw .noData }
            return try check(length)
        }
    }

    func extendedAttributeNames(_ caller: Caller, of node: NodeID, into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        try attributeNames(of: try attributeSource(of: table.node(node), for: caller), shownTo: caller, into: buffer)
    }

    func attributeNames(
        of file: Descriptor, shownTo caller: Caller, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        let length = try withProcPath(of: file) { (path) throws(Errno) in
            try check(cl_listxattr(path, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count))
        }
        // Linux shows trusted.* to privileged processes only (xattr(7)); the daemon is one, its caller may not be.
        guard buffer.count > 0, caller.uid != 0, privileges.actsForCallers else { return length }
        let shown = buffer.prefix(length).split(separator: 0).filter { !$0.starts(with: "trusted.".utf8) }
        let kept: [UInt8] = shown.flatMap { [UInt8]($0) + [0] }
        buffer.copyBytes(from: kept.prefix(buffer.count))
        return min(kept.count, buffer.count)
    }

    func setExtendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, value: UnsafeRawBufferPointer, flags: Int32
    ) throws(Errno) {
        let node = table.node(node)
        if mountAttributes.value(of: name) != nil { throw .notPermitted }
        if isTags(name), tags.liveInIndex {
            try tags.setIndexedValue(Array(value), of: try attributeSource(of: node, for: caller), at: try document(node))
            return journal.touched(saves.named(node), by: caller, isIndexed: false)
        }
        try changingAttributes(of: node, by: caller) { (node, _) throws(Errno) in
            let descriptor = try locator.pathDescriptor(of: node)
            if Self.isCapability(name) { node.hasNoCapabilities.store(false, ordering: .relaxed) }
            // An access ACL carries the mode's bits: setting one must not lose the set-group-ID bit the caller may keep.
            let keepsGroupBit = isAccessList(name) ? try mayKeepGroupBit(caller, descriptor) : true
            try privileges.keepingGroupBit(keepsGroupBit ? S_ISGID : 0) { () throws(Errno) in
                try withProcPath(of: descriptor) { (path) throws(Errno) in
                    _ = try check(cl_setxattr(path, name, value.baseAddress, value.count, flags))
                }
            }
        }
        journal.touched(saves.named(node), by: caller, isIndexed: isTags(name))
    }

    func removeExtendedAttribute(_ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>) throws(Errno) {
        let node = table.node(node)
        if isTags(name), tags.liveInIndex {
            try tags.setIndexedValue(nil, of: try attributeSource(of: node, for: caller), at: try document(node))
            return journal.touched(saves.named(node), by: caller, isIndexed: false)
        }
        try changingAttributes(of: node, by: caller) { (node, _) throws(Errno) in
            let descriptor = try locator.pathDescriptor(of: node)
            try withProcPath(of: descriptor) { (path) throws(Errno) in _ = try check(cl_removexattr(path, name)) }
        }
        journal.touched(saves.named(node), by: caller, isIndexed: isTags(name))
    }

    private func attributeSource(of node: Node, for caller: Caller) throws(Errno) -> Descriptor {
        // Asked by a path that leads to a version replaced a moment ago: the document's own are meant.
        let isOpen = node.isRegular && node.state.withLock { !$0.handles.isEmpty }
        return try locator.pathDescriptor(of: node.isRegular && !isOpen ? saves.changed(node, by: caller) : node)
    }

    private func isAccessList(_ name: UnsafePointer<CChar>) -> Bool { strcmp(name, CL_ACCESS_LIST) == 0 }

    /// Whether the kernel asks for an attribute itself, to judge what users may do.
    static func isKernels(_ name: UnsafePointer<CChar>) -> Bool { isAnyAccessList(name) || isCapability(name) }

    private static func isAnyAccessList(_ name: UnsafePointer<CChar>) -> Bool {
        strcmp(name, CL_ACCESS_LIST) == 0 || strcmp(name, "system.posix_acl_default") == 0
    }

    /// Whether the caller is in the file's group or root (chmod(2) has the rule, acl(5) follows it).
    private func mayKeepGroupBit(_ caller: Caller, _ descriptor: Descriptor) throws(Errno) -> Bool {
        guard privileges.actsForCallers, caller.uid != 0 else { return true }
        let status = try FileStatus(of: descriptor)
        guard status.st.st_mode & S_ISGID != 0, status.st.st_gid != caller.gid else { return true }
        return credentials(of: caller).groups.contains(status.st.st_gid)
    }

    private static func isCapability(_ name: UnsafePointer<CChar>) -> Bool { strcmp(name, "security.capability") == 0 }

    private func isTags(_ name: UnsafePointer<CChar>) -> Bool { strcmp(name, TagStore.attributeName) == 0 }

    private func copy(_ value: [UInt8], into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        guard buffer.count > 0 else { return value.count }
        guard value.count <= buffer.count else { throw .outOfRange }
        buffer.copyBytes(from: value)
        return value.count
    }
}
