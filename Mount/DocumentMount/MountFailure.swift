/// Why a store could not be mounted, said for the person who asked: what happened, to which path, and what to do.
public struct MountFailure: Error, CustomStringConvertible, Sendable {
    public let description: String
    public init(_ description: String) { self.description = description }
}
