import MountProtocol

extension ThumbnailInterface {
    static func interface(_ service: any ThumbnailService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(why) { request, peer in WhyReply(reason: try service.refusal(of: request.path, for: peer)) },
                VarlinkMethod(clear) { request, peer in ClearReply(documents: try service.clearThumbnails(in: request.path, for: peer)) },
            ])
    }
}
