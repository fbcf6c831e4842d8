import MountProtocol

extension ServiceInterface {
    /// The interface over `others`, which it lists and describes besides itself.
    static func interface(describing others: [VarlinkInterface], version: String) -> VarlinkInterface {
        let descriptions = Dictionary(uniqueKeysWithValues: others.map { ($0.name, $0.description) } + [(name, text)])
        let answer = Info(version: version, interfaces: [name] + others.map(\.name))
        return VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod(info) { (_, _: Peer) in answer },
                VarlinkMethod(description) { (request, _: Peer) in
                    guard let text = descriptions[request.interface] else { throw VarlinkError.interfaceNotFound(request.interface) }
                    return Description(description: text)
                },
            ])
    }
}
