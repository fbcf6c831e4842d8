import Glibc

import func CSystemCalls.sc_environment
import struct SystemPackage.Errno

/// Starts this program anew with the given arguments; its process id. Throws posix_spawn's errno.
func spawn(_ arguments: [String]) throws -> Int32 {
    var process: pid_t = 0
    var list: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    list.append(nil)
    defer { for string in list { free(string) } }
    let result = posix_spawn(&process, "/proc/self/exe", nil, nil, list, sc_environment())
    if result != 0 { throw Errno(rawValue: result) }
    return process
}
