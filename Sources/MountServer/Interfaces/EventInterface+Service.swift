import MountProtocol

extension EventInterface {
    static func interface(_ service: any EventService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(watch, streaming: { request, connection, wake in
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
}
