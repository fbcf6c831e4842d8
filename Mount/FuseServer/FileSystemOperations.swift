internal import Glibc
public import SystemPackage

/// A request's name, valid only during the call: NUL-terminated, no slash, at most 255 bytes.
public typealias BorrowedName = UnsafePointer<CChar>

/// What a file system answers the kernel. Called from several threads at once, for as long as the session serves.
///
/// A thrown errno is the answer. What may have to wait (opening, locks, a lookup of what is yet to be made) is given its reply and
/// may answer later, from any thread; everything else answers by returning. Nothing here may touch the mount itself: it would wait
/// for itself.
public protocol FileSystemOperations: AnyObject, Sendable {
    /// Called on each serving thread before its first request.
    func prepareThread()
    /// A request begins, on this thread; not told of FORGET and RELEASE, of which nobody is the caller.
    func begins(_ caller: Caller)
    /// Whether a signal is on its way that ends the thread.
    func isBeingKilled(_ thread: Int32) -> Bool
    /// What a request on a node may hold up: see `RequestShares`. The kernel knows the node.
    func share(of node: NodeID) -> RequestShare
    /// The user who opened a file that the kernel has open; nil if that is not known.
    func opener(of file: HandleID) -> UInt32?
    /// A WRITE was answered with an error without the file system: it waited too long for its turn, or too many did.
    func writeFailed(_ file: HandleID, _ error: Errno)
    /// Has the kernel forget a name of the folder at a path below the mount's root, as by lookups of an app that may wait for the
    /// folder's lock. False if it could not be done. Called on one thread, which waits for it.
    func forget(_ name: [UInt8], in folder: NodeID, at path: [UInt8]) -> Bool
    /// Has the kernel drop what it keeps of a regular file's content, in the same way.
    func dropContent(of node: NodeID, at path: [UInt8]) -> Bool
    /// Whether the kernel holds any file or folder open.
    var hasOpenFiles: Bool { get }

    /// A name that may have to be waited for is given its reply; most are answered at once.
    func lookup(_ caller: Caller, in parent: NodeID, name: BorrowedName, reply: consuming Reply<Entry>)
    /// The kernel lets go of `count` lookups of a node. At 0 the id may be used again.
    func forget(_ node: NodeID, count: UInt64)
    func attributes(_ caller: Caller, of node: NodeID, handle: HandleID?) throws(Errno) -> Attributes
    /// The attributes with the birth time, nanoseconds since 1970; 0 where the store keeps none.
    func attributesWithBirth(_ caller: Caller, of node: NodeID) throws(Errno) -> (Attributes, birth: Int64)
    func change(_ caller: Caller, node: NodeID, handle: HandleID?, to changes: AttributeRequest) throws(Errno) -> Attributes
    /// Calls `body` with the NUL-terminated target.
    func readLink(_ caller: Caller, node: NodeID, _ body: (UnsafePointer<CChar>) -> Void) throws(Errno)

    func makeNode(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, device: dev_t) throws(Errno) -> Entry
    func makeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t) throws(Errno) -> Entry
    func makeSymbolicLink(_ caller: Caller, in parent: NodeID, name: BorrowedName, target: UnsafePointer<CChar>)
        throws(Errno) -> Entry
    func link(_ caller: Caller, node: NodeID, in parent: NodeID, name: BorrowedName) throws(Errno) -> Entry
    func unlink(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno)
    func removeFolder(_ caller: Caller, in parent: NodeID, name: BorrowedName) throws(Errno)
    /// `flags` are those of renameat2(2).
    func rename(
        _ caller: Caller, from parent: NodeID, name: BorrowedName, to newParent: NodeID, newName: BorrowedName, flags: UInt32
    ) throws(Errno)

    /// `flags` are those of open(2) without O_CREAT, O_EXCL and O_NOCTTY.
    func open(_ caller: Caller, node: NodeID, flags: Int32, reply: consuming Reply<OpenedFile>)
    func create(
        _ caller: Caller, in parent: NodeID, name: BorrowedName, mode: mode_t, flags: Int32,
        reply: consuming Reply<CreatedFile>)
    /// A file without a name, O_TMPFILE.
    func createTemporary(
        _ caller: Caller, in parent: NodeID, mode: mode_t, flags: Int32, reply: consuming Reply<CreatedFile>)
    func read(_ caller: Caller, handle: HandleID, at offset: off_t, count: Int, reply: consuming Reply<FileData>)
    /// `flags` are the handle's of this moment, as fcntl(2) sets them. With O_APPEND the kernel takes the size that it knows for the offset.
    func write(
        _ caller: Caller, handle: HandleID, at offset: off_t, flags: Int32, _ data: UnsafeRawBufferPointer
    ) throws(Errno) -> Int
    /// One descriptor of the handle was closed. `lockOwner` is whose record locks end.
    func flush(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64) throws(Errno)
    /// The last descriptor and the last mapping are gone.
    func release(_ handle: HandleID)
    func synchronize(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno)
    func allocate(_ caller: Caller, handle: HandleID, mode: Int32, offset: off_t, length: off_t) throws(Errno)
    func seek(_ caller: Caller, handle: HandleID, offset: off_t, whence: Int32) throws(Errno) -> off_t
    func copyRange(
        _ caller: Caller, from: HandleID, at offset: off_t, to: HandleID, at newOffset: off_t, count: Int, flags: UInt32
    ) throws(Errno) -> Int

    func openFolder(_ caller: Caller, node: NodeID, reply: consuming Reply<OpenedFolder>)
    /// Adds entries from `offset` on (0 is the start, else what an entry named as next) until the buffer is full. `plus`: with
    /// attributes.
    func readFolder(
        _ caller: Caller, node: NodeID, handle: HandleID, offset: Int64, plus: Bool, into buffer: inout DirectoryBuffer
    ) throws(Errno)
    func releaseFolder(_ handle: HandleID)
    func synchronizeFolder(_ caller: Caller, handle: HandleID, dataOnly: Bool) throws(Errno)

    func statistics(_ caller: Caller, node: NodeID) throws(Errno) -> statvfs

    /// Fills `buffer` and returns the value's length; an empty buffer asks for the length alone.
    func extendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int
    func extendedAttributeNames(_ caller: Caller, of node: NodeID, into buffer: UnsafeMutableRawBufferPointer)
        throws(Errno) -> Int
    func setExtendedAttribute(
        _ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>, value: UnsafeRawBufferPointer, flags: Int32
    ) throws(Errno)
    func removeExtendedAttribute(_ caller: Caller, of node: NodeID, name: UnsafePointer<CChar>) throws(Errno)

    /// The lock in the way of `lock`, or one of type F_UNLCK.
    func conflictingLock(_ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, lock: RecordLock)
        throws(Errno) -> RecordLock
    func setLock(
        _ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, lock: RecordLock, waits: Bool,
        reply: consuming Reply<Done>)
    /// `operation` is that of flock(2), LOCK_NB included.
    func lockWhole(
        _ caller: Caller, node: NodeID, handle: HandleID, lockOwner: UInt64, operation: Int32, reply: consuming Reply<Done>)

    /// ioctl(2) of a fixed size, in or out. Returns the bytes to hand back.
    func control(_ caller: Caller, node: NodeID, request: UInt32, input: UnsafeRawBufferPointer, outputSize: Int)
        throws(Errno) -> [UInt8]
}
