public import MountProtocol

/// The lists of recoverable versions, which the service answers in parts.
extension ServiceConnection {
    /// All versions that this user can recover, newest first.
    public func keptVersions() throws(ServiceCallError) -> [RecoverableVersion] {
        var all: [RecoverableVersion] = []
        while true {
            let more = try call(RecoverInterface.list, .init(before: all.last?.id)).versions
            if more.isEmpty { return all }
            all += more
        }
    }

    /// Nil if there is no such version for this user.
    public func keptVersion(_ id: UInt64) throws(ServiceCallError) -> RecoverableVersion? {
        guard id < Int64.max.magnitude else { return nil }
        return try call(RecoverInterface.list, .init(before: id + 1)).versions.first { $0.id == id }
    }
}
