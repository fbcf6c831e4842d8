/// The methods of `org.quire.Mount`, each as one blocking call.
extension ServiceConnection {
    public func status(timeout: Duration = .seconds(60)) throws(ServiceCallError) -> MountStatus {
        try mount("Status", Empty(), MountInterface.StatusReply.self, timeout: timeout).status
    }

    public func renameTag(_ old: String, to new: String) throws(ServiceCallError) {
        _ = try mount("RenameTag", MountInterface.RenameTag(old: old, new: new), Empty.self)
    }

    /// Returns the number of documents that have their tags again.
    public func undoTagRemoval() throws(ServiceCallError) -> Int {
        try mount("UndoTagRemoval", Empty(), MountInterface.UndoReply.self).restored
    }

    public func recents(limit: Int?) throws(ServiceCallError) -> [RecentDocument] {
        try mount("Recents", MountInterface.RecentsRequest(limit: limit), MountInterface.RecentsReply.self).entries
    }

    public func forgetRecents(_ paths: [DocumentPath]) throws(ServiceCallError) {
        _ = try mount("ForgetRecents", MountInterface.ForgetRecents(paths: paths), Empty.self)
    }

    public func tags() throws(ServiceCallError) -> [TagCount] {
        try mount("ListTags", Empty(), MountInterface.TagsReply.self).tags
    }

    private func mount<Parameters: Encodable, Reply: Decodable>(
        _ method: String, _ parameters: Parameters, _ reply: Reply.Type, timeout: Duration = .seconds(60)
    ) throws(ServiceCallError) -> Reply {
        // Tag changes touch many documents: they get more time than a question does.
        try call("\(MountInterface.name).\(method)", parameters, returning: reply, timeout: timeout)
    }
}
