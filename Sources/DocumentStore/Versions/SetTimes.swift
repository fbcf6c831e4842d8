import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Times that somebody gave a document (utimensat(2)) while a version of it was being written.
public struct SetTimes: Sendable {
    /// The document just after: the times, and in its time of change when they were set.
    let status: cl_status
    public let accessed: Bool
    /// When the time of modification was set, in nanoseconds on the monotonic clock; nil if it was not.
    public let modified: UInt64?

    /// - Parameters:
    ///   - status: the document's, just after.
    ///   - accessed: whether the time of access was set.
    public init(_ status: cl_status, accessed: Bool, modified: UInt64?) {
        (self.status, self.accessed, self.modified) = (status, accessed, modified)
    }

    /// These and what was set before.
    public func joined(with earlier: SetTimes?) -> SetTimes {
        guard let earlier else { return self }
        return SetTimes(status, accessed: accessed || earlier.accessed, modified: modified ?? earlier.modified)
    }

    /// What counts of them for a version that was last written then: its time of modification is that of the write, unless it was set
    /// afterwards. By the monotonic clock, since a file's own times may be equal.
    public func after(lastWrite: UInt64) -> SetTimes {
        SetTimes(status, accessed: accessed, modified: modified.flatMap { $0 > lastWrite ? $0 : nil })
    }
}

extension WorkingCopy {
    /// Gives the new version the times that the document was given, as a plain file would have them. Returns whether its time of
    /// modification is to stay: not if it was the clock's, as touch(1) sets it.
    func take(_ times: SetTimes) throws(Errno) -> Bool {
        let isModified = times.modified != nil, status = times.status.st
        guard isModified || times.accessed else { return false }
        let omitted = timespec(tv_sec: 0, tv_nsec: Int(CL_UTIME_OMIT))
        _ = try check(cl_futimens(file.number, [times.accessed ? status.st_atim : omitted, isModified ? status.st_mtim : omitted]))
        return isModified && (status.st_mtim.tv_sec != status.st_ctim.tv_sec || status.st_mtim.tv_nsec != status.st_ctim.tv_nsec)
    }
}
