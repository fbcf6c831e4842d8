/// The methods of `org.quire.Presenters`.
extension ServiceConnection {
    /// Attends: gives `body` what presenters are asked and told, until it returns false or the mount ends (`.disconnected`). The
    /// first messages name the session. The connection serves for nothing else after that.
    public func attend(_ body: (PresenterMessages) throws(ServiceCallError) -> Bool) throws(ServiceCallError) {
        try stream("\(PresenterInterface.name).Attend", Empty(), of: PresenterMessages.self, body)
    }

    /// Returns the presenter's id.
    public func present(_ item: PresentedItem, in session: String) throws(ServiceCallError) -> UInt64 {
        let request = PresenterInterface.PresentRequest(
            session: session, path: item.path, contents: item.contents, unsaved: item.unsaved)
        return try presenters("Present", request, PresenterInterface.PresentReply.self).presenter
    }

    public func withdraw(_ presenter: UInt64, in session: String) throws(ServiceCallError) {
        _ = try presenters("Withdraw", PresenterInterface.Named(session: session, presenter: presenter), Empty.self)
    }

    public func setUnsavedChanges(
        _ hasChanges: Bool, of presenter: UInt64, in session: String
    ) throws(ServiceCallError) {
        let request = PresenterInterface.UnsavedRequest(session: session, presenter: presenter, unsaved: hasChanges)
        _ = try presenters("SetUnsaved", request, Empty.self)
    }

    /// - Parameter failure: why the presenter could not do what it was asked.
    public func answer(
        _ question: UInt64, from presenter: UInt64, failure: String? = nil, in session: String
    ) throws(ServiceCallError) {
        let request = PresenterInterface.AnswerRequest(
            session: session, presenter: presenter, question: question, failure: failure)
        _ = try presenters("Answer", request, Empty.self)
    }

    private func presenters<Parameters: Encodable, Reply: Decodable>(
        _ method: String, _ parameters: Parameters, _ reply: Reply.Type
    ) throws(ServiceCallError) -> Reply {
        try call("\(PresenterInterface.name).\(method)", parameters, returning: reply)
    }
}
