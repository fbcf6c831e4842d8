import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// A file's user.* extended attributes, which another file takes over: tags, comments, the document's identity. Best effort: no
/// save fails for an attribute.
struct InheritedAttributes: Sendable {
    private struct Attribute {
        let name: [CChar]
        let value: [UInt8]
    }

    private var attributes: [Attribute] = []

    /// XATTR_LIST_MAX and XATTR_SIZE_MAX. To a question for the size alone the kernel hands on whatever a file system's server says.
    private static let longest = 64 << 10

    /// Reads a file's attributes. Nil if the file has none, or more than 64 KiB of them.
    /// - Parameter file: may be an O_PATH descriptor.
    init?(of file: Descriptor) {
        var (attributes, isWhole, room) = ([Attribute](), true, Self.longest)
        Self.forEach(of: file) { name, value in
            room -= name.count + value.count
            isWhole = room >= 0
            if isWhole { attributes.append(Attribute(name: name, value: value)) }
            return isWhole
        }
        guard isWhole, !attributes.isEmpty else { return nil }
        self.attributes = attributes
    }

    /// Gives `target` the attributes that it lacks.
    func add(to target: Descriptor) {
        try? withProcPath(of: target) { (path) throws(Errno) in
            for attribute in attributes { Self.add(attribute.name, attribute.value, to: path) }
        }
    }

    /// Copies the attributes that `target` lacks, with one in memory at a time.
    static func copy(from source: Descriptor, to target: Descriptor) {
        try? withProcPath(of: target) { (path) throws(Errno) in
            forEach(of: source) { name, value in
                add(name, value, to: path)
                return true
            }
        }
    }

    /// - Parameter body: returns whether to go on.
    private static func forEach(of source: Descriptor, _ body: ([CChar], [UInt8]) -> Bool) {
        try? withProcPath(of: source) { (path) throws(Errno) in
            let size = cl_listxattr(path, nil, 0)
            guard (1...Self.longest).contains(size) else { return }
            var names = [CChar](repeating: 0, count: size)
            let length = try check(cl_listxattr(path, &names, size))
            for name in names.prefix(length).split(separator: 0) where name.starts(with: "user.".utf8.map(CChar.init)) {
                let name = Array(name) + [0]
                if let value = value(of: name, path), !body(name, value) { return }
            }
        }
    }

    private static func value(of name: [CChar], _ path: UnsafePointer<CChar>) -> [UInt8]? {
        let size = cl_getxattr(path, name, nil, 0)
        guard (0...Self.longest).contains(size) else { return nil }
        var value = [UInt8](repeating: 0, count: size)
        let length = cl_getxattr(path, name, &value, size)
        return length < 0 ? nil : Array(value.prefix(length))
    }

    private static func add(_ name: [CChar], _ value: [UInt8], to path: UnsafePointer<CChar>) {
        _ = cl_setxattr(path, name, value, value.count, 1)  // XATTR_CREATE: what the file has stays
    }
}
