import DocumentIndex
public import StorePrimitives

/// The use of the shared resources, for `quire status`. The index counts its own.
extension MountedStore {
    public func bound(of resource: SharedResource) -> SharedResource.Bound {
        switch resource {
        case .indexBytes: indexer.index.bounds.bytes
        case .tags: indexer.index.bounds.tags
        default: shares.bound(of: resource)
        }
    }

    /// With nil, of all users.
    public func use(of resource: SharedResource, by user: UInt32?) -> Int {
        switch resource {
        case .indexBytes, .tags, .keptTags: (try? indexer.index.use(of: resource, by: user.map { UserID($0) })) ?? 0
        default: user.map { shares.use(of: resource, by: $0) } ?? shares.use(of: resource)
        }
    }

    /// Documents that are not, or not with all their tags, in the index, as their owners have no room in it for more.
    public var documentsLeftOut: Int { indexer.index.documentsLeftOut }
}
