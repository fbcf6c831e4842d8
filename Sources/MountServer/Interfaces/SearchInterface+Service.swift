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
                }
            ])
    }
}
