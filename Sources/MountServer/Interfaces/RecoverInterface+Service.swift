import MountProtocol

extension RecoverInterface {
    static func interface(_ service: any RecoverService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(list) { request, peer in ListReply(versions: try service.keptVersions(before: request.before, for: peer)) },
                VarlinkMethod(read) { request, peer in
                    guard request.offset >= 0 else { throw VarlinkError.invalidParameter("offset") }
                    let count = request.count ?? mostBytes
                    guard count > 0 else { throw VarlinkError.invalidParameter("count") }
                    return try service.keptContent(of: request.id, from: request.offset, count: min(count, mostBytes), for: peer)
                },
                VarlinkMethod(drop) { request, peer in
                    try service.dropKeptVersion(request.id, for: peer)
                    return Empty()
                },
                VarlinkMethod(keep) { request, peer in KeepReply(id: try service.keepPresentVersion(of: request.path, for: peer)) },
            ])
    }
}
