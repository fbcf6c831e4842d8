/// `org.quire.Thumbnails`: what `quire thumbnail` cannot see in the folder `.thumbnails`.
enum ThumbnailInterface {
    static let name = "org.quire.Thumbnails"

    static func interface(_ service: any ThumbnailService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod("Why") { (request: Named, peer) throws(ServiceFailure) in
                    WhyReply(reason: try service.refusal(of: request.path, for: peer))
                },
                VarlinkMethod("Clear", isLong: true) { (request: Named, peer) throws(ServiceFailure) in
                    ClearReply(documents: try service.clearThumbnails(in: request.path, for: peer))
                },
            ])
    }

    struct Named: Codable, Sendable { var path: DocumentPath }
    struct WhyReply: Codable, Sendable { var reason: String? }
    struct ClearReply: Codable, Sendable { var documents: Int }

    static let text = """
        # Thumbnails of one mounted store, beside the folder .thumbnails.
        #
        # Paths are as in org.quire.Mount.
        interface org.quire.Thumbnails

        # Why a document has no thumbnail; no reason if it has one, or nobody has looked.
        method Why(path: string) -> (reason: ?string)

        # Forgets the thumbnails of a document, or of all in a folder, so that they are
        # drawn anew. documents: of how many there were any.
        method Clear(path: string) -> (documents: int)

        """
}
