import CLinux
import Glibc
import StorePrimitives
import SystemPackage

/// Times that somebody gave a document (utimensat(2)) while a version of it was being written.
public struct SetTimes: Sendable {
    /// The document just after: the times, and in its time of change when they were set.
    let status: cl_status
    public let accessed: Bool
    public let modified: Bool

    /// - Parameters:
    ///   - status: the document's, just after.
    ///   - accessed, modified: which of the times were set.
    public init(_ status: cl_status, accessed: Bool, modified: Bool) {
        (self.status, self.accessed, self.modified) = (status, accessed, modified)
    }

    /// These and what was set before.
    public func joined(with earlier: SetTimes?) -> SetTimes {
        guard let earlier else { return self }
        return SetTimes(status, accessed: accessed || earlier.accessed, modified: modified || earlier.modified)
    }
}

extension WorkingCopy {
    /// Gives the new version the times that the document was given after the last write, as a plain file would have them. Returns
    /// whether its time of modification is to stay: not if it was the clock's, as touch(1) sets it. At equal times of change the write
    /// counts as the later one: `make` is to see it.
    func take(_ times: SetTimes) throws(Errno) -> Bool {
        let own = try OpenFolder.status(of: file).st.st_mtim, set = times.status.st.st_ctim
        let isLater = set.tv_sec != own.tv_sec ? set.tv_sec > own.tv_sec : set.tv_nsec > own.tv_nsec
        let modified = times.modified && isLater
        guard modified || times.accessed else { return false }
        let omitted = timespec(tv_sec: 0, tv_nsec: Int(CL_UTIME_OMIT))
        _ = try check(
            cl_futimens(file.number, [times.accessed ? times.status.st.st_atim : omitted, modified ? times.status.st.st_mtim : omitted]))
        let time = times.status.st.st_mtim
        return modified && (time.tv_sec != set.tv_sec || time.tv_nsec != set.tv_nsec)
    }
}
