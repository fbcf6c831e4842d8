/// `org.quire.Events`: what `quire watch` asks for.
enum EventInterface {
    static let name = "org.quire.Events"

    /// Some 300 bytes each in a reply.
    static let mostEvents = 200

    static func interface(_ service: any EventService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod("Watch", streaming: { (request: WatchRequest, connection, wake) in
                    Stream(feed: try service.watch(request, for: connection.peer, wake: wake))
                })
            ])
    }

    private struct Stream: ReplyStream {
        let feed: any EventFeed

        func next() -> StreamedReply? {
            let found = feed.next(limit: EventInterface.mostEvents)
            return found.events.isEmpty && !found.overflow ? nil : StreamedReply(parameters: found)
        }

        func end() { feed.end() }
    }

    /// As every interface describes it that tells of events.
    static let eventType = """
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

    static let text = """
        # What happens in one mounted store, as it happens.
        #
        # Paths are as in org.quire.Mount. Root and the user who mounted are told of
        # everything; others, while it is fresh, of what happens in folders that they may
        # list: what was moved out of or into others is deleted or has appeared for them.
        interface org.quire.Events

        # kind: appeared (oldPath: where the document was moved aside to whose place it
        # takes), changed, moved (oldPath), deleted, attributesChanged (tags, dates, mode,
        # owner), versionGained, versionLost or saveAborted. seq rises from
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
