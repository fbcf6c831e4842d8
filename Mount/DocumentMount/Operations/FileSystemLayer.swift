import FuseServer
import Glibc
import SystemPackage

/// A layer of the mount's file system: it answers the requests that are its own, and hands all others to the next layer, which is
/// what the defaults below do.
///
/// A request passes `ScopedTree`, `ReplayRequests`, `VirtualTree` and `MountedFileSystem`, in this order. The layers are final classes that name the
/// next one by its type, so that the compiler inlines what only hands a request on.
protocol FileSystemLayer: FileSystemOperations {
    associatedtype Next: FileSystemOperations
    var next: Next { get }
}

extension FileSystemLayer {
    func prepareThread() { next.prepareThread() }
    func begins(_ caller: Caller) { next.begins(caller) }
    func isBeingKilled(_ thread: Int32) -> Bool { next.isBeingKilled(thread) }
    func share(of node: NodeID) -> RequestShare { next.share(of: node) }
    func opener(of file: HandleID) -> UInt32? { next.opener(of: file) }
    func writeFailed(_ file: HandleID, _ error: Errno) { next.writeFailed(file, error) }
    func forget(_ name: [UInt8], in folder: NodeID, at path: [UInt8]) -> Bool { next.forget(name, in: folder, at: path) }
    func dropContent(of node: NodeID, at path: [UInt8]) -> Bool { next.dropContent(of: node, at: path) }
    var hasOpenFiles: Bool { next.hasOpenFiles }
}

// MARK: - Names and attributes

extension FileSystemLayer {
    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName, reply: consuming Reply<Entry>) {
        next.lookup(caller, in: parent, name: name, reply: reply)
    }
    func forget(_ node: NodeID, count: UInt64) { next.forget(node, count: count) }
    func attributes(_ caller: Caller, of node: NodeID, handle: HandleID?) throws(Errno) -> Attributes {
        try next.attributes(caller, of: node, handle: handle)
    }
    func attributesWithBirth(_ caller: Caller, of node: NodeID) throws(Errno) -> (Attributes, birth: Int64) {
        try next.attributesWithBirth(caller, of: node)
    }
    func change(_ caller: Caller, node: NodeID, handle: HandleID?, to changes: AttributeRequest) throws(Errno) -> Attributes {
        try next.change(caller, node: node, handle: handle, to: changes)
    }
    func readLink(_ caller: Caller, node: NodeID, _ body: (UnsafePointer<CChar>) -> Void) throws(Errno) {
        try next.readLink(caller, node: node, body)
    }
    func makeNode(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, device: dev_t) throws(Errno) -> Entry {
        try next.makeNode(caller, in: parent, name: name, mode: mode, device: device)
    }
    func makeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t) throws(Errno) -> Entry {
        try next.makeFolder(caller, in: parent, name: name, mode: mode)
    }
    func makeSymbolicLink(_ caller: Caller, in parent: NodeID, name: BorrowedName, target: UnsafePointer<CChar>) throws(Errno) -> Entry {
        try next.makeSymbolicLink(caller, in: parent, name: name, target: target)
    }
    func link(_ caller: Caller, node: NodeID, in parent: NodeID, name: BorrowedName) throws(Errno) -> Entry {
        try next.link(caller, node: node, in: parent, name: name)
    }
    func unlink(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        try next.unlink(caller, in: parent, name: name)
    }
    func removeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno) {
        try next.removeFolder(caller, in: parent, name: name)
    }
    func rename(
        _ caller: Caller, from parent: NodeID, name: BorrowedName, to newParent: NodeID, newName: BorrowedName, flags: UInt32
    ) throws(Errno) {
        try next.rename(caller, from: parent, name: name, to: newParent, newName: newName, flags: flags)
    }
    func statistics(_ caller: Caller, node: NodeID) throws(Errno) -> statvfs { try next.statistics(caller, node: node) }
    func extendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        try next.extendedAttribute(caller, of: node, name: name, into: buffer)
    }
    func extendedAttributeNames(_ caller: Caller, of node: NodeID, into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        try next.extendedAttributeNames(caller, of: node, into: buffer)
    }
    func setExtendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, value: UnsafeRawBufferPointer, flags: Int32
    ) throws(Errno) {
        try next.setExtendedAttribute(caller, of: node, name: name, value: value, flags: flags)
    }
    func removeExtendedAttribute(_ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>) throws(Errno) {
        try next.removeExtendedAttribute(caller, of: node, name: name)
    }
    func control(_ caller: Caller, node: NodeID, request: UInt32, input: UnsafeRawBufferPointer, outputSize: Int) throws(Errno) -> [UInt8] {
        try next.control(caller, node: node, request: request, input: input, outputSize: outputSize)
    }
}

// MARK: - Open files and folders

extension FileSystemLayer {
    func open(_ caller: Caller, node: NodeID, flags: Int32, reply: consuming Reply<OpenedFile>) {
        next.open(caller, node: node, flags: flags, reply: reply)
    }
    func create(
        _ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>
    ) {
        next.create(caller, in: parent, name: name, mode: mode, flags: flags, reply: reply)
    }
    func createTemporary(_ caller: Caller, in parent: NodeID, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>) {
        next.createTemporary(caller, in: parent, mode: mode, flags: flags, reply: reply)
    }
    func read(_ caller: Caller, handle: HandleID, at offset: off_t, count: Int, reply: consuming Reply<FileData>) {
        next.read(caller, handle: handle, at: offset, count: count, reply: reply)
    }
    func write(_ caller: Caller, handle: HandleID, at offset: off_t, flags: Int32, _ data: UnsafeRawBufferPointer) throws(Errno) -> Int {
        try next.write(caller, handle: handle, at: offset, flags: flags, data)
    }
    func flush(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64) throws(Errno) {
        try next.flush(caller, node: node, handle: handle, lockOwner: lockOwner)
    }
    func release(_ handle: HandleID) { next.release(handle) }
    func synchronize(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno) {
        try next.synchronize(caller, handle: handle, dataOnly: dataOnly)
    }
    func allocate(_ caller: Caller, handle: HandleID, mode: Int32, offset: off_t, length: off_t) throws(Errno) {
        try next.allocate(caller, handle: handle, mode: mode, offset: offset, length: length)
    }
    func seek(_ caller: Caller, handle: HandleID, offset: off_t, whence: Int32) throws(Errno) -> off_t {
        try next.seek(caller, handle: handle, offset: offset, whence: whence)
    }
    func copyRange(
        _ caller: Caller, from: HandleID, at offset: off_t, to: HandleID, at newOffset: off_t, count: Int, flags: UInt32
    ) throws(Errno) -> Int {
        try next.copyRange(caller, from: from, at: offset, to: to, at: newOffset, count: count, flags: flags)
    }
    func openFolder(_ caller: Caller, node: NodeID, reply: consuming Reply<OpenedFolder>) {
        next.openFolder(caller, node: node, reply: reply)
    }
    func readFolder(
        _ caller: Caller, node: NodeID, handle: HandleID, offset: Int64, plus: Bool, into buffer: inout DirectoryBuffer
    ) throws(Errno) {
        try next.readFolder(caller, node: node, handle: handle, offset: offset, plus: plus, into: &buffer)
    }
    func releaseFolder(_ handle: HandleID) { next.releaseFolder(handle) }
    func synchronizeFolder(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno) {
        try next.synchronizeFolder(caller, handle: handle, dataOnly: dataOnly)
    }
    func conflictingLock(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, lock: RecordLock) throws(Errno) -> RecordLock {
        try next.conflictingLock(caller, node: node, handle: handle, lockOwner: lockOwner, lock: lock)
    }
    func setLock(
        _ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, lock: RecordLock, waits: Bool, reply: consuming Reply<Done>
    ) {
        next.setLock(caller, node: node, handle: handle, lockOwner: lockOwner, lock: lock, waits: waits, reply: reply)
    }
    func lockWhole(
        _ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, operation: Int32, reply: consuming Reply<Done>
    ) {
        next.lockWhole(caller, node: node, handle: handle, lockOwner: lockOwner, operation: operation, reply: reply)
    }
}

extension FileSystemOperations {
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
}
