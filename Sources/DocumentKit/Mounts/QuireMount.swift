import CLinux
import Foundation
import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import Synchronization

/// A Quire mount of this machine, and the way to its daemon.
struct QuireMount: Hashable, Sendable {
    let mountPoint: AbsolutePath
    /// Who mounted it, and so has to be the one who serves its socket.
    let owner: UInt32

    /// The mount that holds an item; nil if it is in none. One check of whether the kernel's list of mounts has changed, and
    /// linear in the mounts; the file system is not asked.
    static func holding(_ path: AbsolutePath) -> QuireMount? { MountList.shared.holding(path) }

    /// All there are.
    static var all: [QuireMount] { MountList.shared.all }

    private static let socketAttribute = "user.quire.socket"

    /// Connects to the daemon. Never trusts a socket that another user than the mount's owner serves: a document's attribute
    /// may name any.
    func connect() throws(FileCoordinationError) -> ServiceConnection {
        var value = [UInt8](repeating: 0, count: 256)
        let count = AbsolutePath.withCString(mountPoint.bytes) { cl_getxattr($0, Self.socketAttribute, &value, value.count) }
        guard count > 0 else { throw .disconnected("\(mountPoint): its daemon does not answer; 'quire mount' repairs the mount") }
        let connection: ServiceConnection
        do throws(ServiceCallError) {
            connection = try ServiceConnection(to: String(decoding: value[..<count], as: UTF8.self))
        } catch {
            throw FileCoordinationError(error, in: self)
        }
        guard connection.server?.uid == owner else {
            throw .permissionDenied("\(mountPoint): its socket is served by another user than mounted it")
        }
        return connection
    }
}

extension FileCoordinationError {
    /// The one map from the service's errors.
    init(_ error: ServiceCallError, in mount: QuireMount) {
        self =
            switch error {
            case .unreachable, .timedOut: .disconnected("\(mount.mountPoint): its daemon does not answer")
            case .disconnected, .malformedReply: .disconnected("\(mount.mountPoint): its daemon closed the connection")
            case .refused(let reason): Self(reason)
            }
    }

    private init(_ reason: VarlinkError) {
        var text = reason.description
        for case .text(let value) in [reason.parameters["message"], reason.parameters["what"]] { text = value }
        self =
            switch reason.name.split(separator: ".").last {
            case "TimedOut": .timedOut(text)
            case "Deadlock": .deadlock(text)
            case "PermissionDenied": .permissionDenied(text)
            default: .failed(text)
            }
    }
}

/// The mounts of this process's mount namespace (proc(5), mountinfo), read again when the kernel says that they have changed.
private final class MountList: Sendable {
    static let shared = MountList()

    private struct Entry {
        let mountPoint: AbsolutePath
        /// Of a Quire mount.
        let owner: UInt32?

        init(_ entry: MountTable.Entry) {
            mountPoint = AbsolutePath(DocumentPath(entry.mountPoint))
            owner = entry.isQuire ? entry.owner ?? 0 : nil
        }
    }

    private struct State {
        var file: Descriptor?
        var entries: [Entry] = []
    }
    /// A leaf lock.
    private let state = Mutex(State())

    func holding(_ path: AbsolutePath) -> QuireMount? {
        let found = state.withLock { state -> Entry? in
            Self.update(&state)
            // What was mounted later covers what was mounted at the same place.
            return state.entries.last { path == $0.mountPoint || path.isInside($0.mountPoint) }
        }
        return found.flatMap { entry in entry.owner.map { QuireMount(mountPoint: entry.mountPoint, owner: $0) } }
    }

    var all: [QuireMount] {
        state.withLock { state in
            Self.update(&state)
            return state.entries.compactMap { entry in entry.owner.map { QuireMount(mountPoint: entry.mountPoint, owner: $0) } }
        }
    }

    private static func update(_ state: inout State) {
        if let file = state.file {
            var request = pollfd(fd: file.number, events: Int16(clamping: POLLPRI), revents: 0)
            if poll(&request, 1, 0) == 0 { return }
        }
        let number = cl_openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0)
        guard number >= 0 else { return }
        let file = Descriptor(owning: number)
        state.file = file
        // The longest match counts, and of two at one place the later: so sorted, the last match is the one.
        let table = MountTable(parsing: (try? WholeFile.read(file)) ?? [])
        // The longest match counts, and of two at one place the later: so sorted, the last match is the one.
        state.entries = table.entries.enumerated().sorted { one, other in
            (one.element.mountPoint.count, one.offset) < (other.element.mountPoint.count, other.offset)
        }.map { Entry($0.element) }
    }
}
