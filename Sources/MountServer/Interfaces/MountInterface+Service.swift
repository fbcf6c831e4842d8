import MountProtocol

extension MountInterface {
    static func interface(_ service: any MountService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(status) { _, peer in StatusReply(status: try service.status(for: peer)) },
                VarlinkMethod(renameTag) { request, peer in
                    try service.renameTag(request.old, to: request.new, merges: request.merge ?? false, for: peer)
                    return Empty()
                },
                VarlinkMethod(changeTags) { request, peer in
                    FailedPaths(failures: try service.changeTags(of: request.paths, adding: request.add, removing: request.remove, for: peer))
                },
                VarlinkMethod(undoTagRemoval) { _, peer in UndoReply(restored: try service.undoTagRemoval(for: peer)) },
                VarlinkMethod(recents) { request, peer in
                    let limit = request.limit ?? defaultRecents
                    guard limit > 0 else { throw VarlinkError.invalidParameter("limit") }
                    return RecentsReply(entries: try service.recents(limit: min(limit, mostRecents), for: peer))
                },
                VarlinkMethod(forgetRecents) { request, peer in
                    try service.forgetRecents(request.paths, for: peer)
                    return Empty()
                },
                VarlinkMethod(noteUses) { request, peer in
                    try service.noteUses(request.entries, for: peer)
                    return Empty()
                },
                VarlinkMethod(favorites) { _, peer in FavoritesReply(entries: try service.favorites(for: peer)) },
                VarlinkMethod(addFavorites) { request, peer in FailedPaths(failures: try service.addFavorites(request.paths, for: peer)) },
                VarlinkMethod(removeFavorites) { request, peer in FailedPaths(failures: try service.removeFavorites(request.paths, for: peer)) },
                VarlinkMethod(tags) { _, peer in TagsReply(tags: try service.tags(for: peer)) },
            ])
    }
}
