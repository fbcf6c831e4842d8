import CLinux
import Glibc
import StorePrimitives
public import SystemPackage

struct ExtendedAttribute: Equatable, Sendable {
    /// Ends in NUL.
    let name: [CChar]
    let value: [UInt8]

    static let accessList = Array(CL_ACCESS_LIST.utf8CString)
    /// Belongs to the content that was given it: any write takes it away.
    static let capability = Array("security.capability".utf8CString)
    static let security = Array("security.".utf8CString.dropLast())
}

/// What hangs on a version other than its content, as it is at one moment.
struct VersionAttributes: Sendable {
    let status: cl_status
    /// Permission bits. Of a document without set-ID bits: these too are gone with the first write.
    let mode: mode_t
    let extended: [ExtendedAttribute]
    /// As FS_IOC_GETFLAGS gives them; 0 where there are none.
    let flags: UInt32
    let project: UInt32

    /// Three system calls and one more for each extended attribute, of which `trusted.*` are seen with CAP_SYS_ADMIN only;
    /// one more where there are projects, or an access list.
    init(of file: Descriptor, isDocument: Bool, hasProjects: Bool, status known: cl_status? = nil) throws(AttributeFailure) {
        var status = known ?? cl_status()
        if known == nil, case let result = cl_statx_fd(file.number, &status), result < 0 {
            throw AttributeFailure(.mode, Errno(rawValue: -result))
        }
        extended = try Self.extendedAttributes(of: file, &status)
        self.status = status
        mode = status.st.st_mode & (isDocument ? 0o1777 : 0o7777)
        var flags: UInt32 = 0
        self.flags = cl_get_flags(file.number, &flags) < 0 ? 0 : flags
        var project: UInt32 = 0
        self.project = !hasProjects || cl_get_project(file.number, &project) < 0 ? 0 : project
    }

    /// Of one moment with the status, where there is an access list: the kernel keeps that and the mode in one place, so a change
    /// between two reads would pass for a change of one of them alone.
    private static func extendedAttributes(
        of file: Descriptor, _ status: inout cl_status
    ) throws(AttributeFailure) -> [ExtendedAttribute] {
        var found = try extendedAttributes(of: file)
        for _ in 0..<maximumAttempts where found.contains(where: { $0.name == ExtendedAttribute.accessList }) {
            let before = status.st
            let result = cl_statx_fd(file.number, &status)
            if result < 0 { throw AttributeFailure(.mode, Errno(rawValue: -result)) }
            let (old, new) = (before.st_ctim, status.st.st_ctim)
            if before.st_mode == status.st.st_mode, old.tv_sec == new.tv_sec, old.tv_nsec == new.tv_nsec { break }
            found = try extendedAttributes(of: file)
        }
        return found
    }

    /// Nobody changes attributes without a pause for longer.
    private static let maximumAttempts = 16

    private static func extendedAttributes(of file: Descriptor) throws(AttributeFailure) -> [ExtendedAttribute] {
        do throws(Errno) {
            var size = cl_flistxattr(file.number, nil, 0)
            if size == 0 || size == -Int(EOPNOTSUPP) || size == -Int(ENOSYS) { return [] }
            // Somebody may add one between the two calls. No list is longer than XATTR_LIST_MAX, whatever a file system's server says.
            var names = [CChar](repeating: 0, count: min(try check(size), 64 << 10) + 1_024)
            size = try check(cl_flistxattr(file.number, &names, names.count))
            var found: [ExtendedAttribute] = []
            for name in names[..<size].split(separator: 0) {
                let name = Array(name) + [0]
                if name == ExtendedAttribute.capability { continue }
                var value = [UInt8](repeating: 0, count: 256)
                var length = cl_fgetxattr(file.number, name, &value, value.count)
                if length == -Int(ERANGE) {
                    value = [UInt8](repeating: 0, count: 64 << 10)  // XATTR_SIZE_MAX
                    length = cl_fgetxattr(file.number, name, &value, value.count)
                }
                if length == -Int(ENODATA) { continue }
                value.removeSubrange(try check(length)...)
                found.append(ExtendedAttribute(name: name, value: value))
            }
            return found
        } catch {
            throw AttributeFailure(.extendedAttribute, error)
        }
    }

    func value(of name: [CChar]) -> [UInt8]? { extended.first { $0.name == name }?.value }
}

/// An attribute that a file could not be given.
public struct AttributeFailure: Error, Hashable, Sendable {
    public enum Kind: String, Sendable { case owner, mode, extendedAttribute, flags, project }

    public let kind: Kind
    public let errno: Errno

    public init(_ kind: Kind, _ errno: Errno) {
        self.kind = kind
        self.errno = errno
    }
}

/// How one set of attributes differs from another.
struct AttributeChanges: Sendable {
    private var uid: uid_t?
    private var gid: gid_t?
    private var mode: mode_t?
    private var set: [ExtendedAttribute] = []
    private var removed: [[CChar]] = []
    /// Which flags differ, and what they are to be.
    private var flagsMask: UInt32
    private var flags: UInt32
    private var project: UInt32?

    init(from old: VersionAttributes, to new: VersionAttributes) {
        if new.status.st.st_uid != old.status.st.st_uid { uid = new.status.st.st_uid }
        if new.status.st.st_gid != old.status.st.st_gid { gid = new.status.st.st_gid }
        if new.mode != old.mode { mode = new.mode }
        flagsMask = (old.flags ^ new.flags) & CL_FLAGS_GIVEN
        flags = new.flags & flagsMask
        if new.project != old.project { project = new.project }
        guard !new.extended.isEmpty || !old.extended.isEmpty else { return }
        set = new.extended.filter { old.value(of: $0.name) != $0.value }
        // A label that the system gives each file is not ours to take away.
        removed = old.extended.map(\.name).filter { new.value(of: $0) == nil && !$0.starts(with: ExtendedAttribute.security) }
        // An access list and the mode are kept in one place by the kernel.
        if touches(ExtendedAttribute.accessList) { mode = new.mode }
    }

    var isEmpty: Bool {
        uid == nil && gid == nil && mode == nil && set.isEmpty && removed.isEmpty && flagsMask == 0 && project == nil
    }

    /// Takes out what `other` changes too.
    mutating func leaveOut(_ other: AttributeChanges) {
        if other.uid != nil { uid = nil }
        if other.gid != nil { gid = nil }
        if other.mode != nil { mode = nil }
        if other.project != nil { project = nil }
        flagsMask &= ~other.flagsMask
        set.removeAll { other.touches($0.name) }
        removed.removeAll { other.touches($0) }
    }

    private func touches(_ name: [CChar]) -> Bool { set.contains { $0.name == name } || removed.contains(name) }

    /// Makes the same changes to a file. Only the calls that are needed: none if there are no changes.
    func apply(to file: Descriptor) throws(AttributeFailure) {
        let file = file.number
        if uid != nil || gid != nil {
            // -1 leaves an id alone (chown(2)).
            try Self.done(.owner, cl_fchown(file, uid ?? .max, gid ?? .max))
        }
        for name in removed {
            let result = cl_fremovexattr(file, name)
            if result != -ENODATA { try Self.done(.extendedAttribute, result) }
        }
        for attribute in set {
            try Self.done(.extendedAttribute, cl_fsetxattr(file, attribute.name, attribute.value, attribute.value.count, 0))
        }
        if let mode { try Self.done(.mode, cl_fchmod(file, mode)) }
        if flagsMask != 0 {
            var current: UInt32 = 0
            try Self.done(.flags, cl_get_flags(file, &current))
            try Self.done(.flags, cl_set_flags(file, current & ~flagsMask | flags & flagsMask))
        }
        if let project { try Self.done(.project, cl_set_project(file, project)) }
    }

    private static func done(_ kind: AttributeFailure.Kind, _ result: Int32) throws(AttributeFailure) {
        if result < 0 { throw AttributeFailure(kind, Errno(rawValue: -result)) }
    }
}
