import StorePrimitives

extension MountTable {
    /// The mount that a canonical path is in.
    package func holding(_ path: [UInt8]) -> Entry? {
        let around = entries.filter { CanonicalPath.isWithin(path, $0.mountPoint) }
        guard let longest = around.map(\.mountPoint.count).max() else { return nil }
        return around.last { $0.mountPoint.count == longest }
    }
}
