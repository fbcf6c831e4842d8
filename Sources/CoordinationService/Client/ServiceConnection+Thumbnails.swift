/// The methods of `org.quire.Thumbnails`, each as one blocking call.
extension ServiceConnection {
    /// Why a document has no thumbnail; nil if it has one, or nobody has looked.
    public func refusal(of path: DocumentPath) throws(ServiceCallError) -> String? {
        try call("\(ThumbnailInterface.name).Why", ThumbnailInterface.Named(path: path), returning: ThumbnailInterface.WhyReply.self).reason
    }

    /// Returns of how many documents there were thumbnails.
    public func clearThumbnails(in path: DocumentPath) throws(ServiceCallError) -> Int {
        let reply = try call(
            "\(ThumbnailInterface.name).Clear", ThumbnailInterface.Named(path: path), returning: ThumbnailInterface.ClearReply.self,
            timeout: .seconds(60))
        return reply.documents
    }
}
