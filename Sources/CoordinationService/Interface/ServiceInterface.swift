/// `org.varlink.service`: how any client learns what is served here (varlink.org/Service).
enum ServiceInterface {
    struct Info: Codable, Sendable {
        let vendor, product, version, url: String
        let interfaces: [String]
    }
    struct DescriptionRequest: Codable, Sendable { let interface: String }
    struct Description: Codable, Sendable { let description: String }

    static let name = "org.varlink.service"

    /// The interface over `others`, which it lists and describes besides itself.
    static func interface(describing others: [VarlinkInterface], version: String) -> VarlinkInterface {
        let descriptions = Dictionary(
            uniqueKeysWithValues: others.map { ($0.name, $0.description) } + [(name, text)])
        let info = Info(
            vendor: "Quire", product: "Quire", version: version, url: "https://varlink.org",
            interfaces: [name] + others.map(\.name))
        return VarlinkInterface(
            name: name, description: text,
            methods: [
                VarlinkMethod("GetInfo") { (_: Empty, _: Peer) in info },
                VarlinkMethod("GetInterfaceDescription") { (request: DescriptionRequest, _: Peer) in
                    guard let text = descriptions[request.interface] else {
                        throw VarlinkError.interfaceNotFound(request.interface)
                    }
                    return Description(description: text)
                },
            ])
    }

    static let text = """
        # The Varlink Service Interface is provided by every varlink service. It
        # describes the service and the interfaces it implements.
        interface org.varlink.service

        # Get a list of all the interfaces a service provides and information
        # about the implementation.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # Get the description of an interface that is implemented by this service.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The requested interface was not found.
        error InterfaceNotFound (interface: string)

        # The requested method was not found
        error MethodNotFound (method: string)

        # The interface defines the requested method, but the service does not
        # implement it.
        error MethodNotImplemented (method: string)

        # One of the passed parameters is invalid.
        error InvalidParameter (parameter: string)

        """
}
