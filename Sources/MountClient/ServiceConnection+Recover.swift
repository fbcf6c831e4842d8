public import MountProtocol

/// The lists of recoverable versions, which the service answers in parts.
extension ServiceConnection {
    /// All versions that this user can recover, newest first, or as far as `isWanted` says so of a version in each part of the list.
    public func keptVersions(while isWanted: (RecoverableVersion) -> Bool = { _ in true }) throws(ServiceCallError) -> [RecoverableVersion] {
        var all: [RecoverableVersion] = []
        while true {
            let more = try call(RecoverInterface.list, .init(before: all.last?.id)).versions
            // Else a list might have no end.
            for version in more {
                if let last = all.last, last.id <= version.id { throw .malformedReply }
                all.append(version)
            }
            if !more.contains(where: isWanted) { return all }
        }
    }

    /// Nil if there is no such version for this user.
    public func keptVersion(_ id: UInt64) throws(ServiceCallError) -> RecoverableVersion? {
        guard id < Int64.max.magnitude else { return nil }
        return try call(RecoverInterface.list, .init(before: id + 1)).versions.first { $0.id == id }
    }
}
