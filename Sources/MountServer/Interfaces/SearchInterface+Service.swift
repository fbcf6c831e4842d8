import MountProtocol

extension SearchInterface {
    static func interface(_ service: any SearchService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(search) { request, peer in try service.search(try limited(request), for: peer) },
                VarlinkMethod(watch, streaming: { request, connection, wake in
                    Stream(feed: try service.watchSearch(try limited(request), for: connection.peer, wake: wake))
                }),
                VarlinkMethod(textState) { request, peer in try service.textState(of: request.path, for: peer) },
                VarlinkMethod(textStatus) { _, peer in try service.textStatus(for: peer) },
                VarlinkMethod(pauseTexts) { request, peer in
                    try service.pauseTexts(request.paused, for: peer)
                    return Empty()
                },
                VarlinkMethod(rebuildTexts) { _, peer in
                    try service.rebuildTexts(for: peer)
                    return Empty()
                },
            ])
    }

    private static func limited(_ request: SearchRequest) throws -> SearchRequest {
        var request = request
        let limit = request.limit ?? defaultLimit
        guard limit > 0 else { throw VarlinkError.invalidParameter("limit") }
        request.limit = min(limit, mostDocuments)
        return request
    }

    private struct Stream: ReplyStream {
        let feed: any SearchFeed

        var isLong: Bool { true }

        func next() throws -> StreamedReply? { try feed.next().map { StreamedReply(parameters: $0) } }

        func end() { feed.end() }
    }
}
