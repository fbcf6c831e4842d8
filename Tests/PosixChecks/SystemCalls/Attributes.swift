// Extended attributes. `follow` false means the link itself.

package func setxattr(
    _ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>, _ value: [UInt8], flags: Int32 = 0, follow: Bool = true
) throws(Errno) {
    try withMemory(value) { (bytes) throws(Errno) in
        _ = try call(
            follow ? SYS_setxattr : SYS_lsetxattr, path, name, bytes, value.count, flags, name: "setxattr")
    }
}
package func setxattr(
    _ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>, _ value: String, flags: Int32 = 0
) throws(Errno) {
    try setxattr(path, name, Array(value.utf8), flags: flags)
}
package func fsetxattr(
    _ fd: Int32, _ name: UnsafePointer<CChar>, _ value: String, flags: Int32 = 0
) throws(Errno) {
    try withMemory(value) { (bytes) throws(Errno) in
        _ = try call(SYS_fsetxattr, fd, name, bytes, value.utf8.count, flags, name: "fsetxattr")
    }
}
/// The value, into `room` bytes.
package func getxattr(
    _ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>, room: Int = 65536, follow: Bool = true
) throws(Errno) -> [UInt8] {
    try filled(room) { (buffer) throws(Errno) in
        try call(follow ? SYS_getxattr : SYS_lgetxattr, path, name, buffer, room, name: "getxattr")
    }
}
package func fgetxattr(_ fd: Int32, _ name: UnsafePointer<CChar>, room: Int = 65536) throws(Errno) -> [UInt8] {
    try filled(room) { (buffer) throws(Errno) in
        try call(SYS_fgetxattr, fd, name, buffer, room, name: "fgetxattr")
    }
}
/// The size of a value or, without a name, of the list: what a call with no room answers.
package func xattrSize(_ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>? = nil) throws(Errno) -> Int {
    guard let name else { return try call(SYS_listxattr, path, 0, 0) }
    return try call(SYS_getxattr, path, name, 0, 0)
}
/// The names, sorted.
package func listxattr(
    _ path: UnsafePointer<CChar>, room: Int = 65536, follow: Bool = true
) throws(Errno) -> [String] {
    let bytes = try filled(room) { (buffer) throws(Errno) in
        try call(follow ? SYS_listxattr : SYS_llistxattr, path, buffer, room, name: "listxattr")
    }
    return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.sorted()
}
package func removexattr(
    _ path: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>, follow: Bool = true
) throws(Errno) {
    try call(follow ? SYS_removexattr : SYS_lremovexattr, path, name)
}
package func fremovexattr(_ fd: Int32, _ name: UnsafePointer<CChar>) throws(Errno) {
    try call(SYS_fremovexattr, fd, name)
}
