import Glibc
import StorePrimitives

/// The handles open for writing, for `quire status` and to tell an app's own writes from changes made outside.
final class WriterTable: Sendable {
    private let handles = Locked<[ObjectIdentifier: FileHandle]>([:])

    func opened(_ handle: FileHandle) { handles.withLock { $0[ObjectIdentifier(handle)] = handle } }

    func closed(_ handle: FileHandle) { _ = handles.withLock { $0.removeValue(forKey: ObjectIdentifier(handle)) } }

    var current: [FileHandle] { handles.withLock { Array($0.values) } }
}
