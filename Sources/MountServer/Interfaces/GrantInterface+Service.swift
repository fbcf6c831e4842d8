import MountProtocol

extension GrantInterface {
    static func interface(_ service: any GrantService) -> VarlinkInterface {
        VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(grant) { request, peer in
                    try service.grant(request.path, readOnly: request.readOnly ?? false, seconds: request.seconds, for: peer)
                },
                VarlinkMethod(revoke) { request, peer in Revoked(try service.revokeGrants(token: request.token, path: request.path, for: peer)) },
                VarlinkMethod(list) { _, peer in Grants(try service.grants(for: peer)) },
            ])
    }
}
