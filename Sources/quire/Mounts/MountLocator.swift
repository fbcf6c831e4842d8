import Glibc
import MountClient
import MountProtocol
import StorePrimitives
import SystemPackage

/// Finds the Quire mount a path is in, and the way to its daemon.
enum MountLocator {
    private static let socketAttribute = "user.quire.socket"

    /// The Quire mount that holds `path`. Throws a failure that says what the path is in.
    static func mount(holding path: [UInt8], in table: MountTable = .current()) throws(CommandFailure) -> MountTable.Entry {
        let canonical: [UInt8]
        do {
            canonical = try CanonicalPath.mountPoint(path)
        } catch {
            throw CommandFailure("\(shown(path)): \(error)")
        }
        guard let entry = table.holding(canonical), entry.isQuire else {
            throw CommandFailure("\(shown(path)): is in no Quire mount; 'quire status' lists the mounts")
        }
        return entry
    }

    /// The mount a command means that was given no path: the one the working directory is in, else the only one there is.
    static func mount(meant path: PathArgument?) throws(CommandFailure) -> MountTable.Entry {
        let table = MountTable.current()
        if let path { return try mount(holding: path.bytes, in: table) }
        if let here = try? mount(holding: Array(".".utf8), in: table) { return here }
        let mounts = table.quireMounts
        guard mounts.count <= 1 else {
            throw CommandFailure("there are \(mounts.count) Quire mounts; go to the one you mean, or name a path in it (--help says how)")
        }
        guard let only = mounts.first else { throw CommandFailure("there is no Quire mount; 'quire mount STORE' makes one") }
        return only
    }

    /// The mount that is meant, and the place in it: a path, which need not exist (any more), or nil for all of it. `mount` is
    /// what --in says.
    static func mount(
        meant mount: PathArgument?, orHoldingFuture path: PathArgument?
    ) throws(CommandFailure) -> (MountTable.Entry, place: [UInt8]?) {
        guard let path else { return (try self.mount(meant: mount), nil) }
        let canonical = try canonical(path)
        return (try self.mount(of: path, at: canonical, in: .current()), canonical)
    }

    private static func mount(of path: PathArgument, at canonical: [UInt8], in table: MountTable) throws(CommandFailure) -> MountTable.Entry {
        guard let entry = table.holding(canonical), entry.isQuire else {
            throw CommandFailure("\(path.description): is in no Quire mount; 'quire status' lists the mounts")
        }
        return entry
    }

    /// The mounts that the caller may use, as a rule: those of the user and of root.
    static func mountsOfCaller() throws(CommandFailure) -> [MountTable.Entry] {
        let mounts = MountTable.current().quireMounts.filter { $0.owner == nil || $0.owner == getuid() || $0.owner == 0 }
        guard !mounts.isEmpty else { throw CommandFailure("there is no Quire mount; 'quire mount STORE' makes one") }
        return mounts
    }

    /// The canonical paths of documents and folders, which may be gone by now, by the mounts that hold them.
    static func items(_ paths: [PathArgument]) throws(CommandFailure) -> [MountTable.Entry: [DocumentPath]] {
        let table = MountTable.current()
        var byMount: [MountTable.Entry: [DocumentPath]] = [:]
        for path in paths {
            let canonical = try canonical(path)
            byMount[try mount(of: path, at: canonical, in: table), default: []].append(DocumentPath(canonical))
        }
        return byMount
    }

    private static func canonical(_ path: PathArgument) throws(CommandFailure) -> [UInt8] {
        do {
            let isAbsolute = path.bytes.first == UInt8(ascii: "/")
            return try CanonicalPath.future(isAbsolute ? path.bytes : Array("./".utf8) + path.bytes)
        } catch {
            throw CommandFailure("\(path.description): \(error)")
        }
    }

    /// Connects to the daemon of `entry`: where the mount says, else where its owner's daemons listen. Never trusts a socket
    /// that another user than the mount's owner serves.
    static func connect(to entry: MountTable.Entry) throws(ServiceCallError) -> ServiceConnection {
        var sockets = StateFolders.likelySockets(store: entry.source, owner: entry.owner ?? getuid())
        if let named = try? MountProbe.attribute(Self.socketAttribute, of: entry.mountPoint) {
            sockets.insert(String(decoding: named, as: UTF8.self), at: 0)
        }
        var failure = ServiceCallError.unreachable(socket: sockets[0], .noSuchFileOrDirectory)
        for (index, socket) in sockets.enumerated() {
            do {
                let connection = try ServiceConnection(to: socket)
                if connection.server?.uid == entry.owner ?? getuid() { return connection }
            } catch {
                if index == 0 { failure = error }
            }
        }
        throw failure
    }

    /// Calls one method of the daemon of the mount meant, with its failures as the user is to read them.
    @discardableResult
    static func ask<Parameters, Reply>(
        _ entry: MountTable.Entry, _ method: ServiceMethod<Parameters, Reply>, _ parameters: Parameters
    ) throws(CommandFailure) -> Reply {
        try ask(entry) { (service) throws(ServiceCallError) in try service.call(method, parameters) }
    }

    static func ask<Reply>(_ entry: MountTable.Entry, _ method: ServiceMethod<Empty, Reply>) throws(CommandFailure) -> Reply {
        try ask(entry, method, Empty())
    }

    /// Has `call` ask the daemon of the mount meant, with its failures as the user is to read them.
    static func ask<Answer>(
        _ entry: MountTable.Entry, _ call: (ServiceConnection) throws(ServiceCallError) -> Answer
    ) throws(CommandFailure) -> Answer {
        do {
            return try call(try connect(to: entry))
        } catch {
            throw CommandFailure(error, mountPoint: entry.mountPoint)
        }
    }
}
