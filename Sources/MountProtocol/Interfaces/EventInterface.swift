/// `org.quire.Events`: what `quire watch` asks for.
public enum EventInterface {
    package static let name = "org.quire.Events"

    /// Answered until the client closes the connection or the mount ends.
    public static let watch = ServiceMethod<WatchRequest, WatchedEvents>(name, "Watch")

    /// Some 300 bytes each in a reply.
    package static let mostEvents = 200

    /// As every interface describes it that tells of events.
    package static let eventType = """
        type Event (
          seq: int,
          kind: string,
          id: ?int,
          path: string,
          oldPath: ?string,
          generation: ?int,
          time: float,
          pid: ?int,
          uid: ?int,
          process: ?string
        )
        """

    package static let text = """
        # What happens in one mounted store, as it happens.
        #
        # Paths are as in org.quire.Mount. Root and the user who mounted are told of
        # everything; others, while it is fresh, of what happens in folders that they may
        # list: what was moved out of or into others is deleted or has appeared for them.
        interface org.quire.Events

        # kind: appeared (oldPath: where the document was moved aside to whose place it
        # takes), changed, moved (oldPath), deleted, attributesChanged (tags, dates, mode,
        # owner), versionGained, versionLost (a recoverable version more, or less: told
        # to the document's owner) or saveAborted. seq rises from
        # event to event, generation with each version of a document. time: seconds
        # since 1970. pid, uid and process: who did it, if that is known. id: the
        # document's, which survives moves.
        \(eventType)

        # To be called with more; answered until the connection is closed. path: a
        # document, or a folder with all that is in it. since: go on after this number,
        # else from now on. overflow: events were missed, perhaps about path: look at it again.
        # next: the number to go on after.
        method Watch(path: ?string, since: ?int, kinds: ?[]string)
          -> (events: []Event, overflow: bool, next: int)

        """
}
