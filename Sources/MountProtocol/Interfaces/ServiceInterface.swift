/// `org.varlink.service`: how any client learns what is served here (varlink.org/Service).
public enum ServiceInterface {
    package static let name = "org.varlink.service"

    package static let info = ServiceMethod<Empty, Info>(name, "GetInfo")
    package static let description = ServiceMethod<DescriptionRequest, Description>(name, "GetInterfaceDescription")

    package struct Info: Codable, Sendable {
        let vendor, product, version, url: String
        let interfaces: [String]

        package init(version: String, interfaces: [String]) {
            (vendor, product, self.version, url, self.interfaces) = ("Quire", "Quire", version, "https://varlink.org", interfaces)
        }
    }
    package struct DescriptionRequest: Codable, Sendable { package let interface: String }
    package struct Description: Codable, Sendable {
        let description: String
        package init(description: String) { self.description = description }
    }

    package static let text = """
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
