import MountProtocol

extension SearchInterface {
    static func interface(_ service: any SearchService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(search) { request, peer in
                    var request = request
                    let limit = request.limit ?? defaultLimit
                    guard limit > 0 else { throw VarlinkError.invalidParameter("limit") }
                    request.limit = min(limit, mostDocuments)
                    return try service.search(request, for: peer)
                },
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
}
