import MountProtocol

extension BookmarkInterface {
    static func interface(_ service: any BookmarkService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(create) { request, peer in Token(try service.createBookmark(request.path, for: peer)) },
                VarlinkMethod(resolve) { request, peer in try service.resolveBookmark(request.bookmark, for: peer) },
            ])
    }
}
