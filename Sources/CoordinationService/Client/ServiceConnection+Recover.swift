/// The methods of `org.quire.Recover`, each as one blocking call but `keptVersions`.
extension ServiceConnection {
    /// All versions that this user can have back, newest first.
    public func keptVersions() throws(ServiceCallError) -> [RecoverableVersion] {
        var all: [RecoverableVersion] = []
        while true {
            let more = try versions(before: all.last?.id)
            if more.isEmpty { return all }
            all += more
        }
    }

    /// Nil if there is no such version for this user.
    public func keptVersion(_ id: UInt64) throws(ServiceCallError) -> RecoverableVersion? {
        guard id < Int64.max.magnitude else { return nil }
        return try versions(before: id + 1).first { $0.id == id }
    }

    /// The content of a version from `offset` on.
    public func keptContent(of id: UInt64, from offset: Int64) throws(ServiceCallError) -> RecoveredPart {
        let reply = try recover(
            "Read", RecoverInterface.ReadRequest(id: id, offset: offset, count: nil), RecoverInterface.ReadReply.self)
        return RecoveredPart(offset: reply.offset, bytes: reply.content.bytes)
    }

    public func dropKeptVersion(_ id: UInt64) throws(ServiceCallError) {
        _ = try recover("Drop", RecoverInterface.Named(id: id), Empty.self)
    }

    /// Keeps a document's present content; nil if it is too large.
    public func keepPresentVersion(of document: DocumentPath) throws(ServiceCallError) -> UInt64? {
        try recover("Keep", RecoverInterface.KeepRequest(path: document), RecoverInterface.KeepReply.self).id
    }

    private func versions(before: UInt64?) throws(ServiceCallError) -> [RecoverableVersion] {
        try recover("List", RecoverInterface.ListRequest(before: before), RecoverInterface.ListReply.self).versions
    }

    private func recover<Parameters: Encodable, Reply: Decodable>(
        _ method: String, _ parameters: Parameters, _ reply: Reply.Type
    ) throws(ServiceCallError) -> Reply {
        // A large document may have to be copied.
        try call("\(RecoverInterface.name).\(method)", parameters, returning: reply, timeout: .seconds(60))
    }
}
