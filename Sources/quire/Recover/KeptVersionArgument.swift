import MountClient
import MountProtocol
import StorePrimitives

/// A version's number from the command line.
enum KeptVersionArgument {
    /// The version in the mount that is meant. Throws a failure that says where to look if there is none.
    static func find(_ id: UInt64, in mount: PathArgument?) throws(CommandFailure) -> (RecoverableVersion, MountTable.Entry) {
        let entry = try MountLocator.mount(meant: mount)
        let version = try MountLocator.ask(entry) { (service) throws(ServiceCallError) in try service.keptVersion(id) }
        guard let version else { throw missing(id, entry) }
        return (version, entry)
    }

    /// Drops versions and returns how many there were. Goes on after one that is not there, and fails in the end if that is
    /// an error.
    @discardableResult
    static func drop(
        _ ids: [UInt64], in entry: MountTable.Entry, missingIsError: Bool
    ) throws(CommandFailure) -> Int {
        var gone: [UInt64] = []
        try MountLocator.ask(entry) { (service) throws(ServiceCallError) in
            for id in ids {
                do throws(ServiceCallError) {
                    try service.call(RecoverInterface.drop, .init(id))
                } catch .refused(let error) where error.name.hasSuffix(".NotFound") {
                    gone.append(id)
                }
            }
        }
        if missingIsError, !gone.isEmpty {
            throw CommandFailure(gone.map { missing($0, entry).message }.joined(separator: "\nquire: "))
        }
        return ids.count - gone.count
    }

    private static func missing(_ id: UInt64, _ entry: MountTable.Entry) -> CommandFailure {
        CommandFailure("\(shown(entry.mountPoint)): there is no version \(id) of yours; 'quire recover list' shows what there is")
    }
}
