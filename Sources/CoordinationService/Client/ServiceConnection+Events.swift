/// The methods of `org.quire.Events`.
extension ServiceConnection {
    /// Gives `body` the events that come, until it returns false or the mount ends (`.disconnected`). The connection serves for
    /// nothing else after that.
    public func watch(
        _ request: WatchRequest, _ body: (WatchedEvents) throws(ServiceCallError) -> Bool
    ) throws(ServiceCallError) {
        try stream("\(EventInterface.name).Watch", request, of: WatchedEvents.self, body)
    }
}
